"""Records what a policy sees and does while it runs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from brittlestar.cells.env_choice import refuse_other_env
from brittlestar.checkpoints.spaces_text import Space
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan, Rows
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.batches import entries
from brittlestar.perturbations.context import Calibration
from brittlestar.policies.base import DelegatingPolicy, Observation, Policy, Prediction, Starts
from brittlestar.randomness import LaneDraws
from brittlestar.training.recordings import RecordedEpisode

RECORDED_SEEDS = 3 * 10**6
"""Added to the seed, for start states that no sweep has: a policy may be trained on a recording."""


class RecordingPolicy(DelegatingPolicy):
    """Acts as another policy, and holds what that policy saw and did in every episode until `take` returns it."""

    def __init__(self, policy: Policy, episodes: int) -> None:
        self._policy, self._episodes = policy, episodes

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Binds the policy, and forgets what was recorded, as in a calibration pass."""
        super().bind(observation_space, action_space, draws)
        self._draws, self._dtype = draws, action_space.dtype
        self._rows: dict[int, list[dict[str, np.ndarray]]] = {}
        self._next = 0

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, *args: Any, **kwargs: Any
    ) -> Prediction:
        """Records one step of every lane."""
        action, state = self._policy.predict(observation, state, episode_start, *args, **kwargs)
        taken, seen = np.asarray(action).astype(self._dtype), entries(observation)
        self._is_plain = not isinstance(observation, dict)
        for lane, episode in enumerate(self._draws.episodes.tolist()):
            # Lanes without an episode have the number behind the last.
            if episode < self._episodes:
                row = {key: array[lane].copy() for key, array in seen.items()}
                # An episode that runs again replaces its first run.
                earlier = [] if self._draws.steps[lane] == 0 else self._rows[episode]
                earlier.append(row | {"/action": taken[lane].copy()})
                self._rows[episode] = earlier
        return action, state

    def take(self, running: bool = True) -> list[RecordedEpisode]:
        """Returns the next episodes, in order: those that have ended, or all with `running` false."""
        ended = []
        active = set(self._draws.episodes.tolist()) if running else set()
        while self._next in self._rows and self._next not in active:
            rows = self._rows.pop(self._next)
            arrays = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
            actions = arrays.pop("/action")
            ended.append(RecordedEpisode(arrays[""] if self._is_plain else arrays, actions))
            self._next += 1
        return ended


def record_episodes(
    env: EnvSpec,
    parts: Parts,
    plan: Plan,
    keep: Callable[[RecordedEpisode], None],
    threads: int = 1,
    calibration: Calibration | None = None,
) -> Rows:
    """Runs the planned episodes, and passes each to `keep`, in order, without its rewards.

    Args:
        env: the environment.
        parts: the policy, and the parts around it.
        plan: episodes and seed.
        keep: takes an episode soon after its end.
        threads: how many threads step the environments.
        calibration: replaces the clean pass of the policy.
    """
    assert parts.policy is not None
    refuse_other_env(parts.policy, env.id)
    recorder = RecordingPolicy(parts.policy, plan.episodes)
    around = Parts(recorder, parts.perturbation, parts.mitigation, parts.schedule)

    def pass_on(done: int) -> None:
        # A perturbation may run episodes again.
        if parts.perturbation.is_identity:
            for episode in recorder.take():
                keep(episode)

    rows = run_episodes(env, around, plan, threads=threads, calibration=calibration, on_episode=pass_on)
    for episode in recorder.take(running=False):
        keep(episode)
    return rows


def record_policy(
    env: EnvSpec, policy: Policy, episodes: int, seed: int, threads: int = 1
) -> tuple[list[RecordedEpisode], Rows]:
    """Runs a policy without a perturbation; the same seed has the same start states for every policy."""
    kept: list[RecordedEpisode] = []
    plan = Plan(episodes, seed + RECORDED_SEEDS, record="trajectories")
    rows = record_episodes(env, Parts(policy), plan, kept.append, threads)
    lengths = rows.trajectories["lengths"]
    for episode, rewards in zip(kept, np.split(rows.trajectories["rewards"], np.cumsum(lengths)[:-1]), strict=True):
        episode.rewards = rewards
    return kept, rows
