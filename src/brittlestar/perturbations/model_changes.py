"""The base classes of changes to a MuJoCo model: fields, and parts chosen by name."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.envs.worlds import Edit, World
from brittlestar.errors import UserError, nearest, require
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.world import WorldChange


@dataclass
class ModelChange(WorldChange):
    """Changes fields of a MuJoCo model: a subclass names them."""

    fields: ClassVar[tuple[str, ...]]
    """The changed fields; all are multiplied by the factor that moves the first one to its new value."""
    kind: ClassVar[str] = ""
    """Kind of the named parts: body, geom, joint or actuator."""
    keeps_zero: ClassVar[bool] = False
    """Whether 0 means that the part has no such property, so that `to` keeps it."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._rows: Any = None

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Multiplies the selected rows of each field; rows of 0 are moved by addition, unless `keeps_zero`."""
        if self._rows is None:
            self._select(world)
        rows, sizes = self._rows, self._sizes
        factors: Any = 1 + amount
        if self.to is not None:
            factors = np.where(sizes == 0, 1.0, self.ratio(sizes, amount, target))[:, None]

        def scale(values: np.ndarray) -> np.ndarray:
            self.table(values)[rows] *= factors
            return values

        def scale_and_fill(values: np.ndarray) -> np.ndarray:
            self.table(scale(values))[rows[sizes == 0], 0] += amount * target
            return values

        fills = self.to is not None and not self.keeps_zero
        return dict.fromkeys(self.fields, scale) | ({self.fields[0]: scale_and_fill} if fills else {})

    def ratio(self, original: Any, amount: float, target: float) -> Any:
        """Returns the new value divided by the original one; an original of 0 counts as 1."""
        return super().ratio(np.where(original == 0, 1.0, original), amount, target)

    def _select(self, world: World) -> None:
        """Selects the rows once, because all lanes have copies of one model."""
        require_model(self, world)
        first, rows = self.fields[0], self.rows(world)
        self._sizes = self.sizes(self.table(world.original(first)))[rows]
        if not self._sizes.any() and (self.to is None or self.keeps_zero):
            raise UserError(
                f"{type(self).__name__}: `{first}` of {type(world.env).__name__} is 0 wherever it is selected, and "
                f"{'stays 0' if self.keeps_zero else 'a relative change leaves it 0: set `to`'}"
            )
        self._rows = rows

    def rows(self, world: World) -> np.ndarray:
        """Returns the indices of the changed rows."""
        return np.arange(len(self.table(world.original(self.fields[0]))))

    def table(self, values: np.ndarray) -> np.ndarray:
        """Returns a view of a field with one row per part."""
        return values.reshape(len(values), -1)

    def sizes(self, table: np.ndarray) -> np.ndarray:
        """Returns the number of each row of the first field that `to` refers to."""
        return table[:, 0]


@dataclass
class NamedChange(ModelChange):
    """Changes parts of a MuJoCo model that are chosen by name."""

    names: list[str] | None = field(default=None, kw_only=True)
    """Names or patterns (`*_foot`) of the changed parts; None changes all. A geom or actuator without a name has that
    of its body or joint."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.names is None or len(self.names) > 0, "names", "null or name at least one", self.names)

    def rows(self, world: World) -> np.ndarray:
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
            "use `perturbation=env_parameter`, which changes attributes"
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
