"""Looks on while episodes run, for films."""

from typing import Protocol

import numpy as np

from brittlestar.engine.lanes import Batch
from brittlestar.engine.stack import Acted, Observed, Stack


class Watcher(Protocol):
    """Is called before and after each step of all lanes; it must change nothing."""

    def before(self, stack: Stack, observed: Observed, acted: Acted, episodes: np.ndarray) -> None:
        """Sees what the policy saw and did, and the episode of each lane."""

    def after(self, batch: Batch) -> None:
        """Sees the results of the step."""
