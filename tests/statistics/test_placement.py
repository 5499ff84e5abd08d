"""Searches for critical levels in simulation: coverage, width, episodes, and curves without a critical level."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from brittlestar.statistics.curves import crossing_bracket
from brittlestar.statistics.intervals import wilson
from brittlestar.statistics.placement import Reach

spec = importlib.util.spec_from_file_location("falling_curves", Path(__file__).with_name("falling_curves.py"))
curves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(curves)


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def searches(shape, sims, seed=11, **settings):
    """Returns intervals, brackets and episodes of some searches."""
    found = [curves.simulate(curves.CURVES[shape], rng(seed, i), **settings)[:2] for i in range(sims)]
    return tabled(found)


def tabled(found):
    intervals, brackets = (np.array([getattr(seen, name) for _, seen in found]) for name in ("interval", "bracket"))
    return intervals, brackets, np.array([trials.total for trials, _ in found])


def check_promise(name, truth, intervals, brackets, episodes):
    """At least 93 % less one standard error of 300 searches; prints what was found, for `pytest -rP`."""
    coverage = np.mean((intervals[:, 0] <= truth) & (truth <= intervals[:, 1]))
    sure = np.mean((brackets[:, 0] < truth) & (truth <= brackets[:, 1]))
    width = np.median((intervals[:, 1] - intervals[:, 0]) / truth)
    print(f"{name}: interval {coverage:.3f}, bracket {sure:.3f}, {len(episodes)} searches, median of episodes ", end="")
    print(f"{np.median(episodes):.0f} (mean {episodes.mean():.0f}), median width {width:.4f}")
    assert coverage >= 0.93 - 0.015 and sure >= 0.95


@pytest.mark.parametrize("shape", curves.CURVES)
def test_a_search_ends_near_the_crossing_of_a_curve_of_any_shape(shape):
    truth = curves.crossing(curves.CURVES[shape])
    intervals, brackets, episodes = searches(shape, 3, width=0.2, budget=2000)
    assert (abs(intervals.mean(axis=1) - truth) < 0.2 * truth).all() and (episodes <= 2000).all()
    assert (np.diff(intervals)[:, 0] <= 0.25 * truth).all()
    assert ((brackets[:, 0] < truth) & (truth <= brackets[:, 1])).all()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"width": 0.05, "budget": 4000}, {"width": 0.3, "budget": 500}])
@pytest.mark.parametrize("shape", curves.CURVES)
def test_intervals_cover_the_crossing_and_brackets_always(shape, settings):
    """With seeds that no setting of the fit was chosen on."""
    truth = curves.crossing(curves.CURVES[shape])
    check_promise(f"{shape}, {settings}", truth, *searches(shape, 300, seed=6101, **settings))


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("shape", curves.CURVES)
def test_intervals_cover_the_crossings_of_curves_drawn_at_random(shape, threshold):
    found = [curves.simulate_drawn(shape, rng(6102, i), threshold, width=0.05) for i in range(300)]
    truths = np.array([truth for *_, truth in found])
    check_promise(f"{shape} at {threshold}", truths, *tabled([row[:2] for row in found]))


@pytest.mark.slow
@pytest.mark.parametrize("shape", curves.CURVES)
def test_a_grid_with_three_times_the_episodes_has_a_wider_interval(shape):
    """By the interval of the tables, whose coverage is honest on a grid; the fit of the search is printed beside it."""
    curve, truth = curves.CURVES[shape], curves.crossing(curves.CURVES[shape])
    intervals, _, episodes = searches(shape, 20, width=0.05, budget=4000)
    width, count = np.median(np.diff(intervals)), 3 * int(np.median(episodes))
    levels = np.linspace(0, 0.3, 11)
    sums = rng(13).binomial(count // 11, np.clip(curve(levels), 0, 1), size=(20, 11))
    low, high = crossing_bracket(levels, *wilson(sums, count // 11))
    fits = np.array([curves.grid_interval(curve, rng(12, seed), count) for seed in range(20)])
    covered = np.mean((fits[:, 0] <= truth) & (truth <= fits[:, 1]))
    ratios = np.median(high - low) / width, np.median(np.diff(fits)) / width
    print(f"{shape}: a grid of {count} episodes is {ratios[0]:.1f} times as wide in tables, {ratios[1]:.1f} by the fit")
    print(f"the fit of the grid covers {covered:.2f}")
    assert ratios[0] >= 1 and np.mean((low <= truth) & (truth <= high)) >= 0.9


def test_a_curve_that_holds_everywhere_is_robust_and_one_that_never_works_incapable():
    trials, seen, _ = curves.simulate(lambda x: 0.9 + 0 * x, rng(1), reach=Reach(0.05, 0.8))
    assert seen.status == "robust" and trials.levels.max() == 0.8 and trials.total < 500
    trials, seen, _ = curves.simulate(lambda x: 0.1 + 0 * x, rng(2))
    assert seen.status == "incapable" and trials.total < 500


def test_a_crossing_far_from_the_first_level_is_found():
    for truth in (0.0008, 1.7):
        trials, seen, _ = curves.simulate(lambda x, c=truth: 1 / (1 + (x / c) ** 8), rng(3), width=0.2)
        assert seen.status == "reached" and abs(seen.fit.estimate / truth - 1) < 0.15 and trials.total < 1000


def test_whole_levels_end_between_two_neighbours():
    reach = Reach(2, 128, whole=True)
    trials, seen, _ = curves.simulate(lambda x: np.where(x < 4.5, 0.95, 0.1), rng(4), reach=reach)
    assert seen.status == "reached" and seen.interval == (4, 5) and (trials.levels == trials.levels.round()).all()


def test_the_budget_is_the_most_that_is_spent():
    trials, seen, _ = curves.simulate(curves.CURVES["shallow"], rng(5), width=0.01, budget=400)
    assert seen.status == "budget" and trials.total == 400


def test_the_width_may_be_in_the_unit_of_the_levels():
    _, seen, _ = curves.simulate(curves.CURVES["logistic"], rng(6), width=0.02, absolute=True)
    assert seen.status == "reached" and 0.005 < np.subtract(*reversed(seen.interval)) <= 0.02
