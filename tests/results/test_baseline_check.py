import numpy as np
import pytest

from brittlestar.policies.base import RecordedReturn
from brittlestar.results.baseline_check import (
    ABOVE,
    MISMATCH,
    OTHER_LIMIT,
    check_baseline,
    likely_cause,
    not_compared,
    objections,
    other_limit,
)


def share(shift, n_record, n_measured, spread=(30.0, 30.0), runs=2000, status=(MISMATCH, ABOVE)):
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(runs):
        record = RecordedReturn.of(100.0 + spread[0] * rng.standard_normal(n_record))
        count += check_baseline(record, 100.0 + shift + spread[1] * rng.standard_normal(n_measured)).status in status
    return count / runs


@pytest.mark.parametrize(
    ("n_record", "n_measured", "spread"), [(20, 20, (30, 30)), (5, 100, (10, 40)), (20, 60, (90, 5))]
)
def test_a_policy_that_reaches_its_record_rarely_mismatches(n_record, n_measured, spread):
    # One in a hundred by design; three standard errors of 2,000 runs above it.
    assert share(0.0, n_record, n_measured, spread) < 0.01 + 3 * np.sqrt(0.01 * 0.99 / 2000)


def test_a_policy_that_lost_half_its_return_mismatches():
    assert share(-50.0, 20, 20, status=[MISMATCH]) > 0.95


def test_a_better_policy_is_above_its_record():
    assert share(50.0, 20, 20, status=[ABOVE]) > 0.95
    assert share(50.0, 20, 20, status=[MISMATCH]) == 0
    # Also where returns are below 0.
    assert check_baseline(RecordedReturn(-200.0, 9.0, 10), np.full(20, -110.0)).status == ABOVE
    assert check_baseline(RecordedReturn(-110.0, 9.0, 10), np.full(20, -200.0)).status == MISMATCH
    check = check_baseline(RecordedReturn(171.0, 0.0, 5), np.full(20, 500.0))
    assert str(check).startswith("above its record: recorded 171 [171, 171] (5 episodes), found 500")


def test_a_difference_below_the_tolerance_is_no_mismatch():
    assert share(2.0, 5000, 5000, spread=(1.0, 1.0), runs=20) == 0.0
    assert share(-8.0, 5000, 5000, spread=(1.0, 1.0), runs=20, status=[MISMATCH]) == 1.0


def test_a_bare_number_is_a_record():
    assert check_baseline(RecordedReturn(500.0), np.full(20, 499.0)).status == "ok"
    assert check_baseline(RecordedReturn(500.0), np.full(20, 100.0)).status == MISMATCH


def test_the_check_shows_both_sides_with_intervals():
    text = str(check_baseline(RecordedReturn(500.0, 0.0, 10), np.array([90.0, 110.0, 100.0])))
    assert text == "baseline mismatch: recorded 500 [500, 500] (10 episodes), found 100 [75.16, 124.8] (3 episodes)"


@pytest.mark.parametrize(
    ("env", "limit"),
    [
        ({"id": "CartPole-v1"}, None),
        ({"id": "CartPole-v1", "max_steps": None}, None),
        ({"id": "CartPole-v1", "max_steps": 500}, None),
        ({"id": "CartPole-v1", "max_steps": 40}, 40),
        ({"id": "CartPole-v1", "max_steps": 900}, 900),
        ({"id": "FetchReach-v4", "max_steps": 50}, None),
        ({"id": "FetchReach-v4", "max_steps": 20}, 20),
        ({"id": "Unknown-v0", "max_steps": 7}, 7),
    ],
)
def test_the_time_limit_of_a_record_is_the_registered_one(env, limit):
    assert other_limit({"config": {"env": env}}) == limit


@pytest.mark.parametrize(("registered", "limit"), [(1000, None), (300, 1000), (None, 1000)])
def test_the_time_limit_of_a_record_is_that_of_the_environment_that_ran(registered, limit):
    # Gymnasium registers this id without a time limit.
    env = {"id": "Hopper-v3", "max_steps": 1000}
    assert other_limit({"config": {"env": env}, "registered_steps": registered}) == limit


def evaluations(*means, spread=20.0, episodes=20):
    noise = spread * np.random.default_rng(0).standard_normal((len(means), episodes))
    return np.array(means)[:, None] + noise - noise.mean(axis=1, keepdims=True)


def test_the_record_names_its_steps_and_the_range_of_its_evaluations():
    record = RecordedReturn.of(evaluations(600.0, 900.0, 500.0), np.array([900, 950, 1000]))
    line = str(check_baseline(record, np.full(9, 100.0)))
    facts = "60 episodes, 3 evaluations at steps 900 to 1000, means 500 to 900"
    assert f"({facts}), found 100 [100, 100] (9 episodes)" in line
    last = RecordedReturn.of(evaluations(600.0), np.array([1000]))
    assert "(20 episodes, at step 1000), found" in str(check_baseline(last, np.full(9, 100.0)))


@pytest.mark.parametrize(("found", "status"), [(880.0, "ok"), (520.0, "ok"), (990.0, ABOVE), (300.0, MISMATCH)])
def test_a_return_between_those_of_the_recorded_evaluations_agrees_with_them(found, status):
    record = RecordedReturn.of(evaluations(600.0, 900.0, 500.0), np.array([900, 950, 1000]))
    assert check_baseline(record, evaluations(found).ravel()).status == status


@pytest.mark.parametrize(
    ("env_id", "policy", "cause"),
    [
        (
            "Hopper-v3",
            {},
            "; a likely cause: EnvPool simulates Hopper-v3 with a newer MuJoCo than that of the training",
        ),
        ("FetchReach-v1", {"adapter": None}, "; a likely cause: EnvPool simulates FetchReach-v1"),
        (
            "Hopper-v5",
            {"adapter": "pad"},
            "; a likely cause: `policy.adapter=pad`: Hopper-v5 is not the environment of",
        ),
        ("Hopper-v5", {}, ""),
    ],
)
def test_a_mismatch_names_a_likely_cause(env_id, policy, cause):
    reason = likely_cause({"env": {"id": env_id}, "policy": policy})
    missed = str(check_baseline(RecordedReturn(500.0), np.full(20, 100.0), cause=reason))
    assert cause in missed
    assert ("likely cause" in missed) == bool(cause)
    assert "likely cause" not in str(check_baseline(RecordedReturn(500.0), np.full(20, 500.0), cause=reason))


def test_under_another_time_limit_nothing_is_compared_and_one_line_reports_it():
    short = [check_baseline(RecordedReturn(500.0, 0.0, 10), np.full(20, value), max_steps=40) for value in (40.0, 12.0)]
    assert [check.status for check in short] == [OTHER_LIMIT] * 2
    assert str(short[0]).endswith("found 40 [40, 40] (20 episodes) in 40 steps, not compared")
    line = "time limit differs (`env.max_steps` = 40): no return is compared with its record"
    assert not_compared(short) == [line]
    assert not_compared([check_baseline(RecordedReturn(500.0), np.full(20, 100.0))]) == []


def test_objections_are_mismatches_and_missing_records():
    missed = check_baseline(RecordedReturn(500.0), np.full(20, 100.0))
    above = check_baseline(RecordedReturn(100.0), np.full(20, 500.0))
    short = check_baseline(RecordedReturn(500.0), np.full(20, 40.0), max_steps=40)
    assert objections([above, check_baseline(RecordedReturn(1.0), np.ones(5))]) == []
    assert objections([above, missed, short]) == [str(missed), *not_compared([short])]
    assert "no policy came with a recorded return" in objections([])[0]
