"""What a stressor carries from one episode to the next, the same for any number of lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brittlestar.errors import require_choice
from brittlestar.perturbations.base import Step

CARRIES = ("shock", "episode")


class Carried:
    """A number per lane that stressed episodes hand on in episode order, as if they ran one after the other.

    Side by side, an episode starts before the one before it has ended. So its start is guessed, and episodes that
    guessed wrong run again until no start differs from the end before it. That is the result of one lane, exactly:
    every pass settles at least the first wrong episode. Where lengths do not depend on the state, two passes do.

    Args:
        lanes: how many.
        carry: `shock` hands on; `episode` starts every episode at 0.
        follow: `(start, end, other start)` to the end that the other start will probably give.
    """

    def __init__(self, lanes: int, carry: str, follow: Callable[[float, float, float], float]) -> None:
        self.state = np.zeros(lanes)
        self._carry, self._follow, self._latest = carry == "shock", follow, -1
        self._starts, self._ends = np.zeros((2, 0))
        self._planned, self._stressed = np.zeros((2, 0), dtype=bool)

    def begin(self, step: Step) -> None:
        """Sets the state of lanes whose episode starts; call it before the state is used in a step."""
        lanes = np.flatnonzero(step.first)
        if not len(lanes):
            return
        self.state[lanes] = 0.0
        if self._carry:
            self._reach(int(step.draws.episodes.max()))
            for lane in lanes.tolist():
                self.state[lane] = self._start(int(step.draws.episodes[lane]))

    def move(self, state: np.ndarray, step: Step) -> None:
        """Takes the state of every lane after a step; lanes without stress keep theirs."""
        stressed = step.level > 0
        self.state = np.where(stressed, state, self.state)
        if self._carry and stressed.any():
            episodes = step.draws.episodes[stressed]
            self._ends[episodes], self._stressed[episodes] = self.state[stressed], True
            self._latest = max(self._latest, int(episodes.max()))

    def unsettled(self, episodes: int) -> list[int]:
        """Returns which stressed episodes started from another state than the one before them left."""
        wrong, at = [], 0.0
        for episode in np.flatnonzero(self._stressed[:episodes]).tolist():
            start, end = float(self._starts[episode]), float(self._ends[episode])
            if start != at:
                wrong.append(episode)
                end = self._follow(start, end, at)
                self._starts[episode] = at
            at = end
        return wrong

    def _start(self, episode: int) -> float:
        if not self._planned[episode]:
            self._planned[episode] = True
            self._starts[episode] = self._ends[self._latest] if 0 <= self._latest < episode else 0.0
        return float(self._starts[episode])

    def _reach(self, episode: int) -> None:
        missing = episode + 1 - len(self._starts)
        if missing > 0:
            self._starts, self._ends, self._planned, self._stressed = (
                np.concatenate([known, np.zeros(missing + len(known), dtype=known.dtype)])
                for known in (self._starts, self._ends, self._planned, self._stressed)
            )


def check_carry(carry: str) -> None:
    """Refuses an unknown name."""
    require_choice("carry", carry, CARRIES)
