"""Edits of a simulator that undo themselves: fields of a MuJoCo model, attributes of any environment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.errors import UserError, nearest

Edit = Callable[[Any], Any]

# What `mj_setConst` derives from masses, inertias and springs; edits of those must be followed by it.
_CONSTANTS = (
    "qpos_spring", "body_invweight0", "body_subtreemass", "dof_M0", "dof_invweight0", "tendon_length0",
    "tendon_invweight0", "tendon_lengthspring", "flexedge_length0", "flexedge_invweight0", "actuator_length0",
    "actuator_acc0", "cam_pos0", "cam_poscom0", "cam_mat0", "light_pos0", "light_poscom0", "light_dir0", "eq_data",
    "stat.meaninertia", "stat.meanmass", "stat.meansize", "stat.extent", "stat.center",
)  # fmt: skip
_NEED_CONSTANTS = ("body_mass", "body_inertia", "qpos_spring", "dof_armature")

SUBSTEPS = ("frame_skip", "n_substeps")
"""Attributes that say how many substeps of MuJoCo a step lasts."""
DURATIONS = (*SUBSTEPS, "tau", "dt")
"""Attributes that say how long a step lasts, in substeps of MuJoCo or in seconds."""

# What environments compute once, by class name: attribute to what it comes from.
_DERIVED: dict[str, dict[str, tuple[tuple[str, ...], Edit]]] = {
    "CartPoleEnv": {
        "total_mass": (("masspole", "masscart"), lambda env: env.masspole + env.masscart),
        "polemass_length": (("masspole", "length"), lambda env: env.masspole * env.length),
    }
}


class World:
    """The simulator behind one lane.

    A field is named as in MuJoCo (`body_mass`, `opt.gravity`, `data.xfrc_applied`), or as the attribute of the
    environment (`masspole`). Edits of different owners add up, in the order of their first use; an owner that edits
    a field again replaces its own edit.

    Example:
        >>> world = World(gym.make("CartPole-v1"))
        >>> world.edit("longer", "length", lambda length: 2 * length)
        1.0
        >>> world.env.length, world.env.polemass_length
        (1.0, 0.1)
        >>> world.restore()
        >>> world.env.length, world.env.polemass_length
        (0.5, 0.05)
    """

    def __init__(self, env: gym.Env) -> None:
        self.env: Any = env.unwrapped
        model = getattr(self.env, "model", None)
        # Somebody's environment may call a network its model.
        self.model: Any = model if type(model).__module__.startswith("mujoco") else None
        self.data: Any = getattr(self.env, "data", None)
        self._derived: dict[str, tuple[tuple[str, ...], Edit]] = {}
        for kind in type(self.env).__mro__:
            self._derived |= _DERIVED.get(kind.__name__, {})
        self._places: dict[str, tuple[Any, str]] = {}
        self._kept: dict[str, Any] = {}
        self._added: set[str] = set()
        self._edits: dict[str, dict[Any, Edit]] = {}
        self._keys: dict[Any, Any] = {}
        self.state: tuple = ()
        """Worlds of the same environment with the same state have models of the same bytes."""

    @property
    def retimed(self) -> bool:
        """Whether any step since the last `restore` may have lasted another time than usual."""
        return any(name in self._kept for name in (*DURATIONS, "opt.timestep"))

    def value(self, name: str) -> Any:
        """Returns the present value of a field: a number, or an array of its own."""
        return self._numbers(name, getattr(*self._find(name)))

    def original(self, name: str) -> Any:
        """Returns the value that a field has without any edit."""
        if name not in self._kept:
            return self.value(name)
        value = self._kept[name]
        return np.array(value) if isinstance(value, list | tuple | np.ndarray) else value

    def edit(self, owner: Any, name: str, change: Edit) -> float:
        """Changes a field until the end of the episode.

        Args:
            owner: whose edit this is.
            name: the field.
            change: original value to new value.

        Returns:
            How far this owner moved the numbers that it changed, relative to them.
        """
        return self.edit_all(owner, {name: change})

    def edit_all(self, owner: Any, changes: dict[str, Edit], key: Any = None) -> float:
        """Changes several fields, as `edit` does, and returns how far the first one moved.

        Args:
            owner: whose edit this is.
            changes: field to change.
            key: what decides the changes: the same in two worlds, when the changes are. None: nobody knows.
        """
        moved = []
        for name, change in changes.items():
            if name in self._derived:
                sources = " and ".join(f"`{source}`" for source in self._derived[name][0])
                raise UserError(f"{type(self.env).__name__} computes `{name}` from {sources}: change those")
            self._keep(name)
            self._edits.setdefault(name, {})[owner] = change
            moved.append(self._apply(name, owner))
        if not all(name.startswith("data.") for name in changes):
            # Nothing follows from forces on bodies, and they are not in the model.
            self._derive(changes)
            self._keys[owner] = object() if key is None else key
            self._tell_state()
        return moved[0]

    def holds(self, owner: Any) -> bool:
        """Says whether an edit of this owner stands."""
        return any(owner in edits for edits in self._edits.values())

    def drop(self, owner: Any) -> None:
        """Undoes the edits of one owner; those of others stay."""
        names = [name for name, edits in self._edits.items() if owner in edits]
        for name in names:
            del self._edits[name][owner]
            self._apply(name)
        if not all(name.startswith("data.") for name in names):
            self._derive(names)
            self._tell_state()

    def restore(self) -> None:
        """Undoes every edit."""
        for name in self._kept:
            self._put_back(name)
        self._kept, self._edits, self._added = {}, {}, set()
        self.state = ()

    def _tell_state(self) -> None:
        edited = [(name, edits) for name, edits in sorted(self._edits.items()) if edits and self._in_model(name)]
        self.state = tuple((name, *((owner, self._keys[owner]) for owner in edits)) for name, edits in edited)

    def _in_model(self, name: str) -> bool:
        return self._find(name)[0] is not self.env and not name.startswith("data.")

    def _find(self, name: str) -> tuple[Any, str]:
        if name in self._places:
            return self._places[name]
        *path, field = name.split(".")
        for holder in (self.env, self.model):
            for part in path:
                holder = getattr(holder, part, None)
            if holder is not None and hasattr(holder, field):
                self._places[name] = holder, field
                return holder, field
        raise UserError(f"{type(self.env).__name__} has no `{name}` to change; {nearest(name, self._names())}")

    def _names(self) -> list[str]:
        """Returns what could be changed: numbers of the environment, arrays of the model."""
        # Not by `dir`: asking an environment for a property may run its code.
        found = {key: value for kind in type(self.env).__mro__ for key, value in vars(kind).items()} | vars(self.env)
        names = [key for key, value in found.items() if not key.startswith("_") and _is_numbers(value)]
        fields = [] if self.model is None else [key for key in dir(self.model) if not key.startswith(("_", "n"))]
        return names + [key for key in fields if isinstance(getattr(self.model, key), np.ndarray)]

    def _numbers(self, name: str, value: Any) -> Any:
        if not _is_numbers(value):
            raise UserError(f"`{name}` of {type(self.env).__name__} is no number: {value!r}")
        return np.array(value) if isinstance(value, list | tuple | np.ndarray) else value

    def _keep(self, name: str) -> None:
        if name in self._kept:
            return
        holder, field = self._find(name)
        value = getattr(holder, field)
        self._numbers(name, value)
        if holder is not self.env:
            value = self.value(name)
        elif field not in vars(holder):
            # An attribute of the class, as Acrobot's: the edit must not leave one of the instance behind.
            self._added.add(name)
        self._kept[name] = value

    def _apply(self, name: str, owner: Any = None) -> float:
        if not self._edits[name]:
            self._put_back(name)
            return 0.0
        value, moved = self.original(name), 0.0
        for who, change in self._edits[name].items():
            before, value = value, change(value.copy() if isinstance(value, np.ndarray) else value)
            if who == owner:
                moved = _distance(before, value)
        self._put(name, value)
        return moved

    def _put(self, name: str, value: Any) -> None:
        holder, field = self._find(name)
        present = getattr(holder, field)
        if holder is not self.env and isinstance(present, np.ndarray):
            present[...] = value
            return
        if isinstance(present, list | tuple) and isinstance(value, np.ndarray):
            value = type(present)(value.tolist())
        try:
            setattr(holder, field, value)
        except AttributeError:
            raise UserError(f"`{name}` of {type(self.env).__name__} is computed and cannot be set") from None

    def _put_back(self, name: str) -> None:
        if name not in self._added:
            self._put(name, self._kept[name])
        elif name in vars(self.env):
            delattr(self.env, name)

    def _derive(self, names: Iterable[str]) -> None:
        for derived, (sources, compute) in self._derived.items():
            if not set(sources).isdisjoint(names):
                self._keep(derived)
                self._put(derived, compute(self.env))
        if self.model is not None and not set(_NEED_CONSTANTS).isdisjoint(names):
            self._set_constants()

    def _set_constants(self) -> None:
        import mujoco

        for name in _CONSTANTS:
            self._keep(name)
        if not any(self._edits.get(name) for name in _NEED_CONSTANTS):
            for name in _CONSTANTS:
                self._put_back(name)
            return
        if not hasattr(self, "_scratch"):
            self._scratch = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self._scratch)


def _is_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_numbers(item) for item in value)
    kind = value.dtype.kind if isinstance(value, np.ndarray | np.generic) else ""
    return kind in "iuf" if kind else isinstance(value, int | float) and not isinstance(value, bool)


def _distance(before: Any, after: Any) -> float:
    before = np.asarray(before, dtype=np.float64)
    gap = np.asarray(after, dtype=np.float64) - before
    before = before[gap != 0]
    size, gap = math.sqrt(np.vdot(before, before)), math.sqrt(np.vdot(gap, gap))
    return gap / size if size else gap
