"""Levels that change from episode to episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.errors import Fraction, NonNegativeInt, PositiveInt, require
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
        """Returns the level of each lane's episode."""
        return np.minimum(1.0, self.start + np.asarray(episodes) / self.warmup_episodes)


@dataclass
class Spread(StressSchedule):
    """Another level in each episode: none in a share `calm` of them, evenly over [0, 1] in the others.

    For training: a policy meets mild and full stress alike, and clean episodes as well (domain randomisation).

    Example:
        >>> Spread().levels(np.arange(4), np.zeros(4)).round(2).tolist()
        [0.62, 0.24, 0.85, 0.47]
        >>> Spread(calm=0.5).levels(np.arange(4), np.zeros(4)).round(2).tolist()
        [0.24, 0.0, 0.71, 0.0]
    """

    calm: float = 0.0

    def __post_init__(self) -> None:
        require(0 <= self.calm < 1, "calm", "at least 0 and below 1", self.calm)

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Returns the level of each lane's episode."""
        # Multiples of the golden ratio fill the unit interval more evenly than chance, however many there are.
        place = (np.asarray(episodes) + 1) * _GOLDEN % 1.0
        return np.maximum(0.0, place - self.calm) / (1.0 - self.calm)


@dataclass
class Phases(StressSchedule):
    """`pre` episodes without stress, `shock` episodes with full stress, all others without again; or any `segments`.

    A segment is `[name, episodes]` or `[name, episodes, level]`. Without a level, one whose name starts with `shock`
    has full stress, all others have none. The last one takes all episodes that are left.

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
    """Episodes after the shock; as all that are left belong to it, only a reader needs the number."""
    segments: list[list[Any]] | None = None
    """In place of the three."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.post is None or self.post >= 0, "post", "null or at least 0", self.post)
        given = self.segments
        if given is None:
            given = [["pre", self.pre], ["shock", self.shock], ["post", self.post or 0]]
        require(len(given) >= 1, "segments", "at least one", given)
        parts = [_segment(segment) for segment in given]
        self._names, self._levels = [name for name, _, _ in parts], np.array([level for *_, level in parts])
        # The last segment has no end.
        self._ends = np.cumsum([episodes for _, episodes, _ in parts])[:-1]

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Returns the level of the segment of each lane's episode: 1 in the shock and 0 outside."""
        return self._levels[np.searchsorted(self._ends, episodes, side="right")]

    def phase(self, episode: int) -> str:
        """Returns the name of the segment: `pre`, `shock` or `post`."""
        return self._names[int(np.searchsorted(self._ends, episode, side="right"))]


def _segment(given: Any) -> tuple[str, int, float]:
    form = "[name, episodes] or [name, episodes, level]"
    require(isinstance(given, list | tuple) and len(given) in (2, 3), "segments", f"a list of {form}", given)
    name, episodes, *rest = given
    level = rest[0] if rest else float(str(name).startswith("shock"))
    whole = isinstance(episodes, int) and not isinstance(episodes, bool)
    require(whole and episodes >= 0, "segments", f"{form} with at least 0 episodes", given)
    require(isinstance(level, int | float) and 0 <= level <= 1, "segments", f"{form} with a level in [0, 1]", given)
    return str(name), episodes, float(level)
