"""Hindsight replay whose batches cost little, and hold a fixed share of demonstrations."""

from typing import Any

import numpy as np
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples

_TRIES = 50
"""Draws of rows before the buffer is searched for finished episodes."""


class GoalReplay(HerReplayBuffer):
    """A `HerReplayBuffer` that draws rows until their episodes are finished, where the library searches all rows.

    The first `demonstrations` rows of every environment may be those of a demonstrator. Then `share` of a batch comes
    from them, as in RLPD (Ball et al. 2023), and the rest from the learner's own episodes.
    """

    demonstrations: int = 0
    """Rows of each environment that hold demonstrations."""
    share: float = 0.0
    """Share of a batch that is drawn from them, once the learner has episodes of its own."""

    def sample(self, batch_size: int, env: Any = None) -> DictReplayBufferSamples:  # type: ignore[override]
        """Returns a batch of transitions, of which `her_ratio` have a goal that their episode reaches later."""
        rows, lanes = self._draw(batch_size)
        seen, following = ({key: part[rows, lanes] for key, part in parts.items()} for parts in self._parts())
        virtual = np.random.random(batch_size) < self.her_ratio  # noqa: NPY002 (the library seeds this generator)
        goals = np.where(virtual[:, None], self._sample_goals(rows, lanes), seen["desired_goal"])
        seen["desired_goal"] = following["desired_goal"] = goals
        rewards = np.where(virtual, self._rewards(following["achieved_goal"], goals), self.rewards[rows, lanes])
        ends = self.dones[rows, lanes] * (1 - self.timeouts[rows, lanes])
        return DictReplayBufferSamples(
            observations=self._tensors(seen, env),
            actions=self.to_torch(self.actions[rows, lanes]),
            next_observations=self._tensors(following, env),
            dones=self.to_torch(ends).reshape(-1, 1),
            rewards=self.to_torch(self._normalize_reward(rewards.astype(np.float32).reshape(-1, 1), env)),
        )

    def _parts(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        return self.observations, self.next_observations

    def _tensors(self, rows: dict[str, np.ndarray], env: Any) -> dict[str, Any]:
        scaled: Any = self._normalize_obs(rows, env)
        return {key: self.to_torch(part.astype(np.float32, copy=False)) for key, part in scaled.items()}

    def _rewards(self, achieved: np.ndarray, goals: np.ndarray) -> np.ndarray:
        assert self.env is not None
        # One dict for all: new ones in every update would wake the garbage collector.
        infos: list[dict[str, Any]] = [{}] * len(goals)
        return np.asarray(self.env.env_method("compute_reward", achieved, goals, infos, indices=[0])[0])

    def _draw(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns rows and environments of transitions in finished episodes."""
        size = self.size()
        has_own = size > self.demonstrations and bool((self.ep_length[self.demonstrations] > 0).any())
        taught = (round(count * self.share) if has_own else count) if self.demonstrations else 0
        parts = [self._draw_between(0, min(size, self.demonstrations), taught)] if taught else []
        if taught < count:
            parts.append(self._draw_between(self.demonstrations, size, count - taught))
        rows, lanes = (np.concatenate(values) for values in zip(*parts, strict=True))
        return rows, lanes

    def _draw_between(self, low: int, high: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        rows, lanes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        missing = np.arange(count)
        for _ in range(_TRIES):
            rows[missing] = np.random.randint(low, high, size=len(missing))  # noqa: NPY002
            lanes[missing] = np.random.randint(self.n_envs, size=len(missing))  # noqa: NPY002
            missing = missing[self.ep_length[rows[missing], lanes[missing]] == 0]
            if not len(missing):
                return rows, lanes
        finished = np.argwhere(self.ep_length[low:high] > 0)
        if not len(finished):
            raise RuntimeError("no episode has ended yet: `learning_starts` must be longer than an episode")
        picked = finished[np.random.randint(len(finished), size=len(missing))]  # noqa: NPY002
        rows[missing], lanes[missing] = low + picked[:, 0], picked[:, 1]
        return rows, lanes
