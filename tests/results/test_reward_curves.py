"""Reward over time, pooled over seeds."""

import numpy as np
import pytest

from brittlestar.engine.reward_recorder import REWARD_COLUMNS
from brittlestar.results.aggregate import aggregate
from brittlestar.results.load import load_cells
from brittlestar.results.reward_curves import reward_curves


def record(steps, mean):
    """A record whose quantiles are apart by 10."""
    spread = np.arange(-20, 30, 10)[:, None]
    return np.array([[steps, mean, *(np.asarray(mean) + spread)]], dtype=np.float32).transpose(0, 2, 1)


@pytest.fixture
def swept(make_cell, save_cells, tmp_path):
    """A function that saves one cell per record, with seeds in order, and returns the tables of the sweep."""

    def save(*contents):
        save_cells(tmp_path, [make_cell(seed=seed) for seed in range(len(contents))], contents)
        return aggregate(load_cells([tmp_path]))

    return save


def test_every_seed_counts_the_same(swept):
    (curve,) = reward_curves(swept(record([1, 2], [1, 3]), record([1, 2], [3, 5])))
    assert curve.steps.tolist() == [0, 1, 2]
    assert curve.mean.tolist() == [0, 2, 4]
    assert (curve.low.tolist(), curve.high.tolist()) == ([0, -8, -6], [0, 12, 14])
    assert (curve.label["policy"], curve.env_id, curve.strength) == ("p_controller", "FetchReach-v4", 0)


def test_a_seed_whose_episodes_have_ended_keeps_its_return(swept):
    (curve,) = reward_curves(swept(record([1, 2, 3, 4], [1, 2, 3, 4]), record([1, 2], [1, 2])))
    assert curve.mean.tolist() == [0, 1, 2, 2.5, 3]


def test_records_of_different_distances_meet_at_the_coarser_one(swept):
    (curve,) = reward_curves(swept(record([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), record([2, 4, 5], [2, 4, 5])))
    assert curve.steps.tolist() == [0, 2, 4, 5]
    assert curve.mean.tolist() == [0, 2, 4, 5]


def test_cells_without_a_record_have_no_curve(swept):
    assert len(reward_curves(swept(None, record([1], [1])))) == 1
    assert reward_curves(swept(None, None)) == []


def test_the_record_of_a_phase_is_its_own(make_cell, save_cells, tmp_path):
    cell = make_cell([1, 0], phase=[0, 1])
    cell.manifest["phases"] = ["pre", "shock"]
    save_cells(tmp_path, [cell], [np.concatenate([record([1], [1]), record([1], [7])])])
    curves = reward_curves(aggregate(load_cells([tmp_path])))
    assert {curve.label["phase"]: curve.mean[-1] for curve in curves} == {"pre": 1, "shock": 7}
    assert REWARD_COLUMNS[:2] == ("step", "mean")
