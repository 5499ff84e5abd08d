"""Adversarial observations: errors of limited size that change the outputs of the policy most."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import NonNegative, Positive, PositiveInt, UserError
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.objectives import distance, margin
from brittlestar.perturbations.observations import ScaledObservation, entry_name
from brittlestar.perturbations.sensor_errors import draw_start, sign
from brittlestar.perturbations.step import Step, for_lanes
from brittlestar.policies.base import Answer, GradientError, Policy
from brittlestar.policies.gradients import by_differences

OFFSET = 0.1
"""Distance of the first start from the truth, as a fraction of the radius; at the truth the gradient is 0."""

Arrays = dict[str, np.ndarray]


@dataclass
class AdversarialObservation(ScaledObservation):
    """Shows `x + d` with `|d| <= r = level * epsilon * unit` in every number, such that the objective `D(d)` is large.

    - `D(d) = |pi(x + d) - pi(x)|^2` for actions in a Box; `pi` is the deterministic policy with its present memory.
    - For choices, `D` is the margin of the best other choice over the clean one; above 0 the choice changes.

    A search starts at a random point of the box, the first search within `OFFSET * r`. Its first step goes to the
    corner `r sign(D')`. Further steps are `d <- clip(d + step_size * r * sign(D'), -r, r)`. Each lane shows the point
    with the largest `D` after the start. So more steps and more starts never decrease `D`.

    A policy with memory remembers what it was shown here, without later changes by other parts.
    """

    strength_field: ClassVar[str] = "epsilon"
    steps = restarts = 1
    epsilon: NonNegative
    gradient: Literal["auto", "exact", "numeric"] = field(default="auto", kw_only=True)
    """`exact`: from the network; `numeric`: by finite differences of continuous actions, with two queries per observed
    number; `auto`: exact if the policy has gradients, else numeric."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._policy: Policy | None = None

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        name, continuous = type(self).__name__, isinstance(action_space, spaces.Box)
        for key, space in self.touched(observation_space):
            if not np.issubdtype(space.dtype, np.floating):
                raise UserError(f"{name} needs floating-point observations, {entry_name(key)} holds {space.dtype}")
        if self.gradient == "numeric" and not continuous:
            raise UserError(f"{name}: `gradient: numeric` needs actions in a Box, got {action_space}; use `exact`")
        self._objective = distance if continuous else margin(action_space)

    def prepare(self, context: Context) -> None:
        super().prepare(context)
        self._policy, self._state, self._numeric = context.policy, None, self.gradient == "numeric"
        if not self.is_identity:
            self._attacked()

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        if self.is_identity:
            return observation
        keys = self.keys if isinstance(observation, dict) else [""]
        radius = {key: self._radius(observation[key] if key else observation, key, step) for key in keys}
        perturbed = observation
        if any(reach.any() for reach in radius.values()):
            perturbed = self._apply(observation, self._search(observation, radius, step), step)
        self._state = self._attacked().predict(perturbed, self._state, step.first)[1]
        return perturbed

    def _attacked(self) -> Policy:
        if self._policy is None:
            raise UserError(f"{type(self).__name__} needs the policy that acts, which a loop of your own does not pass")
        return self._policy

    def _radius(self, array: np.ndarray, key: str, step: Step) -> np.ndarray:
        step.key = key
        return np.broadcast_to(step.of(self, "epsilon", array) * self.unit(step), array.shape)

    def _search(self, observation: Any, radius: Arrays, step: Step) -> Arrays:
        clean = self._ask(observation, radius, step).outputs.astype(np.float64)
        best, height = radius, np.full(len(clean), -np.inf)
        for name in ("steps", "restarts"):
            if name in step.scheduled:
                raise UserError(
                    f"`stress_schedule.parameter` cannot be `{name}`: an attack needs a whole number of them"
                )
        for search in range(self.restarts):
            start = {key: draw_start(reach, step) for key, reach in radius.items()}
            moved = {key: (OFFSET if search == 0 else 1.0) * reach * start[key] for key, reach in radius.items()}
            _, pull = self._look(observation, moved, clean, radius, step)
            for turn in range(self.steps):
                signs = self._signs(pull(), observation, start, step)
                for key, reach in radius.items():
                    # Twice the radius reaches a corner from any point. Where the gradient is 0, the sign of the start
                    # decides, because the other slopes hold at the start.
                    way = signs[key] if turn else np.where(signs[key] == 0, sign(start[key]), signs[key])
                    stride = step.of(self, "step_size", reach) if turn else 2.0
                    moved[key] = np.clip(moved[key] + stride * reach * way, -reach, reach)
                value, pull = self._look(observation, moved, clean, radius, step)
                better, height = value > height, np.maximum(value, height)
                best = {key: np.where(for_lanes(better, d), d, best[key]) for key, d in moved.items()}
        return best

    def _look(
        self, observation: Any, moved: Arrays, clean: np.ndarray, radius: Arrays, step: Step
    ) -> tuple[np.ndarray, Callable[[], Arrays]]:
        answer = self._ask(self._apply(observation, moved, step), radius, step)
        value, slope = self._objective(answer.outputs.astype(np.float64), clean)
        return value, lambda: answer.pull(slope)

    def _ask(self, observation: Any, radius: Arrays, step: Step) -> Answer:
        if not self._numeric:
            try:
                return self._attacked().differentiate(observation, self._state, step.first)
            except GradientError:
                if self.gradient == "exact" or self._objective is not distance:
                    raise
                self._numeric = True
        return by_differences(self._attacked(), observation, self._state, step.first, radius)

    def _apply(self, observation: Any, moved: Arrays, step: Step) -> Any:
        if not isinstance(observation, dict):
            return (observation + moved[""]).astype(observation.dtype)
        perturbed = observation | {
            key: (observation[key] + d).astype(observation[key].dtype) for key, d in moved.items()
        }
        return self._without_leaks(observation, perturbed, step) if self.leak_free else perturbed

    def _signs(self, gradient: Arrays, observation: Any, start: Arrays, step: Step) -> Arrays:
        """Returns the sign of the gradient at every number."""
        if self.leak_free and isinstance(observation, dict):
            gradient = self._with_leaks(gradient, observation, step.first)
        return {key: np.sign(gradient.get(key, np.zeros_like(place))) for key, place in start.items()}

    def _with_leaks(self, gradient: Arrays, true: Arrays, first: np.ndarray) -> Arrays:
        """Adds the gradient of entries that repeat a perturbed one to that of the repeated numbers."""
        total = {key: slope.astype(np.float64) for key, slope in gradient.items()}
        for key, touched, lanes, columns in self._repeats(true, first):
            if key in gradient:
                slopes = total.setdefault(touched, np.zeros(true[touched].shape))
                slopes[lanes[:, None], columns] += gradient[key][lanes]
        return total


@dataclass
class FgsmObservation(AdversarialObservation):
    """Fast gradient sign method, one step: `x + r sign(D'(d_0))` with a random `|d_0| <= OFFSET * r`.

    Example:
        >>> from brittlestar.perturbations.context import Context
        >>> from brittlestar.policies import MlpPolicy
        >>> attack = FgsmObservation(epsilon=0.1)
        >>> attack.bind(spaces.Box(-1.0, 1.0, (2,)), spaces.Box(-1.0, 1.0, (1,)), lanes=1)
        >>> attack.prepare(Context(MlpPolicy([(np.array([[2.0], [-1.0]]), np.zeros(1))])))
        >>> moved = attack.perturb_observation(np.zeros((1, 2)), Step.full())
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

    steps: PositiveInt = 5
    step_size: Positive = 0.5
    """Length of all steps but the first, as a fraction of the radius."""


@dataclass
class PgdObservation(MadObservation):
    """Projected gradient ascent: `restarts` searches of `steps` steps each; later ones start anywhere in the box.

    Example:
        >>> PgdObservation(epsilon=0.1, steps=10, restarts=2).strength
        0.1
    """

    steps: int = 10
    restarts: PositiveInt = 4
    """Number of searches."""
