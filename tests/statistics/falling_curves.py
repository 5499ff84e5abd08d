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


def crossing(curve, threshold=0.5, levels=FINE):
    return float(levels[np.argmax(curve(levels) < threshold)])


def drawn_curve(shape, rng, threshold):
    """Returns a curve of a family with steepness, crossing, floor, lapse or bump drawn at random, and its crossing."""
    levels = np.concatenate([[0], np.geomspace(1e-3, 8, 80_001)])
    while True:
        curve = FAMILIES[shape](rng, threshold, _between(rng, 0.02, 0.8))
        below = curve(levels) < threshold
        # A bump may lift the curve above the threshold again: then there is no single crossing to find.
        if not below[0] and below[np.argmax(below) :].all():
            return curve, crossing(curve, threshold, levels)


def _between(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _sigmoid(x, centre, steepness, height):
    """Falls from 1 to 0, and is at `height` at the centre."""
    return 1 / (1 + np.exp(np.clip(steepness * (x / centre - 1) - np.log(height / (1 - height)), -500, 500)))


def _logistic(rng, threshold, centre):
    steepness = _between(rng, 3, 40)
    return lambda x: _sigmoid(x, centre, steepness, threshold)


def _cliff(rng, threshold, centre):
    top, bottom = rng.uniform(0.9, 1), rng.uniform(0, 0.1)
    return lambda x: np.where(x < centre, top, bottom)


def _straight(rng, threshold, centre):
    top = rng.uniform(max(threshold + 0.15, 0.65) if threshold < 0.8 else 0.9, 1)
    return lambda x: np.clip(top - (top - threshold) / centre * x, 0, 1)


def _floored(rng, threshold, centre):
    top, bottom = 1 - rng.uniform(0, 0.3) * (1 - threshold), rng.uniform(0, 0.7) * threshold
    steepness, height = _between(rng, 4, 30), (threshold - bottom) / (top - bottom)
    return lambda x: bottom + (top - bottom) * _sigmoid(x, centre, steepness, height)


def _bumped(rng, threshold, centre):
    """A bump above the crossing, or a dip below it."""
    steepness = _between(rng, 4, 20)
    place, height = 1 + 3 / steepness + rng.uniform(0, 1.5), rng.uniform(0.3, 0.75) * threshold
    if rng.random() < 0.25:
        place, height = rng.uniform(0.2, max(0.3, 1 - 3.5 / steepness)), -rng.uniform(0.3, 0.8) * (1 - threshold)
    wide = rng.uniform(0.1, 0.4) * min(1, 6 / steepness + 0.3)

    def curve(x):
        bump = height * np.exp(-(((x / centre - place) / wide) ** 2))
        return np.clip(_sigmoid(x, centre, steepness, threshold) + bump, 0, 1)

    return curve


FAMILIES = dict(zip(CURVES, (_logistic, _cliff, _straight, _floored, _bumped), strict=True))


def simulate(curve, rng, batch=25, threshold=0.5, **settings):
    """Searches for the crossing of a curve as a sweep does; returns the trials, the last look, and the rounds."""
    search = Search(Threshold(threshold), settings.pop("reach", Reach(0.05, 3.2)), **settings)
    levels, sums, rounds = [], [], 0
    todo = first_levels(search.reach)
    while todo:
        levels += todo
        sums += [int(rng.binomial(batch, float(curve(np.array(level))))) for level in todo]
        trials = Trials.of(levels, sums, [batch] * len(levels))
        seen, rounds = look(trials, search), rounds + 1
        todo = next_levels(trials, search, seen, batch) if seen.status == "open" else []
    return trials, seen, rounds


def simulate_drawn(shape, rng, threshold, **settings):
    """Searches for the crossing of a curve drawn at random; the first level is up to 4 times too high or too low."""
    curve, truth = drawn_curve(shape, rng, threshold)
    start = truth * _between(rng, 0.25, 4)
    trials, seen, _ = simulate(curve, rng, threshold=threshold, reach=Reach(start, min(64 * start, 8)), **settings)
    return trials, seen, truth


def grid_interval(curve, rng, episodes, most=0.3):
    """Returns the same interval from an even grid of 11 levels with so many episodes in all."""
    levels, count = np.linspace(0, most, 11), episodes // 11
    sums = rng.binomial(count, np.clip(curve(levels), 0, 1))
    fit = fit_crossing(Trials.of(levels, sums, [count] * 11), HALF, (0.003, 0.6))
    return fit.interval(levels)
