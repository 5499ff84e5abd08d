"""Observations that are wrong on purpose: of all within reach, those that move the policy's answer far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, nearest, require
from brittlestar.perturbations.base import ScaledObservation, Step
from brittlestar.perturbations.objectives import distance, margin
from brittlestar.perturbations.random_sign import draw_start, sign
from brittlestar.policies.base import Answer, GradientError, Policy
from brittlestar.policies.differences import by_differences

if TYPE_CHECKING:
    from brittlestar.perturbations.context import Context

GRADIENTS = ("auto", "exact", "numeric")
OFFSET = 0.1
"""How far from the truth the first search starts, as a part of the radius: at the truth itself nothing points away."""

Arrays = dict[str, np.ndarray]


@dataclass
class AdversarialObservation(ScaledObservation):
    """Shows `x + d` with `|d| <= r = level * epsilon * unit` in every number, such that the policy's answer moves far.

    How far is `D(d) = |pi(x + d) - pi(x)|^2` for actions in a box, and for choices the lead of the best other choice
    over the one that would be taken at `x`, in scores: above 0 the choice changes (summed over several choices).
    `pi` is the policy without chance, with what it keeps in memory.

    A search starts at random in the box (the first one within `OFFSET r`), steps to the corner `r sign(D')` that the
    gradient points to (where that is 0, on the side of the start), then by `d <- clip(d + step_size r sign(D'), -r,
    r)`. Of all points but the start, that of the largest `D` is shown, lane by lane. So at equal `epsilon`,
    `step_size` and state `D` never falls from one step to several, nor from one start to more.

    A policy with a memory is followed by what it was shown here; what other parts change afterwards is unknown.
    """

    strength_field: ClassVar[str] = "epsilon"
    epsilon: float
    gradient: str = field(default="auto", kw_only=True)
    """`exact`: that of a network; `numeric`: by differences of actions in a box, with two queries per observed number;
    `auto`: exact where the policy has it, else numeric."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.epsilon >= 0, "epsilon", "at least 0", self.epsilon)
        if self.gradient not in GRADIENTS:
            raise UserError(f"`gradient` cannot be {self.gradient!r}; {nearest(str(self.gradient), GRADIENTS)}")
        self._policy: Policy | None = None

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces, and how far answers can be told apart."""
        super().bind(observation_space, action_space, lanes)
        name, continuous = type(self).__name__, isinstance(action_space, spaces.Box)
        for key, space in self.touched(observation_space):
            if not np.issubdtype(space.dtype, np.floating):
                where = f"`{key}`" if key else "the observation"
                raise UserError(f"{name} needs observations of fractions, {where} holds {space.dtype}")
        if self.gradient == "numeric" and not continuous:
            raise UserError(f"{name}: `gradient: numeric` needs actions in a box, got {action_space}; take `exact`")
        self._objective = distance if continuous else margin(action_space)

    def prepare(self, context: Context) -> None:
        """Takes the policy."""
        super().prepare(context)
        self._policy, self._state, self._by_trying = context.policy, None, self.gradient == "numeric"
        if not self.is_identity:
            self._attacked()

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Searches, and shows the best point."""
        if self.is_identity:
            return observation
        keys = self.keys if isinstance(observation, dict) else [""]
        radius = {key: self._radius(observation[key] if key else observation, key, step) for key in keys}
        seen = observation
        if any(reach.any() for reach in radius.values()):
            seen = self._shown(observation, self._search(observation, radius, step), step)
        self._state = self._attacked().predict(seen, self._state, step.first)[1]
        return seen

    def _attacked(self) -> Policy:
        if self._policy is None:
            raise UserError(f"{type(self).__name__} attacks the policy that acts, and somebody else's loop has none")
        return self._policy

    def _searches(self) -> tuple[int, int]:
        """Returns how often to start, and how many steps to take."""
        return 1, 1

    def _stride(self, array: np.ndarray, step: Step) -> Any:
        """Returns how long a step behind the first one is, as a part of the radius."""
        return 0.0

    def _radius(self, array: np.ndarray, key: str, step: Step) -> np.ndarray:
        step.key = key
        return np.broadcast_to(step.of(self, "epsilon", array) * self.unit(step), array.shape)

    def _search(self, observation: Any, radius: Arrays, step: Step) -> Arrays:
        clean = self._ask(observation, radius, step).outputs.astype(np.float64)
        best, height = radius, np.full(len(clean), -np.inf)
        starts, steps = self._searches()
        if step.parameter in ("steps", "restarts"):
            raise UserError(
                f"`stress_schedule.parameter` cannot be `{step.parameter}`: an attack takes whole ones only"
            )
        for search in range(starts):
            start = {key: draw_start(reach, step) for key, reach in radius.items()}
            moved = {key: (OFFSET if search == 0 else 1.0) * reach * start[key] for key, reach in radius.items()}
            _, pull = self._look(observation, moved, clean, radius, step)
            for turn in range(steps):
                signs = self._signs(pull(), observation, start, step)
                for key, reach in radius.items():
                    # Twice the radius leads from anywhere to a corner; where it is flat, to that of the start, for
                    # which the other slopes hold.
                    way = signs[key] if turn else np.where(signs[key] == 0, sign(start[key]), signs[key])
                    stride = self._stride(reach, step) if turn else 2.0
                    moved[key] = np.clip(moved[key] + stride * reach * way, -reach, reach)
                value, pull = self._look(observation, moved, clean, radius, step)
                better, height = value > height, np.maximum(value, height)
                best = {key: np.where(_wide(better, d), d, best[key]) for key, d in moved.items()}
        return best

    def _look(
        self, observation: Any, moved: Arrays, clean: np.ndarray, radius: Arrays, step: Step
    ) -> tuple[np.ndarray, Callable[[], Arrays]]:
        answer = self._ask(self._shown(observation, moved, step), radius, step)
        value, slope = self._objective(answer.outputs.astype(np.float64), clean)
        return value, lambda: answer.pull(slope)

    def _ask(self, shown: Any, radius: Arrays, step: Step) -> Answer:
        if not self._by_trying:
            try:
                return self._attacked().differentiate(shown, self._state, step.first)
            except GradientError:
                if self.gradient == "exact" or self._objective is not distance:
                    raise
                self._by_trying = True
        return by_differences(self._attacked(), shown, self._state, step.first, radius)

    def _shown(self, observation: Any, moved: Arrays, step: Step) -> Any:
        if not isinstance(observation, dict):
            return (observation + moved[""]).astype(observation.dtype)
        seen = observation | {key: (observation[key] + d).astype(observation[key].dtype) for key, d in moved.items()}
        return self._without_leaks(observation, seen, step.first) if self.leak_free else seen

    def _signs(self, gradient: Arrays, observation: Any, start: Arrays, step: Step) -> Arrays:
        """Returns which way is up; where it is flat, 0."""
        if self.leak_free and isinstance(observation, dict):
            gradient = self._with_leaks(gradient, observation, step.first)
        return {key: np.sign(gradient.get(key, np.zeros_like(place))) for key, place in start.items()}

    def _with_leaks(self, gradient: Arrays, true: Arrays, first: np.ndarray) -> Arrays:
        """Adds the gradient of entries that repeat a touched one to that of what they repeat."""
        found = {key: up.astype(np.float64) for key, up in gradient.items()}
        for key in [key for key in gradient if key not in self.keys and true[key].ndim == 2]:
            for touched in [touched for touched in self.keys if true[touched].ndim == 2]:
                places = self._find_copies(true[key], true[touched], f"{touched}/{key}", first)
                lanes = np.flatnonzero(places >= 0)
                columns = places[lanes, None] + np.arange(true[key].shape[1])
                found.setdefault(touched, np.zeros(true[touched].shape))[lanes[:, None], columns] += gradient[key][
                    lanes
                ]
        return found


@dataclass
class FgsmObservation(AdversarialObservation):
    """One step: `x + r sign(D'(d_0))`, `|d_0| <= OFFSET r` at random.

    Example:
        >>> from brittlestar.perturbations.context import Context
        >>> from brittlestar.policies import MlpPolicy
        >>> from brittlestar.randomness import LaneDraws
        >>> box, step = spaces.Box(-1.0, 1.0, (2,)), Step(np.ones(1), np.ones(1, bool), LaneDraws(0, "noise", 1))
        >>> attack = FgsmObservation(epsilon=0.1)
        >>> attack.bind(box, spaces.Box(-1.0, 1.0, (1,)), lanes=1)
        >>> attack.prepare(Context(MlpPolicy([(np.array([[2.0], [-1.0]]), np.zeros(1))])))
        >>> moved = attack.perturb_observation(np.zeros((1, 2)), step)
        >>> bool(moved[0, 0] == -moved[0, 1]), float(np.abs(moved).max())
        (True, 0.1)
    """


@dataclass
class MadObservation(AdversarialObservation):
    """Maximal action difference: one search of `steps` steps.

    Example:
        >>> MadObservation(epsilon=0.1, steps=3).strength
        0.1
    """

    steps: int = 5
    step_size: float = 0.5
    """Of all steps but the first, as a part of the radius."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.steps >= 1, "steps", "at least 1", self.steps)
        require(self.step_size > 0, "step_size", "above 0", self.step_size)

    def _searches(self) -> tuple[int, int]:
        return 1, self.steps

    def _stride(self, array: np.ndarray, step: Step) -> Any:
        return step.of(self, "step_size", array)


@dataclass
class PgdObservation(MadObservation):
    """Projected gradient ascent: `restarts` searches of `steps` steps each, all but the first from anywhere in the box.

    Example:
        >>> PgdObservation(epsilon=0.1, steps=10, restarts=2).strength
        0.1
    """

    steps: int = 10
    restarts: int = 4
    """Number of searches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.restarts >= 1, "restarts", "at least 1", self.restarts)

    def _searches(self) -> tuple[int, int]:
        return self.restarts, self.steps


def _wide(lanes: np.ndarray, array: np.ndarray) -> np.ndarray:
    return lanes.reshape(-1, *[1] * (array.ndim - 1))
