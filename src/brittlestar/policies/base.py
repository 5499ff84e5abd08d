"""The base class of policies: `predict` on a batch of lanes, with the signature of Stable-Baselines3."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from brittlestar.checkpoints.spaces_text import Space
from brittlestar.envs.batches import entries
from brittlestar.errors import UserError
from brittlestar.randomness import LaneDraws

Observation = Any
"""An array with a leading lane axis, or a dict of such arrays."""

Moments = tuple[np.ndarray, np.ndarray]
"""Mean and standard deviation."""

Prediction = tuple[np.ndarray, Any]
"""Actions with a leading lane axis, and the state to pass to the next `predict`."""

Masks = np.ndarray | None
"""`(lanes, choices)`, true where a choice is valid in the true state; None if the environment has no masks."""

Starts = np.ndarray | None
"""`(lanes,)`, true where an episode starts; None means that no episode starts."""


class GradientError(UserError):
    """The policy has no gradients with respect to the observation."""


@dataclass(frozen=True)
class Answer:
    """The deterministic outputs of a policy and their gradient function."""

    outputs: np.ndarray
    """`(lanes, n)`: the actions of a Box, flattened; for choices, the scores that decide them."""
    pull: Callable[[np.ndarray], dict[str, np.ndarray]]
    """Takes `dL/doutputs`, `(lanes, n)`, and returns `dL/dobservation` by entry, without those that are ignored."""


@dataclass(frozen=True)
class RecordedReturn:
    """The return per episode that a policy's author measured; a bare mean counts as one episode."""

    mean: float
    std: float = 0.0
    episodes: int = 1
    evaluations: int = 1
    """How many evaluations it pools."""
    lowest: float | None = None
    """Lowest mean of an evaluation; None for a single one."""
    highest: float | None = None
    first_step: int | None = None
    """Training step of the first evaluation; None if it is not known."""
    last_step: int | None = None

    @classmethod
    def of(cls, returns: np.ndarray, steps: np.ndarray | None = None) -> Self:
        """Summarises measured returns, of one evaluation or `(evaluations, episodes)`; `steps` are those of training.

        Example:
            >>> RecordedReturn.of(np.array([1.0, 2.0, 3.0])).std
            1.0
            >>> pooled = RecordedReturn.of(np.array([[1.0, 2.0], [4.0, 5.0]]), np.array([900, 1000]))
            >>> pooled.mean, pooled.episodes, pooled.evaluations, pooled.lowest, pooled.highest, pooled.last_step
            (3.0, 4, 2, 1.5, 4.5, 1000)
        """
        values = np.asarray(returns, dtype=np.float64)
        rows = values.reshape(len(values), -1) if values.ndim > 1 else values.reshape(1, -1)
        std = float(rows.std(ddof=1)) if rows.size > 1 else 0.0
        means = rows.mean(axis=1)
        range_of_means = (float(means.min()), float(means.max())) if len(rows) > 1 else (None, None)
        first_and_last = (None, None) if steps is None else (int(steps[0]), int(steps[-1]))
        return cls(float(rows.mean()), std, rows.size, len(rows), *range_of_means, *first_and_last)


class Policy:
    """Maps a batch of observations to a batch of actions.

    The engine calls `bind` once per cell, then `predict` once per step for all lanes. The action of a lane must
    depend on the observation and the state of that lane only.
    """

    @property
    def wants_masks(self) -> bool:
        """Whether `predict` also takes `action_masks`, see `Masks`."""
        return False

    @property
    def notes(self) -> list[str]:
        """What a reader of the results should know about how the policy acts here; complete after a rollout."""
        return []

    @property
    def remote(self) -> dict[str, Any] | None:
        """Facts about a policy that runs elsewhere (address, metadata, latency) after a rollout; None for any other."""
        return None

    def outside(self) -> dict[str, str]:
        """Returns what its actions depend on beside config and files, see `outside_identity` in `cells.job`."""
        return {}

    def learn_time_limit(self, steps: int | None) -> None:
        """Takes the registered time limit of the environment before `bind`; None without one."""

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Checks the spaces and prepares `predict`; `draws` is the random stream of the policy."""

    def seed_global_draws(self) -> bool:
        """Seeds draws from global random generators from now on; returns whether that changes anything."""
        return False

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        """Returns flat moments of each entry that the policy normalises; the key of a plain observation is `""`."""
        return {}

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, deterministic: bool = True
    ) -> Prediction:
        """Returns the actions and the next state."""
        raise NotImplementedError

    def note_actions(self, actions: np.ndarray, state: Any) -> None:
        """Notes in the state of the last `predict` that other actions were taken than it returned, as in DAgger."""

    def log_probability(
        self, actions: np.ndarray, observation: Observation, state: Any = None, episode_start: Starts = None
    ) -> np.ndarray | None:
        """Returns the log probability (density, for a Box) of taking these actions, `(lanes,)`; changes no state.

        None means that the policy has no distribution: it always takes one action.
        """
        return None

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        """Returns the deterministic outputs and their gradient function, or raises `GradientError`."""
        raise GradientError(
            f"{type(self).__name__} has no gradients: networks have them (`policy=sb3`, `zoo_folder`, `cleanrl`, "
            "`torchscript`), and `perturbation.gradient=numeric` estimates those of continuous actions"
        )


def count_lanes(observation: Observation) -> int:
    """Returns the length of the lane axis of an observation.

    Example:
        >>> count_lanes({"observation": np.zeros((5, 10)), "desired_goal": np.zeros((5, 3))})
        5
    """
    return len(next(iter(entries(observation).values())))


def takes_masks(predict: Callable[..., Any]) -> bool:
    """Returns whether a `predict` takes `action_masks`.

    Example:
        >>> takes_masks(lambda observation, action_masks=None: None), takes_masks(max)
        (True, False)
    """
    try:
        return "action_masks" in inspect.signature(predict).parameters
    except (TypeError, ValueError):  # Some callables in C have no signature.
        return False


class StatelessPolicy(Policy):
    """A policy without memory: a subclass implements `act`.

    Example:
        >>> class Halve(StatelessPolicy):
        ...     def act(self, observation):
        ...         return observation / 2
        >>> Halve().predict(np.ones((2, 1)))[0].tolist()
        [[0.5], [0.5]]
    """

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, deterministic: bool = True
    ) -> Prediction:
        return self.act(observation), state

    def act(self, observation: Observation) -> np.ndarray:
        """Returns the actions, lane axis first."""
        raise NotImplementedError


class DelegatingPolicy(Policy):
    """A policy that forwards every call to another one: a subclass sets `_policy`, and `_own_notes` if it has some."""

    _policy: Policy
    _own_notes: Sequence[str] = ()

    @property
    def wants_masks(self) -> bool:
        return self._policy.wants_masks

    @property
    def notes(self) -> list[str]:
        return [*self._own_notes, *self._policy.notes]

    @property
    def remote(self) -> dict[str, Any] | None:
        return self._policy.remote

    def outside(self) -> dict[str, str]:
        return self._policy.outside()

    def learn_time_limit(self, steps: int | None) -> None:
        self._policy.learn_time_limit(steps)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._policy.bind(observation_space, action_space, draws)

    def seed_global_draws(self) -> bool:
        return self._policy.seed_global_draws()

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        return self._policy.statistics_of(observation_space)

    def predict(self, *args: Any, **kwargs: Any) -> Prediction:
        return self._policy.predict(*args, **kwargs)

    def log_probability(self, *args: Any, **kwargs: Any) -> np.ndarray | None:
        return self._policy.log_probability(*args, **kwargs)

    def differentiate(self, *args: Any, **kwargs: Any) -> Answer:
        return self._policy.differentiate(*args, **kwargs)
