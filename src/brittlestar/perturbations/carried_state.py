"""What a stressor carries from one episode to the next, the same for any number of lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brittlestar.errors import require_choice
from brittlestar.perturbations.base import Step
from brittlestar.randomness import LaneDraws

CARRIES = ("shock", "episode")

Advance = Callable[[float, float, LaneDraws, int, int], float]
"""`(state, level, draws, episode, steps)` to the state after so many steps of an episode."""


class CarriedState:
    """A number per lane that stressed episodes hand on in episode order, as if they ran one after the other.

    Side by side, an episode starts before the one before it has ended. So its start is foretold: the numbers drawn
    are known beforehand, only lengths are guessed. Episodes that started elsewhere run again until no start differs
    from the end before it. That is the result of one lane, exactly: every pass settles at least the first wrong
    episode. Where all lengths are as foretold, one pass does.

    Args:
        lanes: how many.
        carry: whether it is handed on; else every episode starts at 0.
        advance: foretells an end.
    """

    def __init__(self, lanes: int, carry: bool, advance: Advance) -> None:
        self.state = np.zeros(lanes)
        self._carry, self._advance = carry, advance
        self._levels, self._usual = np.ones(0), 0
        self._running, self._moved = np.full(lanes, -1), np.zeros(lanes, dtype=np.int64)
        self._known = 0
        """How many starts are foretold by all that is known of the lengths."""
        self._starts, self._used, self._ends = np.zeros((3, 0))
        self._lengths, self._done = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        self._draws: LaneDraws | None = None

    def expect(self, levels: np.ndarray, length: float) -> None:
        """Takes what is foretold from: the level of each planned episode, and how many steps one usually has."""
        self._levels, self._usual = levels, int(length)

    def begin(self, step: Step) -> None:
        """Sets the state of lanes whose episode starts; call it before the state is used in a step."""
        if not step.first.any():
            return
        if not self._carry:
            self.state[step.first] = 0.0
            return
        # Lanes without an episode stand at the start of one for ever.
        starting = np.flatnonzero(step.first & (self._running != step.draws.episodes)).tolist()
        self._draws = step.draws
        self._reach(int(step.draws.episodes.max()) + 1)
        for lane in starting:
            self._end(lane)
        for lane in starting:
            episode = int(step.draws.episodes[lane])
            self._foretell(episode)
            self._running[lane], self._done[episode] = episode, False
            self.state[lane] = self._used[episode] = self._starts[episode]

    def move(self, state: np.ndarray, step: Step) -> None:
        """Takes the state of every lane after a step; lanes without stress keep theirs."""
        stressed = step.level > 0
        self.state = np.where(stressed, state, self.state)
        self._moved += stressed

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        """Returns which stressed episodes started from another state than the one before them left."""
        if not len(self._starts):
            return []
        for lane in range(len(self._running)):
            self._end(lane)
        self._foretell(min(episodes, len(self._starts)) - 1)
        wrong = (self._lengths[:episodes] > 0) & (self._used[:episodes] != self._starts[:episodes])
        return [int(episode) for episode in np.flatnonzero(wrong)]

    def _end(self, lane: int) -> None:
        """Notes how an episode ended; if elsewhere than foretold, so did all that follow."""
        episode = int(self._running[lane])
        self._running[lane] = -1
        if episode >= 0:
            self._ends[episode], self._lengths[episode], self._done[episode] = self.state[lane], self._moved[lane], True
            if episode + 1 < self._known and self._starts[episode + 1] != self._end_of(episode):
                self._known = episode + 1
        self._moved[lane] = 0

    def _foretell(self, episode: int) -> None:
        for each in range(max(self._known, 1), episode + 1):
            self._starts[each] = self._end_of(each - 1)
        self._known = max(self._known, episode + 1)

    def _end_of(self, episode: int) -> float:
        """Returns the end of an episode from its right start: as it was, or as it will probably be."""
        start, level, steps = float(self._starts[episode]), 1.0, self._usual
        if self._done[episode]:
            steps = int(self._lengths[episode])
            if self._used[episode] == start:
                return float(self._ends[episode])
        if episode < len(self._levels):
            level = float(self._levels[episode])
        return start if level <= 0 or self._draws is None else self._advance(start, level, self._draws, episode, steps)

    def _reach(self, episodes: int) -> None:
        missing = episodes - len(self._starts)
        if missing <= 0:
            return
        self._starts, self._used, self._ends, self._lengths, self._done = (
            np.concatenate([known, np.zeros(missing + len(known), dtype=known.dtype)])
            for known in (self._starts, self._used, self._ends, self._lengths, self._done)
        )


def check_carry(carry: str | None, published: bool) -> str:
    """Returns where a state goes, or refuses an unknown name.

    As published it is handed on, which couples episodes: intervals over episodes then promise too much. So None hands
    it on only there.
    """
    if carry is None:
        return "shock" if published else "episode"
    require_choice("carry", carry, CARRIES)
    return carry
