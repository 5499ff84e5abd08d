"""State that a stressor carries from one episode to the next, with the same result for any number of lanes."""

from collections.abc import Callable

import numpy as np

from brittlestar.perturbations.step import Step
from brittlestar.randomness import LaneDraws

Advance = Callable[[float, float, LaneDraws, int, int], float]
"""`(state, level, draws, episode, steps)` to the state after that many steps of an episode."""


class CarriedState:
    """A number per lane that stressed episodes pass on in episode order, as if they ran one after the other.

    Lanes run episodes side by side, so an episode starts before the previous one ends. Its start is predicted: the
    random numbers are known in advance, and only the lengths of episodes are estimated. Episodes with a wrong start run
    again until every start equals the end of the previous episode, which is exactly the result of one lane. Every pass
    corrects at least the first wrong episode. If all lengths are as predicted, one pass is enough.

    Args:
        lanes: number of lanes.
        carry: whether episodes pass the state on; otherwise every episode starts at 0.
        advance: predicts the end of an episode.
    """

    def __init__(self, lanes: int, carry: bool, advance: Advance) -> None:
        self.state = np.zeros(lanes)
        self._carry, self._advance = carry, advance
        self._levels, self._usual_length = np.ones(0), 0
        self._running, self._moved = np.full(lanes, -1), np.zeros(lanes, dtype=np.int64)
        self._predicted = 0
        """Number of episodes whose start is predicted from all lengths that are known so far."""
        self._starts, self._used, self._ends = np.zeros((3, 0))
        self._lengths, self._done = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        self._draws: LaneDraws | None = None

    def plan(self, levels: np.ndarray, length: float) -> None:
        """Takes the level of each planned episode and the usual length of an episode in steps, for predictions."""
        self._levels, self._usual_length = levels, int(length)

    def begin(self, step: Step) -> None:
        """Sets the state of lanes whose episode starts; call it before the state is used in a step."""
        if not step.first.any():
            return
        if not self._carry:
            self.state[step.first] = 0.0
            return
        # An idle lane is always at the start of the same episode.
        starting = np.flatnonzero(step.first & (self._running != step.draws.episodes)).tolist()
        self._draws = step.draws
        self._grow(int(step.draws.episodes.max()) + 1)
        for lane in starting:
            self._end(lane)
        for lane in starting:
            episode = int(step.draws.episodes[lane])
            self._predict_starts(episode)
            self._running[lane], self._done[episode] = episode, False
            self.state[lane] = self._used[episode] = self._starts[episode]

    def move(self, state: np.ndarray, step: Step) -> None:
        """Takes the state of every stressed lane after a step; other lanes keep theirs."""
        stressed = step.level > 0
        self.state = np.where(stressed, state, self.state)
        self._moved += stressed

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        """Returns the stressed episodes whose start differs from the end of the previous one."""
        if not len(self._starts):
            return []
        for lane in range(len(self._running)):
            self._end(lane)
        self._predict_starts(min(episodes, len(self._starts)) - 1)
        wrong = (self._lengths[:episodes] > 0) & (self._used[:episodes] != self._starts[:episodes])
        return [int(episode) for episode in np.flatnonzero(wrong)]

    def _end(self, lane: int) -> None:
        """Stores the end of an episode; if it differs from the prediction, all later predictions are void."""
        episode = int(self._running[lane])
        self._running[lane] = -1
        if episode >= 0:
            self._ends[episode], self._lengths[episode], self._done[episode] = self.state[lane], self._moved[lane], True
            if episode + 1 < self._predicted and self._starts[episode + 1] != self._end_of(episode):
                self._predicted = episode + 1
        self._moved[lane] = 0

    def _predict_starts(self, episode: int) -> None:
        for following in range(max(self._predicted, 1), episode + 1):
            self._starts[following] = self._end_of(following - 1)
        self._predicted = max(self._predicted, episode + 1)

    def _end_of(self, episode: int) -> float:
        """Returns the end of an episode from its right start, as it was or as predicted."""
        start, level, steps = float(self._starts[episode]), 1.0, self._usual_length
        if self._done[episode]:
            steps = int(self._lengths[episode])
            if self._used[episode] == start:
                return float(self._ends[episode])
        if episode < len(self._levels):
            level = float(self._levels[episode])
        return start if level <= 0 or self._draws is None else self._advance(start, level, self._draws, episode, steps)

    def _grow(self, episodes: int) -> None:
        missing = episodes - len(self._starts)
        if missing <= 0:
            return
        self._starts, self._used, self._ends, self._lengths, self._done = (
            np.concatenate([values, np.zeros(missing + len(values), dtype=values.dtype)])
            for values in (self._starts, self._used, self._ends, self._lengths, self._done)
        )
