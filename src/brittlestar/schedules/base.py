"""The base class of stress schedules: (episode, step) to a level in [0, 1] and a phase."""

from dataclasses import dataclass, field

import numpy as np

from brittlestar.errors import check_fields, require


@dataclass
class StressSchedule:
    """Level 1 at every step of every episode, in one phase."""

    parameter: str | list[str] | None = field(default=None, kw_only=True)
    """Numeric field of the perturbation that the level multiplies, or a list of them; None is its strength."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.parameter is not None and not isinstance(self.parameter, str):
            names = list(self.parameter)
            require(names and len(set(names)) == len(names), "parameter", "a name, or a list of different names", names)

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Returns the level of each lane, in [0, 1]; it multiplies the strength of the perturbation."""
        return np.ones(len(episodes))

    def acts_within(self, episodes: int) -> bool:
        """Returns whether a level above 0 is possible in so many episodes, whatever their lengths."""
        return True

    def phase(self, episode: int) -> str:
        """Returns the name of the phase of an episode."""
        return "all"
