"""Records reward over time: the cumulative reward of all episodes at some steps, in a few numbers per step."""

import numpy as np

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
REWARD_COLUMNS = ("step", "mean", *(f"q{100 * share:02.0f}" for share in QUANTILES))
"""Columns of the record: a step, and mean and quantiles of the cumulative reward after it, over episodes."""
MOST_POINTS = 128
"""Steps of a record. Longer episodes have steps at equal distances, a power of two."""
_FEWEST_POINTS = 8
_MOST_NUMBERS = 2**24
"""Numbers that are held at once, 64 MB: cells of more than 100,000 episodes have fewer steps."""
_LONGEST = 2048
"""A time limit above this is rarely reached: the distance of the steps grows with the episodes instead."""


class RewardRecorder:
    """Holds the cumulative reward of every episode at up to `MOST_POINTS` steps, with one write per step.

    An episode that has ended keeps its return. So the last mean of a record is the mean return.

    Example:
        >>> recorder = RewardRecorder(episodes=1, lanes=1, max_steps=2)
        >>> recorder.begin(lane=0, episode=0)
        >>> for step, total in ((1, -1.0), (2, -3.0)):
        ...     recorder.update(np.array([step]), np.array([total]))
        >>> recorder.summary(np.array([2]), np.array([-3.0]), np.array([0]))[0, :, :2].tolist()
        [[1.0, -1.0], [2.0, -3.0]]
    """

    def __init__(self, episodes: int, lanes: int, max_steps: int | None) -> None:
        most = max(_FEWEST_POINTS, MOST_POINTS >> (episodes * MOST_POINTS // _MOST_NUMBERS).bit_length())
        limit = max_steps if max_steps is not None and max_steps <= _LONGEST else most
        self._shift = ((limit - 1) // most).bit_length()
        self._points = ((limit - 1) >> self._shift) + 1
        # One row more, for lanes without an episode.
        self._totals = np.zeros((episodes + 1) * self._points, dtype=np.float32)
        self._rows, self._longest = np.full(lanes, episodes), 0
        self._place()

    def begin(self, lane: int, episode: int) -> None:
        """Starts an episode in a lane; one behind the last is none."""
        self._rows[lane] = episode
        self._before[lane] = (episode * self._points << self._shift) - 1

    def update(self, steps: np.ndarray, totals: np.ndarray) -> None:
        """Takes the steps of each lane so far, and its cumulative reward."""
        self._longest += 1
        if self._longest > self._points << self._shift:
            self._make_room(int(steps.max()))
        # The last step that a point covers stays.
        self._totals[(self._before + steps) >> self._shift] = totals

    def summary(self, lengths: np.ndarray, returns: np.ndarray, phases: np.ndarray) -> np.ndarray:
        """Returns the record `(phases, steps, REWARD_COLUMNS)` from the length, return and phase of each episode."""
        last = (lengths - 1) >> self._shift
        points = np.arange(last.max() + 1)
        totals = self._totals.reshape(-1, self._points)[:-1, : len(points)]
        totals = np.where(points >= last[:, None], returns[:, None].astype(np.float32), totals)
        steps = np.minimum((points + 1) << self._shift, lengths.max())
        members = [totals[phases == phase] for phase in range(int(phases.max()) + 1)]
        records = [
            [steps, part.mean(axis=0, dtype=np.float64), *np.quantile(part, QUANTILES, axis=0)] for part in members
        ]
        return np.array(records).transpose(0, 2, 1).astype(np.float32)

    def _make_room(self, longest: int) -> None:
        # It is an upper bound: episodes may have ended since.
        self._longest = longest
        if longest <= self._points << self._shift:
            return
        table = self._totals.reshape(-1, self._points)
        kept = np.zeros_like(table)
        kept[:, : self._points // 2] = table[:, 1::2]
        self._totals, self._shift = kept.ravel(), self._shift + 1
        self._place()

    def _place(self) -> None:
        """Sets how many steps come before the episode of each lane, if all episodes are as long as the record."""
        self._before = (self._rows * self._points << self._shift) - 1
