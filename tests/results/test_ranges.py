"""Intervals never leave the range of their measure, in any table, however few and however different the seeds are."""

import numpy as np
import pytest

from brittlestar.engine.metrics import COLUMNS
from brittlestar.results.aggregate import aggregate
from brittlestar.results.difference import Sides, level_difference
from brittlestar.results.load import RATES, ROW_KEYS
from brittlestar.results.ranges import AMOUNT, EVENT, NUMBER, RANGES, SHARE, Range, cut, range_of
from brittlestar.statistics.intervals import wilson

METRICS = [name for name in COLUMNS if name not in ROW_KEYS]


def draw(random: np.random.Generator, span: Range, episodes: int) -> np.ndarray:
    """Values of one seed: seeds differ as much as the range allows."""
    if span.is_event:
        return (random.random(episodes) < random.choice([0.0, 0.5, 1.0])).astype(float)
    if span.high == 1:
        return random.choice([0.0, 0.5, 1.0]) * random.random(episodes)
    scale = 10.0 ** random.integers(-2, 4)
    return scale * random.normal(size=episodes) if span == NUMBER else span.low + scale * random.random(episodes) ** 4


@pytest.mark.parametrize("seed", range(25))
def test_no_interval_of_a_sweep_leaves_the_range_of_its_measure(make_cell, check_intervals, seed):
    random = np.random.default_rng(seed)
    seeds, episodes, levels = random.integers([1, 1, 2], [4, 7, 4])
    headline = random.choice(["success_any", "return", "normalised_return"])
    cells = [
        make_cell(
            [1] * episodes, strength=level, seed=s, measure=str(headline),
            **{name: draw(random, RANGES[name], episodes) for name in METRICS},
        )
        for level in range(levels) for s in range(seeds)
    ]  # fmt: skip
    tables = aggregate(cells)
    assert check_intervals(tables.curve) >= len(METRICS) * (episodes > 1 or seeds > 1)
    width = levels - 1
    for row in tables.summary:
        if row["measure"] in RATES:
            for name, limit in (("auc", width), ("normalised_auc", 1)):
                assert 0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= limit
            steepest = {2: 1.0, 3: 0.5}[levels]
            assert -steepest - 1e-9 <= row["slope_low"] <= row["slope_high"] <= steepest + 1e-9


def test_every_metric_has_a_range():
    assert set(METRICS) <= set(RANGES)
    assert range_of("a column of another package") == NUMBER


def test_rates_of_episodes_are_never_narrower_than_wilson(make_cell):
    """Two seeds without a termination: Student's t alone would be sure of it."""
    row = aggregate([make_cell([1] * 5, seed=s, terminated=0, truncated=1, dwell=1) for s in (0, 1)]).curve[0]
    over_episodes = wilson(0, 10)
    assert (row["terminated_low"], row["terminated_high"]) == (over_episodes.low, over_episodes.high)
    assert (row["truncated_low"], row["truncated_high"]) == pytest.approx((1 - over_episodes.high, 1))
    single = aggregate([make_cell([1] * 5, terminated=[1, 0, 0, 0, 0])]).curve[0]
    assert (single["terminated_low"], single["terminated_high"]) == wilson(1, 5)
    assert single["metric_interval"] == "t over 5 episodes (rates: Wilson), 95 %"


def test_seeds_that_disagree_say_nothing_about_a_rate(make_cell):
    row = aggregate([make_cell([1], seed=s, terminated=s) for s in (0, 1)]).curve[0]
    assert (row["terminated"], row["terminated_low"], row["terminated_high"]) == (0.5, 0, 1)


@pytest.mark.parametrize("span", [EVENT, SHARE, AMOUNT, NUMBER])
@pytest.mark.parametrize("paired", [True, False])
def test_rates_differ_by_at_most_one(span, paired):
    random = np.random.default_rng(0)
    for _ in range(5):
        a, b = (np.array([[draw(random, span, 4) for _ in range(2)]]) for _ in "ab")
        row = level_difference(Sides([0.0], a, b, paired, span))
        assert row["low"] <= row["difference"] <= row["high"]
        if span.high == 1:
            assert -1 <= row["low"] <= row["high"] <= 1


def test_an_interval_around_a_mean_outside_of_the_range_is_not_cut():
    """An environment may report completion in percent."""
    assert cut(SHARE, 40.0, 20.0, 60.0) == (20.0, 60.0)
    assert np.isnan(cut(SHARE, np.nan, np.nan, np.nan)).all()
    assert cut(NUMBER, np.nan, 1.0, np.inf) == (1.0, np.inf)
