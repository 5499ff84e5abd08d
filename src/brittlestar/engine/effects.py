"""What perturbations say about their effect while lanes roll."""

from __future__ import annotations

import numpy as np

BOOKKEEPING = ("violation", "regret")
"""Notes in which a stressor tells how badly it treats the policy; only the published stress scores read them."""


class Notes:
    """Turns what is noted step by step into means over episodes.

    Example:
        >>> notes = Notes(episodes=1, lanes=1)
        >>> for share in (0.0, 0.5):
        ...     notes.now["masked"] = np.array([share])
        ...     notes.take()
        >>> notes.keep(lane=0, episode=0, length=2)
        >>> notes.means["masked"].tolist()
        [0.25]
    """

    def __init__(self, episodes: int, lanes: int) -> None:
        self.now: dict[str, np.ndarray] = {}
        self.means: dict[str, np.ndarray] = {}
        self._sums: dict[str, np.ndarray] = {}
        self._episodes, self._lanes = episodes, lanes

    def begin(self, lane: int) -> None:
        """Forgets a lane."""
        for sums in self._sums.values():
            sums[lane] = 0

    def take(self) -> None:
        """Adds what was noted in this step."""
        for name, values in self.now.items():
            if name not in self._sums:
                self._sums[name], self.means[name] = np.zeros(self._lanes), np.zeros(self._episodes)
            self._sums[name] += values
        self.now.clear()

    def keep(self, lane: int, episode: int, length: int) -> None:
        """Writes the means of a finished episode and forgets the lane."""
        for name, sums in self._sums.items():
            self.means[name][episode] = sums[lane] / length
            sums[lane] = 0
