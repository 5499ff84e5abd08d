"""Which episodes to run, and the rows that they give."""

from dataclasses import dataclass, field

import numpy as np

from brittlestar.engine.behaviour import Behaviour
from brittlestar.engine.metrics import COLUMNS
from brittlestar.errors import UserError

RECORDS = (None, "behaviour", "trajectories")
"""What is recorded next to the rows: nothing, a few numbers about the actions of each episode, or all actions."""


@dataclass(frozen=True)
class Plan:
    """Which episodes to run."""

    episodes: int
    seed: int = 0
    consecutive: bool = False
    """Reset seed = seed + episode and noise in one sequence, as in published tables."""
    deterministic: bool = True
    divergence: bool = False
    """Ask the policy once more at every step, on the true observation."""
    record: str | None = None
    """One of `RECORDS`."""
    only: tuple[int, ...] | None = None
    """Run these of the episodes; the others have rows of nan. Their rows are those of a run of all episodes."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise UserError(f"`episodes` must be at least 1, got {self.episodes}")
        if self.seed < 0:
            raise UserError(f"`seed` must be at least 0, got {self.seed}")
        if self.record not in RECORDS:
            raise UserError(f"`record` must be null, behaviour or trajectories, got {self.record}")
        if self.only is not None and not all(0 <= episode < self.episodes for episode in self.only):
            raise UserError(f"there are the episodes 0 to {self.episodes - 1}, got {list(self.only)}")


@dataclass
class Rows:
    """Episode rows in order: `values` is `(episodes, len(COLUMNS))`; `phases` are the names behind `phase`."""

    values: np.ndarray
    phases: list[str]
    effects: dict[str, np.ndarray] = field(default_factory=dict)
    """What the perturbation reported about its effect: the mean over each episode."""
    behaviour: Behaviour | None = None
    """What the policy did, where the plan asks for it."""
    trajectories: dict[str, np.ndarray] = field(default_factory=dict)
    """Actions and rewards of all episodes, one behind the other, where the plan asks for them."""
    notes: list[str] = field(default_factory=list)
    """What a reader should know about how the episodes ran."""
    rewards: np.ndarray | None = None
    """Reward over time, `(phases, steps, REWARD_COLUMNS)`; see `RewardRecorder`."""

    def column(self, name: str) -> np.ndarray:
        """Returns one column."""
        return self.values[:, COLUMNS.index(name)]
