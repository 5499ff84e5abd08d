"""Simulators that differ from the one a policy was trained in: what all such changes share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.envs.worlds import Edit, World
from brittlestar.errors import UserError, nearest, require, require_choice
from brittlestar.perturbations.base import Perturbation, Step

WORLD_DRAWS = ("fixed", "uniform", "sign")
WORLD_CHANGE = "world_change"
_OWNERS = itertools.count()


@dataclass
class WorldChange(Perturbation):
    """Multiplies a number of the simulator by `1 + level * change * d` from the first step of an episode to its end.

    `d` is 1, or is drawn per episode: uniform in [-1, 1], or a sign. With a range `to`, the number becomes
    `original + level * change * (target - original)`, with a target drawn per episode. The draws do not depend on
    the strength. A subclass says by `edits` what it changes.
    """

    strength_field: ClassVar[str] = "change"
    may_vanish: ClassVar[bool] = True
    """Whether 0 is a physical value."""
    any_target: ClassVar[bool] = False
    """Whether a target may be anything, also below 0."""

    change: float
    draw: str = field(default="fixed", kw_only=True)
    """`fixed`, `uniform` or `sign`: how the factor comes about in each episode."""
    to: list[float] | None = field(default=None, kw_only=True)
    """Lowest and highest target, in the unit of the number; None: relative to the original."""

    def __post_init__(self) -> None:
        require_choice("draw", self.draw, WORLD_DRAWS)
        if self.to is None:
            lowest = self.change if self.draw == "fixed" else -abs(self.change)
            low, high = ("at least -1", "in [-1, 1]") if self.may_vanish else ("above -1", "in (-1, 1)")
            bound = low if self.draw == "fixed" else f"{high} with draw: {self.draw}"
            require(math.isfinite(lowest) and self._is_physical(1 + lowest), "change", bound, self.change)
            return
        require(0 <= self.change <= 1, "change", "in [0, 1] with `to`", self.change)
        require(self.draw == "fixed", "draw", "fixed with `to`, whose target is drawn", self.draw)
        pair = len(self.to) == 2 and all(math.isfinite(end) for end in self.to) and self.to[0] <= self.to[1]
        bound = f" with low {'at least' if self.may_vanish else 'above'} 0" if not self.any_target else ""
        require(pair and (self.any_target or self._is_physical(self.to[0])), "to", f"[low, high]{bound}", self.to)

    @property
    def needs_world(self) -> bool:
        """Always, so that cells of all strengths run in the same simulator."""
        return True

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Forgets all lanes."""
        self._owner, self._amounts, self._moved = new_owner(), np.zeros(lanes), np.zeros(lanes)
        self._level, self._noted = np.zeros(lanes), np.zeros(lanes)

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        """Edits the simulators whose value is another one than before."""
        # Within an episode a number follows the level.
        if step.first.any() or not np.array_equal(step.level, self._level):
            self._edit(worlds, step)
            self._level = step.level.copy()
            self._noted = np.where(self._amounts == 0, 0.0, self._moved)
        step.report_effect(WORLD_CHANGE, self._noted)

    def _edit(self, worlds: Sequence[World], step: Step) -> None:
        amounts, targets = self._draw(step)
        forget_restored(self._owner, worlds, step, self._amounts)
        changed = np.flatnonzero(amounts != self._amounts)
        if len(changed):
            for (amount, target), lanes in self._alike(worlds, changed, amounts, targets):
                leader, *others = [worlds[lane] for lane in lanes]
                self._moved[lanes] = self._change(leader, amount, target)
                leader.share_edits(others)
            self._amounts[changed] = amounts[changed]

    def _alike(
        self, worlds: Sequence[World], changed: np.ndarray, amounts: np.ndarray, targets: np.ndarray | None
    ) -> Iterable[tuple[tuple[float, float], list[int]]]:
        """Returns amount, target and the lanes where they are new and where an edit leads to the same model."""
        lanes, new, first = changed.tolist(), amounts[changed].tolist(), worlds[changed[0]]
        drawn = [math.nan] * len(lanes) if targets is None else targets[changed].tolist()
        if first.interchangeable and targets is None and new.count(new[0]) == len(lanes):
            # The usual case, without a look at each: one ramp, and lanes in step.
            before = first.edits
            if all(worlds[lane].edits is before for lane in lanes):
                return [((new[0], math.nan), lanes)]
        found: dict[Any, tuple[tuple[float, float], list[int]]] = {}
        for lane, amount, target in zip(lanes, new, drawn, strict=True):
            world = worlds[lane]
            place = amount, target, id(world.edits) if world.interchangeable else ~lane
            found.setdefault(place, ((amount, target), []))[1].append(lane)
        return found.values()

    def _change(self, world: World, amount: float, target: float) -> float:
        """Changes one simulator and returns how far."""
        if amount == 0:
            world.drop(self._owner)
            return 0.0
        return world.edit_all(self._owner, self.edits(world, amount, target), (amount, str(target)))

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Returns what to do with which field.

        Args:
            world: the simulator.
            amount: `level * change`, times the draw.
            target: what the number goes to; nan without `to`.
        """
        raise NotImplementedError

    def ratio(self, original: Any, amount: float, target: float) -> Any:
        """Returns new value over original."""
        return 1 + amount if self.to is None else 1 + amount * (target / original - 1)

    def _draw(self, step: Step) -> tuple[np.ndarray, np.ndarray | None]:
        amounts, targets = np.zeros(len(step.level)) + step.of(self, "change", step.level), None
        if self.to is not None:
            targets = self.to[0] + (self.to[1] - self.to[0]) * step.draws.uniform(per_episode=True)
        elif self.draw != "fixed":
            side = 2 * step.draws.uniform(per_episode=True) - 1
            amounts = amounts * (side if self.draw == "uniform" else np.where(side < 0, -1.0, 1.0))
        return amounts, targets

    def _is_physical(self, value: float) -> bool:
        return value >= 0 if self.may_vanish else value > 0


@dataclass
class ModelChange(WorldChange):
    """Changes fields of a MuJoCo model: a subclass only names them."""

    fields: ClassVar[tuple[str, ...]]
    """The changed fields; all are multiplied by what takes the first one to its new value."""
    kind: ClassVar[str] = ""
    """What the names are names of: body, geom, joint or actuator."""
    keeps_zero: ClassVar[bool] = False
    """Whether a value of 0 means that there is none, so that `to` leaves it."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Forgets all lanes and the selection."""
        super().bind(observation_space, action_space, lanes)
        self._rows: Any = None

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Returns one factor per row, for each field; rows of 0 are moved, where that makes sense."""
        if self._rows is None:
            self._select(world)
        rows, sizes = self._rows, self._sizes
        factors: Any = 1 + amount
        if self.to is not None:
            factors = np.where(sizes == 0, 1.0, self.ratio(np.where(sizes == 0, 1.0, sizes), amount, target))[:, None]

        def scale(values: np.ndarray) -> np.ndarray:
            self.table(values)[rows] *= factors
            return values

        def scale_and_fill(values: np.ndarray) -> np.ndarray:
            self.table(scale(values))[rows[sizes == 0], 0] += amount * target
            return values

        fills = self.to is not None and not self.keeps_zero
        return dict.fromkeys(self.fields, scale) | ({self.fields[0]: scale_and_fill} if fills else {})

    def _select(self, world: World) -> None:
        """Finds the rows once; the lanes have copies of one model."""
        require_model(self, world)
        first, rows = self.fields[0], self.rows(world)
        self._sizes = self.sizes(self.table(world.original(first)))[rows]
        if not self._sizes.any() and (self.to is None or self.keeps_zero):
            raise UserError(
                f"{type(self).__name__}: `{first}` of {type(world.env).__name__} is 0 wherever it is selected, and "
                f"{'stays 0' if self.keeps_zero else 'a relative change leaves it 0: give `to`'}"
            )
        self._rows = rows

    def rows(self, world: World) -> np.ndarray:
        """Returns which rows of the fields are changed."""
        return np.arange(len(self.table(world.original(self.fields[0]))))

    def table(self, values: np.ndarray) -> np.ndarray:
        """Returns a view of a field with one row for each thing that has it."""
        return values.reshape(len(values), -1)

    def sizes(self, table: np.ndarray) -> np.ndarray:
        """Returns the number in each row of the first field that `to` is about."""
        return table[:, 0]


@dataclass
class NamedChange(ModelChange):
    """Changes what some parts of a MuJoCo model have, chosen by name."""

    names: list[str] | None = field(default=None, kw_only=True)
    """Names or patterns (`*_foot`) of what is changed; None: all. A geom or motor without a name goes by that of its
    body or joint."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.names is None or len(self.names) > 0, "names", "null or name at least one", self.names)

    def rows(self, world: World) -> np.ndarray:
        """Returns the rows of the named parts, or all of them."""
        names, env = part_names(world.model, self.kind), type(world.env).__name__
        if not names:
            raise UserError(f"{type(self).__name__}: the model of {env} has no {self.kind}")
        if self.names is None:
            return super().rows(world)
        for pattern in self.names:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise UserError(
                    f"`names`: {env} has no {self.kind} {pattern!r}; {nearest(pattern, filter(None, names))}"
                )
        chosen = [i for i, name in enumerate(names) if any(fnmatchcase(name, pattern) for pattern in self.names)]
        return np.flatnonzero(np.isin(self.owners(world.model), chosen))

    def owners(self, model: Any) -> np.ndarray:
        """Returns the part that each row belongs to."""
        return np.arange(len(part_names(model, self.kind)))


def require_model(owner: Perturbation, world: World) -> None:
    """Refuses an environment without a MuJoCo model."""
    if world.model is None:
        raise UserError(
            f"{type(owner).__name__} needs a MuJoCo model, and {type(world.env).__name__} has none: "
            "take `perturbation=env_parameter`, which changes attributes"
        )


def part_names(model: Any, kind: str) -> list[str]:
    """Returns the names of all bodies, geoms, joints or actuators."""
    count = getattr(model, {"body": "nbody", "geom": "ngeom", "joint": "njnt", "actuator": "nu"}[kind])
    names = [getattr(model, kind)(i).name for i in range(count)]
    if kind == "geom":
        return [name or model.body(model.geom_bodyid[i]).name for i, name in enumerate(names)]
    if kind == "actuator" and (model.actuator_trntype == 0).all():
        return [name or model.joint(model.actuator_trnid[i, 0]).name for i, name in enumerate(names)]
    return names


def new_owner() -> int:
    """Returns a name for the edits of one perturbation, which its copies share: unlike its `id`."""
    return next(_OWNERS)


def forget_restored(owner: int, worlds: Sequence[World], step: Step, *kept: np.ndarray) -> None:
    """Zeroes what a perturbation remembers of lanes whose world was restored since."""
    # Lanes without an episode are always at its start: ask the world, so that they are not edited again and again.
    if step.first.any():
        for lane in np.flatnonzero(step.first).tolist():
            if not worlds[lane].holds(owner):
                for values in kept:
                    values[lane] = 0
