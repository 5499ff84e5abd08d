"""A vote of the policy over noisy copies of the observation."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import PositiveInt
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.observations import MAIN_ENTRY, EntryKeys, Scale, check_kinds, chosen_entries
from brittlestar.perturbations.sensor_errors import GaussianObservation
from brittlestar.perturbations.step import Step
from brittlestar.policies.base import DelegatingPolicy, Observation, Policy, Prediction, Starts, count_lanes
from brittlestar.randomness import LaneDraws


@dataclass
class Ensemble(Mitigation):
    """Sends the vote of the policy over `copies` of the observation, each with its own noise `sigma * unit * N(0, 1)`.

    The vote is the mean or the median of continuous actions, and the most frequent one of discrete actions (the lowest
    of several). A recurrent policy has one state per copy. A stochastic policy draws the same numbers for all copies.

    Example:
        >>> from brittlestar.policies.base import StatelessPolicy
        >>> class Signs(StatelessPolicy):
        ...     def act(self, observation):
        ...         return np.sign(observation)
        >>> box, vote = spaces.Box(-9.0, 9.0, (1,)), Ensemble(sigma=1.0, copies=100)
        >>> vote.bind(box, box, lanes=2)
        >>> policy = vote.around(Signs(), LaneDraws(0, "mitigation", 2))
        >>> policy.bind(box, box, LaneDraws(0, "policy", 2))
        >>> policy.predict(np.array([[0.5], [9.0]]))[0].round(1).tolist()
        [[0.4], [1.0]]
    """

    sigma: float
    copies: PositiveInt = 8
    average: Literal["mean", "median"] = "mean"
    """`mean` or `median`, of continuous actions."""
    keys: EntryKeys = field(default_factory=lambda: [MAIN_ENTRY])
    """Entries of a dict observation that get noise."""
    scale: Scale = "absolute"
    """Unit of `sigma`: that of the observation (`absolute`), or standard deviations of each number from a clean pass
    (`std`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noise = GaussianObservation(sigma=self.sigma, keys=self.keys, scale=self.scale)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        check_kinds(self, chosen_entries(observation_space, self.keys))
        self.noise.bind(observation_space, action_space, lanes)
        continuous = isinstance(action_space, spaces.Box) and np.issubdtype(action_space.dtype, np.floating)
        self.vote = AVERAGES[self.average] if continuous else majority_action

    def prepare(self, context: Context) -> None:
        self.noise.prepare(context)

    def around(self, policy: Policy, draws: LaneDraws) -> Policy:
        return VotingPolicy(policy, self, draws)


class VotingPolicy(DelegatingPolicy):
    """Evaluates a policy on noisy copies of each observation and returns the vote; its state is one state per copy."""

    def __init__(self, policy: Policy, ensemble: Ensemble, draws: LaneDraws) -> None:
        self._policy, self._ensemble, self._draws = policy, ensemble, draws

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, draws: LaneDraws) -> None:
        super().bind(observation_space, action_space, draws)
        self._policy_draws = draws

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, *args: Any, **kwargs: Any
    ) -> Prediction:
        lanes = count_lanes(observation)
        step = Step(np.ones(lanes), np.zeros(lanes, dtype=bool), self._draws)
        actions, states = [], []
        # One call per copy, because a policy draws and keeps buffers for the number of lanes that it was bound with.
        for memory in state or [None] * self._ensemble.copies:
            self._policy_draws.at(self._policy_draws.episodes, self._policy_draws.steps)
            copy = self._ensemble.noise.perturb_observation(observation, step)
            action, memory = self._policy.predict(copy, memory, episode_start, *args, **kwargs)
            actions.append(np.array(action))
            states.append(memory)
        return self._ensemble.vote(np.stack(actions)), states


def mean_action(actions: np.ndarray) -> np.ndarray:
    """Returns the mean over the first axis; exactly the action if all are the same."""
    # Summed one by one, because the order of `np.sum` depends on the number of lanes.
    total = sum(action.astype(np.float64) - actions[0] for action in actions[1:])
    return np.asarray(actions[0] + total / len(actions)).astype(actions.dtype)


def median_action(actions: np.ndarray) -> np.ndarray:
    """Returns the median over the first axis."""
    return np.asarray(np.median(actions, axis=0)).astype(actions.dtype)


def majority_action(actions: np.ndarray) -> np.ndarray:
    """Returns the most frequent value over the first axis, the lowest one of several."""
    ordered = np.sort(actions, axis=0)
    votes = (ordered[:, None] == ordered[None]).sum(axis=1)
    return np.take_along_axis(ordered, votes.argmax(axis=0)[None], axis=0)[0]


AVERAGES = {"mean": mean_action, "median": median_action}
