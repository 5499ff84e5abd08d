"""Which episodes count as failed: without success, or with too little of the clean return."""

import numpy as np

from brittlestar.results.load import RATES, Cell


def failed_episodes(cell: Cell, clean: Cell, threshold: float) -> np.ndarray:
    """Returns whether each episode of a cell failed, as 0 and 1.

    An environment with a success criterion decides. Elsewhere an episode fails if its measure (the return, normalised
    where the environment has references) is below the share `threshold` of the clean mean; of a negative mean it may
    lose the same amount.
    """
    measure = str(cell.manifest["measure"])
    if measure in RATES:
        return 1.0 - np.nan_to_num(cell.column(measure))
    mean = float(np.nanmean(clean.column(measure)))
    least = mean - (1 - threshold) * abs(mean)
    return (~(cell.column(measure) >= least)).astype(np.float64)


def failure_words(cell: Cell, threshold: float) -> str:
    """Returns what a failed episode is, for a sentence."""
    measure = str(cell.manifest["measure"])
    if measure in RATES:
        return "an episode fails if it has no success"
    return f"an episode fails if its {measure.replace('_', ' ')} is below {threshold:.0%} of the clean mean"
