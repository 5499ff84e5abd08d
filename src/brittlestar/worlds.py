"""Edits of a simulator that undo themselves: fields of a MuJoCo model, attributes of any other environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.errors import UserError, nearest

Edit = Callable[[Any], Any]

# What `mj_setConst` derives from masses, inertias and springs; edits of those must be followed by it.
_CONSTANTS = (
    "qpos_spring", "body_invweight0", "body_subtreemass", "dof_M0", "dof_invweight0", "tendon_length0",
    "tendon_invweight0", "tendon_lengthspring", "actuator_length0", "actuator_acc0", "cam_pos0", "cam_poscom0",
    "cam_mat0", "light_pos0", "light_poscom0", "light_dir0", "eq_data", "stat.meaninertia", "stat.meanmass",
    "stat.meansize", "stat.extent", "stat.center",
)  # fmt: skip
_NEED_CONSTANTS = ("body_mass", "body_inertia", "qpos_spring", "dof_armature")


class World:
    """The simulator behind one lane.

    A field is named as in MuJoCo (`body_mass`, `opt.gravity`), or, in an environment without a model, as the
    attribute of the environment (`masspole`). Edits of different owners add up, in the order of their first
    use; an owner that edits a field again replaces its own edit.

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
        self.model = getattr(self.env, "model", None)
        self.data = getattr(self.env, "data", None)
        self._kept: dict[str, Any] = {}
        self._edits: dict[str, dict[Any, Edit]] = {}

    def value(self, name: str) -> Any:
        """Returns the present value of a field; an array is a copy."""
        holder, field = self._find(name)
        value = getattr(holder, field)
        return value.copy() if isinstance(value, np.ndarray) else value

    def original(self, name: str) -> Any:
        """Returns the value that a field has without any edit."""
        return self._kept[name] if name in self._kept else self.value(name)

    def edit(self, owner: Any, name: str, change: Edit) -> float:
        """Changes a field until the end of the episode.

        Args:
            owner: whose edit this is.
            name: the field.
            change: original value to new value.

        Returns:
            How far the field is from its original value, relative to it.
        """
        if name not in self._kept:
            self._kept[name] = self.value(name)
        self._edits.setdefault(name, {})[owner] = change
        value = self._kept[name]
        for each in self._edits[name].values():
            value = each(value.copy() if isinstance(value, np.ndarray) else value)
        self._put(name, value)
        self._derive(name)
        return _distance(self._kept[name], value)

    def restore(self) -> None:
        """Undoes every edit."""
        for name, value in self._kept.items():
            self._put(name, value)
        self._kept, self._edits = {}, {}

    def _find(self, name: str) -> tuple[Any, str]:
        holder, path = self._holder(name), name.split(".")
        for part in path[:-1]:
            holder = getattr(holder, part, None)
        if not hasattr(holder, path[-1]):
            valid = [n for n in dir(self.model if self.model is not None else self.env) if not n.startswith("_")]
            raise UserError(f"{type(self.env).__name__} has no `{name}` to change; {nearest(name, valid)}")
        return holder, path[-1]

    def _holder(self, name: str) -> Any:
        return self.env if self.model is None or name in vars(self.env) else self.model

    def _put(self, name: str, value: Any) -> None:
        holder, field = self._find(name)
        present = getattr(holder, field)
        if isinstance(present, np.ndarray):
            present[...] = value
        else:
            setattr(holder, field, value)

    def _derive(self, name: str) -> None:
        if self.model is not None and name in _NEED_CONSTANTS:
            self._set_constants()
        elif self.model is None and hasattr(self.env, "polemass_length"):
            # CartPole computes these once.
            for derived in ("total_mass", "polemass_length"):
                self._kept.setdefault(derived, getattr(self.env, derived))
            self.env.total_mass = self.env.masspole + self.env.masscart
            self.env.polemass_length = self.env.masspole * self.env.length

    def _set_constants(self) -> None:
        import mujoco

        for name in _CONSTANTS:
            if name not in self._kept:
                self._kept[name] = self.value(name)
        if not hasattr(self, "_scratch"):
            self._scratch = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self._scratch)


def _distance(before: Any, after: Any) -> float:
    size = float(np.linalg.norm(np.asarray(before, dtype=np.float64)))
    gap = float(np.linalg.norm(np.asarray(after, dtype=np.float64) - before))
    return gap / size if size else gap
