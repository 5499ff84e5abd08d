"""Noise on the goal that a policy has to reach."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import NonNegative, UserError
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.observations import EntryKeys, ScaledObservation
from brittlestar.perturbations.step import Step

GOAL, ACHIEVED = "desired_goal", "achieved_goal"


@dataclass
class GoalNoise(ScaledObservation):
    """Shows `g + level * sigma * unit * N(0, 1)` in place of the goal `g`; success uses the true goal.

    Example:
        >>> noise, box, zeros = GoalNoise(sigma=0.1), spaces.Box(-1, 1, (3,)), np.zeros((2, 3))
        >>> noise.bind(spaces.Dict({"observation": box, "desired_goal": box}), box, lanes=2)
        >>> seen = noise.perturb_observation({"observation": zeros, "desired_goal": zeros}, Step.full(2))
        >>> bool(seen["desired_goal"].all()), bool(seen["observation"].any())
        (True, False)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative
    per: Literal["step", "episode"] = "step"
    """`step`: a new error at every step; `episode`: one error for the whole episode."""
    reward: Literal["truth", "observed"] = "truth"
    """Goal that a learner is rewarded for: the true one (`truth`) or the shown one (`observed`)."""
    keys: EntryKeys = field(default_factory=lambda: [GOAL], kw_only=True)
    """Entries of the observation that are goals."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reward == "observed" and GOAL not in self.keys:
            raise UserError(f"`reward: observed` needs `{GOAL}` among the `keys`, got {self.keys}")

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        if not isinstance(observation_space, spaces.Dict):
            raise UserError(f"GoalNoise needs a dict observation with a goal, got {observation_space}")
        super().bind(observation_space, action_space, lanes)

    def prepare(self, context: Context) -> None:
        super().prepare(context)
        self._compute_reward = context.compute_reward
        if self.reward == "observed" and context.compute_reward is None:
            raise UserError("`reward: observed` needs an environment with `compute_reward`, and env.backend=gymnasium")

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        draw = step.draws.normal(array.shape[1:], per_episode=self.per == "episode")
        self.memory[step.key] = array + step.of(self, "sigma", array) * self.unit(step) * draw
        return self.memory[step.key]

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        goal, true = self.memory.get(GOAL), step.observation
        if self.reward == "truth" or goal is None or self._compute_reward is None:
            return reward
        observed = self._compute_reward(true[ACHIEVED], goal, {})
        return np.where((goal != true[GOAL]).any(axis=1), observed, reward).astype(reward.dtype)
