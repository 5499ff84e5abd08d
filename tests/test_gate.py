import numpy as np
import pytest

from brittlestar.gate import MISMATCH, Record, check, recorded


def verdicts(shift, n_record, n_found, spread=(30.0, 30.0), runs=2000):
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(runs):
        record = Record.of(100.0 + spread[0] * rng.standard_normal(n_record))
        missed += check(record, 100.0 + shift + spread[1] * rng.standard_normal(n_found)).status == MISMATCH
    return missed / runs


@pytest.mark.parametrize(("n_record", "n_found", "spread"), [(20, 20, (30, 30)), (5, 100, (10, 40)), (20, 60, (90, 5))])
def test_a_policy_that_does_what_was_recorded_is_seldom_accused(n_record, n_found, spread):
    # One in a hundred by design; three standard errors of 2,000 runs above it.
    assert verdicts(0.0, n_record, n_found, spread) < 0.01 + 3 * np.sqrt(0.01 * 0.99 / 2000)


def test_a_policy_that_lost_half_is_found_out():
    assert verdicts(-50.0, 20, 20) > 0.95


def test_a_difference_that_matters_to_nobody_is_no_mismatch():
    assert verdicts(2.0, 5000, 5000, spread=(1.0, 1.0), runs=20) == 0.0
    assert verdicts(8.0, 5000, 5000, spread=(1.0, 1.0), runs=20) == 1.0


def test_a_bare_number_is_a_record():
    assert check(Record(500.0), np.full(20, 499.0)).status == "ok"
    assert check(Record(500.0), np.full(20, 100.0)).status == MISMATCH


def test_the_verdict_shows_both_sides_with_intervals():
    text = str(check(Record(500.0, 0.0, 10), np.array([90.0, 110.0, 100.0])))
    assert text == "baseline mismatch: recorded 500 [500, 500] (10 episodes), found 100 [75.16, 124.8] (3 episodes)"


def test_a_cell_without_a_record():
    assert recorded({}) is None
    assert recorded({"record": {"mean": 1.0, "std": 2.0, "episodes": 3}}) == Record(1.0, 2.0, 3)
