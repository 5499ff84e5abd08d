"""AUSC: the figures of its definition, its errors, and the coverage of its intervals."""

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.studies.perception.scores import score

POINTS = [(0, 1), (0.2, 0.97), (0.4, 0.9), (0.6, 0.83), (0.8, 0.72), (1, 0.55)]


def curve(points, episodes=100, seed=0):
    return {level: {seed: np.arange(episodes) < round(rate * episodes)} for level, rate in points}


def test_the_area_is_that_of_the_definition():
    scores = score({"light": curve(POINTS)})
    assert scores.ausc["light"] == pytest.approx(0.839, abs=5e-4) and scores.curve_points["light"][1] == (0.2, 0.97)
    area = scores.axes["light"]
    assert (area.clean, area.worst, area.worst_level) == (1.0, 0.55, 1.0) and area.retained == area.value


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_a_constant_curve_is_its_height_whatever_the_order(order):
    points = [(level, 0.6) for level in (0, 0.25, 0.5, 1)]
    scores = score({"view": curve([points[i] for i in order], episodes=10)})
    assert scores.ausc["view"] == pytest.approx(0.6)


def test_overall_is_the_mean_of_the_axes():
    scores = score({"light": curve([(0, 1), (1, 0)]), "view": curve([(0, 1), (1, 1)])})
    assert scores.overall == pytest.approx(0.75) and scores.low < 0.75 < scores.high
    assert scores.as_dict()["ausc"] == {"light": 0.5, "view": 1.0}


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({"light": {}}, "the axis `light` has no finished cell"),
        ({"light": {0.0: {0: np.ones(3)}, 1.0: {0: np.ones(2)}}}, "other seeds or episodes at level 1"),
        ({"light": {0.0: {0: np.ones(3)}, 1.0: {1: np.ones(3)}}}, "other seeds or episodes at level 1"),
        ({"light": {0.0: {0: np.ones(0)}, 1.0: {0: np.ones(0)}}}, "other seeds or episodes at level 0"),
        ({"light": {0.0: {0: np.ones(2)}, 1.0: {0: np.full(2, np.nan)}}}, "episodes without a success at level 1"),
        ({"a": curve([(0, 1), (1, 1)], 4), "b": curve([(0, 1), (1, 1)], 5)}, "the axes have other seeds or episodes"),
    ],
)
def test_missing_episodes_are_errors_never_0_or_1(curves, message):
    with pytest.raises(UserError, match=message):
        score(curves)


@pytest.mark.parametrize("seeds", [1, 5])
@pytest.mark.parametrize("fall", [0.0, 0.5, 1.0])
def test_intervals_cover_the_true_area(seeds, fall):
    """Episodes break at a level of their own, as paired ones do."""
    rng, levels, hits, rounds = np.random.default_rng(seeds), np.linspace(0, 1, 6), 0, 400
    rates = 0.95 - fall * 0.9 * levels
    truth = np.trapezoid(rates, levels)
    for _ in range(rounds):
        table = {float(level): {} for level in levels}
        for seed in range(seeds):
            breaks = rng.random(20)
            for level, rate in zip(levels, rates, strict=True):
                table[float(level)][seed] = breaks < rate
        scores = score({"light": table})
        hits += scores.axes["light"].low <= truth <= scores.axes["light"].high
    assert hits / rounds >= 0.93
