"""What perturbations report about their effect while lanes roll."""

import numpy as np

BOOKKEEPING = ("violation", "regret")
"""Effects that a stressor reports about how badly it treats the policy; only the published stress scores use them."""


class EffectLog:
    """Turns what is reported step by step into means over episodes.

    Example:
        >>> log = EffectLog(episodes=1, lanes=1)
        >>> for share in (0.0, 0.5):
        ...     log.add_step({"masked": np.array([share])})
        >>> log.end(lane=0, episode=0, length=2)
        >>> log.means["masked"].tolist()
        [0.25]
    """

    def __init__(self, episodes: int, lanes: int) -> None:
        self.means: dict[str, np.ndarray] = {}
        self._sums: dict[str, np.ndarray] = {}
        self._episodes, self._lanes = episodes, lanes

    def begin(self, lane: int) -> None:
        """Clears a lane."""
        for sums in self._sums.values():
            sums[lane] = 0

    def add_step(self, effects: dict[str, np.ndarray]) -> None:
        """Adds what was reported in one step."""
        for name, values in effects.items():
            if name not in self._sums:
                self._sums[name], self.means[name] = np.zeros(self._lanes), np.zeros(self._episodes)
            self._sums[name] += values

    def end(self, lane: int, episode: int, length: int) -> None:
        """Writes the means of a finished episode."""
        for name, sums in self._sums.items():
            self.means[name][episode] = sums[lane] / length
