"""Somebody pushes the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, nearest, require
from brittlestar.perturbations.base import Perturbation, Step
from brittlestar.perturbations.world import NOTE, forget_restored, new_owner, part_names, require_model
from brittlestar.worlds import World


@dataclass
class Push(Perturbation):
    """A force of `level * newtons` acts on the centre of a body, at drawn times or whenever the schedule says so.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), Push(20.0, body="torso", direction=[1, 0, 0]))
        >>> observation, _ = env.reset(seed=0)
        >>> _ = env.step(env.action_space.sample())
        >>> env.unwrapped.data.body("torso").xfrc_applied[:3].tolist()
        [20.0, 0.0, 0.0]
    """

    strength_field: ClassVar[str] = "newtons"
    newtons: float
    body: str | None = None
    """The pushed body; None: the first that can move."""
    direction: list[float] | None = None
    """In world coordinates; None: horizontal, drawn for each push."""
    rate: float | None = None
    """Chance that a push starts in a step; None: one push, for the whole episode, times the level of the schedule."""
    duration_steps: int = 1
    """How long a drawn push lasts."""

    def __post_init__(self) -> None:
        require(0 <= self.newtons < np.inf, "newtons", "at least 0", self.newtons)
        require(self.rate is None or 0 < self.rate <= 1, "rate", "null or in (0, 1]", self.rate)
        require(self.duration_steps >= 1, "duration_steps", "at least 1", self.duration_steps)
        way = self.direction
        valid = way is None or (len(way) == 3 and np.isfinite(way).all() and np.any(way))
        require(valid, "direction", "null or three numbers that are not all 0", way)

    @property
    def needs_world(self) -> bool:
        """Always, so that cells of all strengths run in the same simulator."""
        return True

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Forgets all lanes."""
        self._owner, self._forces, self._felt = new_owner(), np.zeros((lanes, 3)), np.zeros(lanes)
        self._moves, self._known = np.zeros(lanes, dtype=bool), np.zeros((lanes, 3))
        self._left, self._ways = np.zeros(lanes, dtype=np.int64), np.zeros((lanes, 3))
        self._body: int | None = None

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        """Puts forces on, and takes them off."""
        acts = self._acts(step)
        sizes = acts * step.of(self, "newtons", step.level)
        forces = sizes[:, None] * self._ways
        forget_restored(self._owner, worlds, step, self._forces)
        differs = forces != self._forces
        if differs.any():
            self._put(worlds, np.flatnonzero(differs.any(axis=1)), forces)
        step.note(NOTE, np.where(self._forces.any(axis=1), self._felt, 0.0))

    def _acts(self, step: Step) -> np.ndarray:
        """Returns whether a push is on in each lane; directions are drawn as pushes start."""
        if self.rate is None:
            self._turn(step.first, step.draws.uniform(per_episode=True))
            return np.ones(len(step.level), dtype=bool)
        self._left[step.first] = 0
        starts = (step.draws.uniform() < step.of(self, "rate", step.level)) & (self._left == 0)
        if starts.any():
            self._turn(starts, step.draws.uniform())
            self._left[starts] = self.duration_steps
        acts = self._left > 0
        self._left -= acts
        return acts

    def _turn(self, lanes: np.ndarray, angles: np.ndarray) -> None:
        if self.direction is not None:
            self._ways[lanes] = np.asarray(self.direction) / np.linalg.norm(self.direction)
        elif lanes.any():
            turn = 2 * np.pi * angles[lanes]
            self._ways[lanes] = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=1)

    def _put(self, worlds: Sequence[World], changed: np.ndarray, forces: np.ndarray) -> None:
        """Changes the forces of some lanes."""
        require_model(self, worlds[0])
        if self._body is None:
            self._body = self._find_body(worlds[0])
        new = forces[changed]
        sizes = np.sqrt(np.vecdot(new, new))
        # While a push grows or fades, what gives way to it is the same.
        turned = ~self._forces[changed].any(axis=1) | (self._ways[changed] != self._known[changed]).any(axis=1)
        for lane, force, size, ask in zip(changed.tolist(), new, sizes.tolist(), turned.tolist(), strict=True):
            if not size:
                worlds[lane].push(self._owner, self._body, None)
                continue
            worlds[lane].push(self._owner, self._body, force)
            if ask:
                self._moves[lane] = _moves(worlds[lane], self._body, force)
        self._forces[changed], self._known[changed] = new, self._ways[changed]
        self._felt[changed] = np.where(self._moves[changed], sizes, 0.0)

    def _find_body(self, world: World) -> int:
        model, env = world.model, type(world.env).__name__
        names = part_names(model, "body")
        movable = [i for i in range(model.nbody) if model.body_weldid[i] and not model.body_mocapid[i] >= 0]
        if not movable:
            raise UserError(f"Push: the model of {env} has no body that can move")
        if self.body is None:
            return movable[0]
        if self.body not in names or names.index(self.body) not in movable:
            valid = nearest(self.body, [names[i] for i in movable if names[i]])
            raise UserError(f"`body`: {env} has no body {self.body!r} that can move; {valid}")
        return names.index(self.body)


def _moves(world: World, body: int, force: np.ndarray) -> bool:
    """Says whether any joint gives way to a force: a runner in a plane feels none from the side."""
    import mujoco

    jacobian: Any = np.zeros((3, world.model.nv))
    mujoco.mj_jacBodyCom(world.model, world.data, jacobian, None, body)
    return bool((force @ jacobian).any())
