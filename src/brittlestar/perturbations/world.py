"""Changes of the simulator: a number that is scaled or moved for an episode, found by name."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.envs.worlds import DURATIONS, SUBSTEPS, Edit, World
from brittlestar.errors import UserError, require
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.step import Step

WORLD_CHANGE = "world_change"
OWNERS = itertools.count()
"""Identifiers for the edits of one perturbation each; unlike `id`, copies of the perturbation share it."""


@dataclass
class WorldChange(Perturbation):
    """Multiplies a number of the simulator by `1 + level * change * d` for a whole episode.

    `d` is 1, or drawn per episode: uniform in [-1, 1], or a sign. With a range `to`, the number becomes
    `original + level * change * (target - original)`, with a target drawn per episode. The draws do not depend on
    the strength. A subclass implements `edits`.
    """

    strength_field: ClassVar[str] = "change"
    needs_world = True
    may_vanish: ClassVar[bool] = True
    """Whether the number may become 0."""
    any_target: ClassVar[bool] = False
    """Whether a target may be negative."""

    change: float
    draw: Literal["fixed", "uniform", "sign"] = field(default="fixed", kw_only=True)
    """How `d` is drawn in each episode: `fixed` (1), `uniform` or `sign`."""
    to: list[float] | None = field(default=None, kw_only=True)
    """Lowest and highest target, in the unit of the number; None is a relative change."""

    def __post_init__(self) -> None:
        super().__post_init__()
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

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        self._owner, self._amounts, self._moved = next(OWNERS), np.zeros(lanes), np.zeros(lanes)
        self._level, self._effect = np.zeros(lanes), np.zeros(lanes)

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        # Within an episode the number follows the level.
        if step.first.any() or not np.array_equal(step.level, self._level):
            self._edit(worlds, step)
            self._level = step.level.copy()
            self._effect = np.where(self._amounts == 0, 0.0, self._moved)
        step.report_effect(WORLD_CHANGE, self._effect)

    def _edit(self, worlds: Sequence[World], step: Step) -> None:
        amounts, targets = self._draw(step)
        reset_restored(self._owner, worlds, step, self._amounts)
        changed = np.flatnonzero(amounts != self._amounts)
        if len(changed):
            for (amount, target), lanes in self._equal_edits(worlds, changed, amounts, targets):
                leader, *followers = [worlds[lane] for lane in lanes]
                self._moved[lanes] = self._change(leader, amount, target)
                leader.share_edits(followers)
            self._amounts[changed] = amounts[changed]

    def _equal_edits(
        self, worlds: Sequence[World], changed: np.ndarray, amounts: np.ndarray, targets: np.ndarray | None
    ) -> Iterable[tuple[tuple[float, float], list[int]]]:
        """Returns each new amount and target with its lanes, grouped so that one edit gives all of them one model."""
        lanes, new, first = changed.tolist(), amounts[changed].tolist(), worlds[changed[0]]
        ends = [math.nan] * len(lanes) if targets is None else targets[changed].tolist()
        if first.interchangeable and targets is None and new.count(new[0]) == len(lanes):
            # The usual case is faster: all lanes have the same amount and the same edits.
            before = first.edits
            if all(worlds[lane].edits is before for lane in lanes):
                return [((new[0], math.nan), lanes)]
        groups: dict[Any, tuple[tuple[float, float], list[int]]] = {}
        for lane, amount, target in zip(lanes, new, ends, strict=True):
            world = worlds[lane]
            place = amount, target, id(world.edits) if world.interchangeable else ~lane
            groups.setdefault(place, ((amount, target), []))[1].append(lane)
        return groups.values()

    def _change(self, world: World, amount: float, target: float) -> float:
        """Changes one simulator and returns the size of the change."""
        if amount == 0:
            world.drop(self._owner)
            return 0.0
        return world.edit_all(self._owner, self.edits(world, amount, target), (amount, str(target)))

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Returns the edit of each changed field for `amount = level * change * d`; `target` is nan without `to`."""
        raise NotImplementedError

    def ratio(self, original: Any, amount: float, target: float) -> Any:
        """Returns the new value divided by the original one."""
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


def reset_restored(owner: int, worlds: Sequence[World], step: Step, *states: np.ndarray) -> None:
    """Zeroes the state of lanes whose world was restored since the last edit of this owner."""
    # An idle lane is always at the start of an episode: without this check it would be edited at every step.
    if step.first.any():
        for lane in np.flatnonzero(step.first).tolist():
            if not worlds[lane].holds(owner):
                for values in states:
                    values[lane] = 0


@dataclass
class ControlTimestep(WorldChange):
    """Sets the duration of a step to `duration * (1 + level * change * d)`; in MuJoCo, at least 1 whole substep.

    `to` is in seconds. The metric `cycle_time` is missing, because steps differ in duration.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), ControlTimestep(0.5))
        >>> observation, _ = env.reset(seed=0)
        >>> before, _ = env.unwrapped.frame_skip, env.step(env.action_space.sample())
        >>> before, env.unwrapped.frame_skip
        (4, 6)
    """

    may_vanish: ClassVar[bool] = False

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        name = next((name for name in DURATIONS if hasattr(world.env, name)), None)
        if name is None:
            names = ", ".join(f"`{name}`" for name in DURATIONS)
            raise UserError(
                f"ControlTimestep changes one of the attributes {names}; {type(world.env).__name__} has none of them"
            )
        whole = name in SUBSTEPS
        unit = world.model.opt.timestep if whole and world.model is not None else 1.0
        factor = self.ratio(world.original(name) * unit, amount, target)
        return {name: lambda value: max(1, round(value * factor)) if whole else value * factor}


@dataclass
class EnvParameter(WorldChange):
    """Sets an attribute of the environment to `value * (1 + level * change * d)`, and updates what derives from it.

    It changes any number: `length` of CartPole, `l` of Pendulum, `LINK_MASS_1` of Acrobot, `dof_armature` of a MuJoCo
    model.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("CartPole-v1"), EnvParameter(1.0, attribute="length"))
        >>> _ = env.reset(seed=0), env.step(0)
        >>> env.unwrapped.length, env.unwrapped.polemass_length
        (1.0, 0.1)
    """

    may_vanish: ClassVar[bool] = False
    any_target: ClassVar[bool] = True
    attribute: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.attribute not in SUBSTEPS, "attribute", "changed by perturbation=control_timestep", self.attribute)

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        if self.to is not None:
            return {self.attribute: lambda value: value + amount * (target - value)}
        if not np.any(world.original(self.attribute)):
            where = type(world.env).__name__
            raise UserError(f"`{self.attribute}` of {where} is 0, a relative change leaves it 0: set `to`")
        return {self.attribute: lambda value: value * (1 + amount)}
