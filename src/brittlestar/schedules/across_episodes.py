"""Levels that change from episode to episode."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from brittlestar.errors import Bound, Fraction, NonNegativeInt, PositiveInt, require
from brittlestar.schedules.base import StressSchedule

_GOLDEN = (5**0.5 - 1) / 2


@dataclass
class Curriculum(StressSchedule):
    """Grows from episode to episode: `min(1, start + episode / warmup_episodes)`.

    Example:
        >>> Curriculum(warmup_episodes=4).levels(np.array([0, 2, 9]), np.zeros(3)).tolist()
        [0.0, 0.5, 1.0]
    """

    warmup_episodes: PositiveInt
    start: Fraction = 0.0

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, self.start + np.asarray(episodes) / self.warmup_episodes)

    def acts_within(self, episodes: int) -> bool:
        return bool(self.levels(np.arange(episodes), np.zeros(episodes)).any())


@dataclass
class Spread(StressSchedule):
    """A new level in each episode: 0 in a share `calm` of them, uniform over [0, 1] in the others.

    It is for training with domain randomisation.

    Example:
        >>> Spread().levels(np.arange(4), np.zeros(4)).round(2).tolist()
        [0.62, 0.24, 0.85, 0.47]
        >>> Spread(calm=0.5).levels(np.arange(4), np.zeros(4)).round(2).tolist()
        [0.24, 0.0, 0.71, 0.0]
    """

    calm: Annotated[float, Bound("at least 0 and below 1", lambda calm: 0 <= calm < 1)] = 0.0

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        # Multiples of the golden ratio cover the unit interval more evenly than random numbers, for any count.
        place = (np.asarray(episodes) + 1) * _GOLDEN % 1.0
        return np.maximum(0.0, place - self.calm) / (1.0 - self.calm)


@dataclass
class Phases(StressSchedule):
    """Level 0 in `pre` episodes, 1 in `shock` episodes, 0 in all others; or any `segments`.

    A segment is `[name, episodes]` or `[name, episodes, level]`. The default level is 1 if the name starts with
    `shock`, else 0. The last segment takes all remaining episodes.

    Example:
        >>> phases = Phases(pre=2, shock=1)
        >>> [phases.phase(episode) for episode in range(4)]
        ['pre', 'pre', 'shock', 'post']
        >>> phases.levels(np.arange(4), np.zeros(4)).tolist()
        [0.0, 0.0, 1.0, 0.0]
        >>> twice = Phases(segments=[["pre", 1], ["shock", 1, 0.5], ["post", 1], ["shock", 1], ["post", 1]])
        >>> twice.levels(np.arange(6), np.zeros(6)).tolist()
        [0.0, 0.5, 0.0, 1.0, 0.0, 0.0]
    """

    pre: NonNegativeInt = 40
    shock: PositiveInt = 40
    post: int | None = None
    """Episodes after the shock; for the reader only, because all remaining episodes belong to it."""
    segments: list[list[Any]] | None = None
    """Segments in place of the three numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.post is None or self.post >= 0, "post", "null or at least 0", self.post)
        segments = self.segments
        if segments is None:
            segments = [["pre", self.pre], ["shock", self.shock], ["post", self.post or 0]]
        require(len(segments) >= 1, "segments", "at least one", segments)
        parts = [_segment(segment) for segment in segments]
        self._names, self._levels = [name for name, _, _ in parts], np.array([level for *_, level in parts])
        # The last segment has no end.
        self._ends = np.cumsum([episodes for _, episodes, _ in parts])[:-1]

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return self._levels[np.searchsorted(self._ends, episodes, side="right")]

    def acts_within(self, episodes: int) -> bool:
        return bool(self.levels(np.arange(episodes), np.zeros(episodes)).any())

    def phase(self, episode: int) -> str:
        return self._names[int(np.searchsorted(self._ends, episode, side="right"))]


def _segment(segment: Any) -> tuple[str, int, float]:
    syntax = "[name, episodes] or [name, episodes, level]"
    require(isinstance(segment, list | tuple) and len(segment) in (2, 3), "segments", f"a list of {syntax}", segment)
    name, episodes, *levels = segment
    level = levels[0] if levels else float(str(name).startswith("shock"))
    whole = isinstance(episodes, int) and not isinstance(episodes, bool)
    require(whole and episodes >= 0, "segments", f"{syntax} with at least 0 episodes", segment)
    valid = isinstance(level, int | float) and 0 <= level <= 1
    require(valid, "segments", f"{syntax} with a level in [0, 1]", segment)
    return str(name), episodes, float(level)
