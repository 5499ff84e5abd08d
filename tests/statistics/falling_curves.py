"""Falling curves of five families, and searches for their critical level with simulated episodes."""

import numpy as np

from brittlestar.statistics.falling_curve import fit_crossing
from brittlestar.statistics.placement import Reach, Search, first_levels, look, next_levels
from brittlestar.statistics.trials import Threshold, Trials

CURVES = {
    "logistic": lambda x: 1 / (1 + np.exp(60 * (x - 0.11))),
    "cliff": lambda x: np.where(x < 0.137, 1.0, 0.02),
    "shallow": lambda x: np.clip(0.95 - 2.8 * x, 0, 1),
    "floor and lapse": lambda x: 0.3 + 0.6 / (1 + np.exp(100 * (x - 0.08))),
    "bumped": lambda x: 1 / (1 + np.exp(60 * (x - 0.1))) + 0.3 * np.exp(-(((x - 0.2) / 0.02) ** 2)),
}
"""Success over levels; each crosses one half below 0.3."""
FINE = np.linspace(0, 0.3, 30001)
HALF = Threshold(0.5)


def crossing(curve, threshold=0.5):
    return float(FINE[np.argmax(curve(FINE) < threshold)])


def simulate(curve, rng, batch=25, **settings):
    """Searches for the crossing of a curve as a sweep does; returns the trials, the last look, and the rounds."""
    search = Search(HALF, settings.pop("reach", Reach(0.05, 3.2)), **settings)
    levels, sums, rounds = [], [], 0
    todo = first_levels(search.reach)
    while todo:
        levels += todo
        sums += [int(rng.binomial(batch, float(curve(np.array(level))))) for level in todo]
        trials = Trials.of(levels, sums, [batch] * len(levels))
        seen, rounds = look(trials, search), rounds + 1
        todo = next_levels(trials, search, seen, batch) if seen.status == "open" else []
    return trials, seen, rounds


def grid_width(curve, rng, episodes, most=0.3):
    """Returns the width of the same interval from an even grid of 11 levels with so many episodes in all."""
    levels, count = np.linspace(0, most, 11), episodes // 11
    sums = rng.binomial(count, np.clip(curve(levels), 0, 1))
    fit = fit_crossing(Trials.of(levels, sums, [count] * 11), HALF, (0.003, 0.6))
    low, high = fit.interval(levels)
    return high - low
