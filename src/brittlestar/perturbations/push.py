"""External forces on a body of the robot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.envs.worlds import World
from brittlestar.errors import PositiveInt, UserError, nearest, require
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.model_changes import part_names, require_model
from brittlestar.perturbations.step import Step
from brittlestar.perturbations.world import OWNERS, WORLD_CHANGE, reset_restored


@dataclass
class Push(Perturbation):
    """A force of `level * newtons` acts on the centre of a body, for the whole episode or at random times.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), Push(20.0, body="torso", direction=[1, 0, 0]))
        >>> _ = env.reset(seed=0), env.step(env.action_space.sample())
        >>> env.unwrapped.data.body("torso").xfrc_applied[:3].tolist()
        [20.0, 0.0, 0.0]
    """

    strength_field: ClassVar[str] = "newtons"
    needs_world = True
    newtons: float
    body: str | None = None
    """Name of the pushed body; None takes the first that can move."""
    direction: list[float] | None = None
    """Direction in world coordinates; None draws a horizontal one for each push."""
    rate: float | None = None
    """Probability that a push starts in a step; None is one push for the whole episode."""
    duration_steps: PositiveInt = 1
    """Duration of a random push in steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.newtons < np.inf, "newtons", "at least 0", self.newtons)
        require(self.rate is None or 0 < self.rate <= 1, "rate", "null or in (0, 1]", self.rate)
        way = self.direction
        valid = way is None or (len(way) == 3 and np.isfinite(way).all() and np.any(way))
        require(valid, "direction", "null or three numbers that are not all 0", way)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        self._owner, self._body = next(OWNERS), -1
        self._sizes, self._felt, self._gives_way = np.zeros(lanes), np.zeros(lanes), [False] * lanes
        self._ends, self._ways = np.zeros(lanes, dtype=np.int64), np.zeros((lanes, 3))

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        reset_restored(self._owner, worlds, step, self._sizes, self._felt)
        turned, acts = self._acts(step)
        sizes = acts * step.of(self, "newtons", step.level)
        changed = ((sizes != self._sizes) | turned).nonzero()[0]
        if len(changed):
            self._put(worlds, changed, sizes, turned)
        step.report_effect(WORLD_CHANGE, self._felt.copy())

    def _acts(self, step: Step) -> tuple[Any, Any]:
        """Returns in which lanes a push gets a new direction, and in which lanes a push acts."""
        if self.rate is None:
            if step.first.any():
                self._turn(step.first, step.draws.uniform(per_episode=True))
            return False, True
        self._ends[step.first] = 0
        acts = step.draws.steps < self._ends
        # `>` of booleans: a push starts, and none acts.
        starts = (step.draws.uniform() < step.of(self, "rate", step.level)) > acts
        if starts.any():
            self._turn(starts, step.draws.uniform())
            self._ends[starts] = step.draws.steps[starts] + self.duration_steps
            acts |= starts
        return starts, acts

    def _turn(self, lanes: np.ndarray, angles: np.ndarray) -> None:
        if self.direction is not None:
            self._ways[lanes] = np.asarray(self.direction) / np.linalg.norm(self.direction)
        else:
            turn = 2 * np.pi * angles[lanes]
            self._ways[lanes, 0], self._ways[lanes, 1] = np.cos(turn), np.sin(turn)

    def _put(self, worlds: Sequence[World], changed: np.ndarray, sizes: np.ndarray, turned: Any) -> None:
        """Changes the forces of some lanes."""
        if self._body < 0:
            require_model(self, worlds[0])
            self._body = self._find_body(worlds[0])
        forces = self._ways.take(changed, axis=0)
        forces *= sizes.take(changed)[:, None]
        norms = np.sqrt(np.vecdot(forces, forces)).tolist()
        # While only the size of a push changes, the joints that give way to it remain the same.
        asks = (turned | (self._sizes == 0)).take(changed).tolist()
        for lane, force, norm, ask in zip(changed.tolist(), forces, norms, asks, strict=True):
            worlds[lane].push(self._owner, self._body, force)
            if ask and norm:
                self._gives_way[lane] = _moves(worlds[lane], self._body, force)
            self._felt[lane] = norm if self._gives_way[lane] else 0.0
        self._sizes = sizes

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
    """Returns whether any joint gives way to a force; a planar runner cannot move sideways."""
    import mujoco

    jacobian = np.empty((3, world.model.nv))
    mujoco.mj_jacBodyCom(world.model, world.data, jacobian, None, body)
    return any(force.dot(jacobian).tolist())
