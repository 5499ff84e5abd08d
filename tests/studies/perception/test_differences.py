"""Areas of one policy minus those of another: paired, corrected for their number, undecided without a difference."""

import numpy as np
import pytest

from brittlestar.studies.perception.differences import difference_rows, differences_table
from brittlestar.studies.perception.scores import OVERALL, score

LEVELS = (0.0, 0.5, 1.0)


def scores(rng, slopes, difficulty, seeds=(0,)):
    """Scores of a policy whose success falls along every axis; hard episodes are hard for every policy."""
    return score(
        {
            axis: {
                level: {seed: rng.random(len(difficulty)) > difficulty * slope * level for seed in seeds}
                for level in LEVELS
            }
            for axis, slope in slopes.items()
        }
    )


def test_only_the_axis_that_differs_is_decided():
    rng = np.random.default_rng(0)
    difficulty = rng.random(200)
    first = scores(rng, {"light": 1.0, "view": 1.0}, difficulty)
    second = scores(rng, {"light": 1.0, "view": 0.1}, difficulty)
    rows = difference_rows({"a": first, "b": second})
    assert [row["axis"] for row in rows] == ["light", "view", OVERALL]
    assert [row["verdict"] for row in rows][:2] == ["undecided", "higher"]
    assert all(row["low"] <= row["difference"] <= row["high"] for row in rows)
    assert rows[1]["difference"] == pytest.approx(second.ausc["view"] - first.ausc["view"])
    assert "| b" in differences_table(rows)


def test_equal_policies_are_rarely_called_different():
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        difficulty = rng.random(20)
        same = [scores(rng, {"light": 1.0, "view": 0.5}, difficulty) for _ in range(2)]
        wrong += any(row["verdict"] != "undecided" for row in difference_rows(dict(zip("ab", same, strict=True))))
    assert wrong <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_other_episodes_or_seeds_are_not_paired():
    rng = np.random.default_rng(2)
    first = scores(rng, {"light": 1.0}, rng.random(20))
    for other in (scores(rng, {"light": 1.0}, rng.random(30)), scores(rng, {"light": 1.0}, rng.random(20), seeds=(1,))):
        assert difference_rows({"a": first, "b": other}) == []
    assert difference_rows({"a": first}) == []
