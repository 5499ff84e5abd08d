"""Edits of a simulator that undo themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.envs.edits import NO_EDITS, Edit
from brittlestar.envs.fields import Fields
from brittlestar.envs.mujoco_timer import stop_timer
from brittlestar.errors import UserError

_CONSTANTS = (
    "qpos_spring", "body_invweight0", "body_subtreemass", "dof_M0", "dof_invweight0", "tendon_length0",
    "tendon_invweight0", "tendon_lengthspring", "flexedge_length0", "flexedge_invweight0", "actuator_length0",
    "actuator_acc0", "cam_pos0", "cam_poscom0", "cam_mat0", "light_pos0", "light_poscom0", "light_dir0", "eq_data",
    "stat.meaninertia", "stat.meanmass",
)  # fmt: skip
"""What `mj_setConst` derives from masses, inertias and springs; it must follow edits of those."""
_SHAPES = ("stat.meansize", "stat.extent", "stat.center", "dof_length")
"""What `mj_setConst` derives from shapes alone: it remains as compiled, with the spheres of then."""
_NEED_CONSTANTS = {"body_mass", "body_inertia", "qpos_spring", "dof_armature"}

SUBSTEPS = ("frame_skip", "n_substeps")
"""Attributes that hold how many substeps of MuJoCo a step lasts."""
DURATIONS = (*SUBSTEPS, "tau", "dt")
"""Attributes that hold how long a step lasts, in substeps of MuJoCo or in seconds."""
_FORCES = "data.xfrc_applied"
_TIMES = {*DURATIONS, "opt.timestep"}

_DERIVED: dict[str, dict[str, tuple[tuple[str, ...], Edit]]] = {
    "CartPoleEnv": {
        "total_mass": (("masspole", "masscart"), lambda env: env.masspole + env.masscart),
        "polemass_length": (("masspole", "length"), lambda env: env.masspole * env.length),
    }
}
"""What environments compute once, by class name: attribute to its sources and its formula."""


class World(Fields):
    """The simulator behind one lane.

    Edits of different owners add up, in the order of their first use; an owner that edits a field again replaces its
    own edit.

    Attributes:
        edits: the edits, except those of `data`; worlds with the same value were edited alike.
        interchangeable: whether worlds with equal states may step with the model of one of them; `share_edits` needs
            that.
        retimed: whether any step since the last `restore` may have lasted another time than usual.

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
        super().__init__(env)
        self._derived: dict[str, tuple[tuple[str, ...], Edit]] = {}
        for kind in type(self.env).__mro__:
            self._derived |= _DERIVED.get(kind.__name__, {})
        self.edits = self._applied = NO_EDITS
        self._forces: dict[str, dict[Any, Edit]] = {}
        self.interchangeable = self.retimed = False

    def value(self, name: str) -> Any:
        """Returns the present value of a field: a number, or an array of its own."""
        self.apply_edits()
        return self._read(name)

    def edit(self, owner: Any, name: str, change: Edit) -> float:
        """Changes a field until the end of the episode, and returns how far it moved; see `edit_all`."""
        return self.edit_all(owner, {name: change})

    def edit_all(self, owner: Any, changes: dict[str, Edit], key: Any = None) -> float:
        """Changes several fields until the end of the episode.

        Args:
            owner: the perturbation that makes the edit.
            changes: field to the function of its original value.
            key: two worlds with the same key have the same changes; None for changes that no other world has.

        Returns:
            How far the owner moved the numbers of the first field that it changed, relative to them.
        """
        self.apply_edits()
        for name in changes:
            if name in self._derived:
                sources = " and ".join(f"`{source}`" for source in self._derived[name][0])
                raise UserError(f"{type(self.env).__name__} computes `{name}` from {sources}: change those")
            self._save(name)
        # Nothing follows from forces on bodies, and they are not in the model.
        forces = [name for name in changes if name.startswith("data.")]
        for name in forces:
            self._forces.setdefault(name, {})[owner] = changes[name]
        fields = {name: change for name, change in changes.items() if name not in forces} if forces else changes
        if fields:
            in_model = [name for name in fields if self._find(name)[0] is not self.env]
            key = object() if key is None else key
            self._applied = self.edits = self.edits.after(owner, fields, key, in_model)
            self.retimed = self.retimed or not _TIMES.isdisjoint(fields)
        moved = [self._apply(name, owner if place == 0 else None) for place, name in enumerate(changes)]
        if fields:
            self._derive(fields)
        return moved[0]

    def share_edits(self, followers: Iterable[World]) -> None:
        """Gives other worlds the edits of this one; all had the same before, and are `interchangeable`.

        Their models remain as they are, because a step uses the one of this world; `apply_edits` edits them.
        """
        edits, retimed = self.edits, self.retimed
        for world in followers:
            if edits.outside or world.edits.outside:
                world._copy_attributes(self)
            world.edits, world.retimed = edits, world.retimed or retimed

    def _copy_attributes(self, leader: World) -> None:
        for name in leader.edits.outside:
            if getattr(*self._find(name)) is not getattr(*leader._find(name)):
                self._save(name)
                self._write(name, leader._read(name))
        for name in self.edits.outside:
            if name not in leader.edits.by_field and name in self._originals:
                self._write_back(name)

    def apply_edits(self) -> None:
        """Writes the edits that the model does not have yet."""
        if self._applied is self.edits:
            return
        before, self._applied = self._applied.by_field, self.edits
        names = [name for name in before | self.edits.by_field if before.get(name) is not self._edits_of(name)]
        for name in names:
            self._save(name)
            self._apply(name)
        self._derive(names)

    def push(self, owner: Any, body: int, force: np.ndarray) -> None:
        """Puts a force on the centre of a body, in place of the last one of the same owner on it."""
        edits = self._forces.setdefault(_FORCES, {})
        push = edits.get(owner)
        if len(edits) == 1 and isinstance(push, _Push) and push.body == body:
            # No other owner pushes: only these three numbers change.
            push.force = force
            np.add(push.base, force, out=push.row)
            return
        self._save(_FORCES)
        edits[owner] = _Push(body, force, self._originals[_FORCES][body, :3], self.data.xfrc_applied[body, :3])
        self._apply(_FORCES)

    def holds(self, owner: Any) -> bool:
        """Returns whether the world holds an edit of this owner."""
        return owner in self.edits.keys or any(owner in edits for edits in self._forces.values())

    def drop(self, owner: Any) -> None:
        """Undoes the edits of one owner; those of others remain."""
        for name, edits in self._forces.items():
            if edits.pop(owner, None) is not None:
                self._apply(name)
        self.apply_edits()
        self.edits = self.edits.without(owner)
        self.apply_edits()

    def restore(self) -> None:
        """Undoes every edit."""
        for name in self._originals:
            self._write_back(name)
        self._originals, self._forces, self._class_attributes, self.edited_in_model = {}, {}, set(), []
        self._applied = self.edits = NO_EDITS
        self.retimed = False

    def _edits_of(self, name: str) -> dict[Any, Edit] | None:
        return self._forces.get(name) if name.startswith("data.") else self.edits.by_field.get(name)

    def _apply(self, name: str, owner: Any = None) -> float:
        """Writes a field with all its edits, and returns how far one owner moved it."""
        edits = self._edits_of(name)
        if not edits:
            self._write_back(name)
            return 0.0
        value, moved = self.original(name), 0.0
        for editor, change in edits.items():
            before, value = value, change(value.copy() if isinstance(value, np.ndarray) else value)
            if editor == owner:
                moved = _distance(before, value)
        self._write(name, value)
        return moved

    def _derive(self, names: Iterable[str]) -> None:
        """Writes what follows from edited fields."""
        for derived, (sources, compute) in self._derived.items():
            if not set(sources).isdisjoint(names):
                self._save(derived)
                self._write(derived, compute(self.env))
        if self.model is not None and not _NEED_CONSTANTS.isdisjoint(names):
            self._set_constants()

    @cached_property
    def _shapes(self) -> list[str]:
        # Earlier versions of MuJoCo have no lengths of joints.
        return [name for name in _SHAPES if "." in name or hasattr(self.model, name)]

    def _set_constants(self) -> None:
        import mujoco

        if _CONSTANTS[-1] not in self._originals:
            for name in (*_CONSTANTS, *self._shapes):
                self._save(name)
        if _NEED_CONSTANTS.isdisjoint(self.edits.by_field):
            for name in _CONSTANTS:
                self._write_back(name)
            return
        if not hasattr(self, "_scratch"):
            self._scratch = mujoco.MjData(self.model)
            stop_timer()
        mujoco.mj_setConst(self.model, self._scratch)
        for name in self._shapes:
            self._write_back(name)


@dataclass(slots=True)
class _Push:
    body: int
    force: np.ndarray
    base: np.ndarray
    row: np.ndarray

    def __call__(self, forces: np.ndarray) -> np.ndarray:
        forces[self.body, :3] += self.force
        return forces


def _distance(before: Any, after: Any) -> float:
    before = np.asarray(before, dtype=np.float64)
    gap = np.asarray(after, dtype=np.float64) - before
    before = before[gap != 0]
    size, gap = math.sqrt(np.vdot(before, before)), math.sqrt(np.vdot(gap, gap))
    return gap / size if size else gap
