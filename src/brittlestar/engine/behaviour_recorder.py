"""Records behaviour while lanes run: a few writes per step over all lanes, and one row per episode."""

import numpy as np

from brittlestar.engine.behaviour import Behaviour, Layout, describe_episode

_STEPS = 256


class BehaviourRecorder:
    """Behaviour of episodes that start and end at different times in different lanes.

    It holds the actions and rewards of the running episode of each lane, because sums are not enough: histograms are
    between the extremes of an episode, along its own principal components.
    """

    def __init__(self, layout: Layout, episodes: int, lanes: int, whole: bool = False) -> None:
        self._layout, self._lanes = layout, lanes
        self._rewards, self._seen = np.zeros((2, lanes * _STEPS))
        self._actions: np.ndarray = np.zeros((0, layout.size))
        self._running, self._length = np.zeros(lanes, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
        self._room, self._longest, self._stressed = _STEPS, 0, False
        self._place = np.arange(lanes) * _STEPS
        self._sums = np.zeros((2, lanes))
        self._whole: list[tuple[np.ndarray, ...]] | None = [()] * episodes if whole else None
        self.behaviour = Behaviour(layout, np.full((episodes, len(layout.columns)), np.nan))

    def begin(self, lane: int) -> None:
        """Starts an episode in a lane; lanes without one are not recorded."""
        self._running[lane], self._length[lane] = 1, 0
        self._sums[:, lane] = 0.0

    def update(self, actions: np.ndarray, rewards: np.ndarray, seen_rewards: np.ndarray) -> None:
        """Takes one step of every lane: the commanded actions, the true rewards and the stressed ones."""
        if not len(self._actions):
            self._actions = np.zeros((self._lanes * self._room, self._layout.size), dtype=actions.dtype)
        if self._longest == self._room:
            self._make_room()
        at = self._place + self._length
        self._actions[at] = actions.reshape(self._lanes, -1)
        self._rewards[at] = rewards
        if seen_rewards is not rewards and not self._stressed:
            # Until now no reward was perturbed, so both have the same past.
            self._stressed, self._seen = True, self._rewards.copy()
        if self._stressed:
            self._seen[at] = seen_rewards
        self._length += self._running
        self._longest += 1

    def account(self, violation: np.ndarray | float, regret: np.ndarray | float) -> None:
        """Takes what a stressor reports about its step, per lane; only the compat scorings use it."""
        self._sums[0] += violation
        self._sums[1] += regret

    def keep(self, lane: int, episode: int) -> None:
        """Ends the episode of a lane, and writes its row."""
        steps = slice(int(self._place[lane]), int(self._place[lane] + self._length[lane]))
        rewards = self._rewards[steps]
        seen = self._seen[steps] if self._stressed else rewards
        sums = float(self._sums[0, lane]), float(self._sums[1, lane])
        self.behaviour.values[episode] = describe_episode(self._layout, self._actions[steps], rewards, seen, sums)
        if self._whole is not None:
            self._whole[episode] = self._actions[steps].copy(), rewards.copy(), seen.copy()
        self._running[lane] = self._length[lane] = 0

    def trajectories(self) -> dict[str, np.ndarray]:
        """Returns actions, true and stressed rewards of all episodes in order, and their lengths; {} if not `whole`."""
        if self._whole is None:
            return {}
        arrays = map(np.concatenate, zip(*self._whole, strict=True))
        columns = dict(zip(("actions", "rewards", "seen_rewards"), arrays, strict=True))
        return columns | {"lengths": np.array([len(rewards) for _, rewards, _ in self._whole])}

    def _make_room(self) -> None:
        # It is an upper bound: episodes may have ended since.
        self._longest = int(self._length.max())
        if self._longest < self._room:
            return
        self._actions, self._rewards, self._seen = (
            _widened(array, self._lanes) for array in (self._actions, self._rewards, self._seen)
        )
        self._room *= 2
        self._place = np.arange(self._lanes) * self._room


def _widened(array: np.ndarray, lanes: int) -> np.ndarray:
    table = array.reshape(lanes, -1, *array.shape[1:])
    return np.concatenate([table, np.zeros_like(table)], axis=1).reshape(-1, *array.shape[1:])
