"""Proof that a stressor cannot affect behaviour: the same episodes, the same actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brittlestar.engine.behaviour import Behaviour
from brittlestar.errors import UserError


@dataclass(frozen=True)
class SameActions:
    """How many episodes with stress took other actions than the same episodes without.

    Example:
        >>> print(SameActions(episodes=40, different=0))
        cannot affect behaviour: identical actions in 40 of 40 episodes
        >>> print(SameActions(episodes=30, different=0) + SameActions(episodes=10, different=3, first=7))
        affects behaviour: other actions in 3 of 40 episodes, first in episode 7
    """

    episodes: int
    different: int
    first: int | None = None

    @property
    def proven(self) -> bool:
        """Whether all actions are the same."""
        return self.different == 0

    def __add__(self, other: SameActions) -> SameActions:
        first = other.first if self.first is None else self.first
        return SameActions(self.episodes + other.episodes, self.different + other.different, first)

    def __str__(self) -> str:
        if self.proven:
            return f"cannot affect behaviour: identical actions in {self.episodes} of {self.episodes} episodes"
        where = f"{self.different} of {self.episodes} episodes, first in episode {self.first}"
        return f"affects behaviour: other actions in {where}"


def same_actions(clean: Behaviour, stressed: Behaviour, rows: np.ndarray | None = None) -> SameActions:
    """Compares the digests of the actions, episode by episode.

    Both must be runs of the same episodes: same policy, mode, seed and start states. `rows` selects episodes, such as
    those of the shock.
    """
    if clean.layout != stressed.layout or len(clean) != len(stressed):
        raise UserError(
            f"only the same episodes can be compared, got {len(clean)} of {clean.layout} "
            f"and {len(stressed)} of {stressed.layout}"
        )
    mask = np.ones(len(clean), dtype=bool) if rows is None else rows
    if not mask.any():
        raise UserError("there are no episodes to compare")
    differs = np.zeros(len(clean), dtype=bool)
    for name in ("digest", "length"):
        differs |= clean.column(name) != stressed.column(name)
    places = np.flatnonzero(differs & mask)
    return SameActions(int(mask.sum()), len(places), int(places[0]) if len(places) else None)
