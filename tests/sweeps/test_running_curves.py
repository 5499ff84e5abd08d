import math

import numpy as np

from brittlestar.cells.job import Job
from brittlestar.cells.record import EPISODES, Record
from brittlestar.perturbations import GaussianObservation
from brittlestar.sweeps.bar_lines import curve_lines
from brittlestar.sweeps.running_curves import RunningCurves
from brittlestar.sweeps.screen import small_curve


def job(policy: str, sigma: float, seed: int, role: str | None = None):
    words = ["env=cartpole", f"policy={policy}", f"perturbation.sigma={sigma}", f"seed={seed}"]
    one = Job({"role": role}, {"policy": policy}, words)
    one.perturbation = GaussianObservation(sigma)
    return one


def record(successes, measure="success_any"):
    rows = np.array([[0.5, value] for value in successes])
    return Record({"columns": ["return", "success_final"], "measure": measure}, {EPISODES: rows})


def test_cells_of_a_curve_are_summed_by_strength_whatever_their_seed():
    jobs = [job(policy, sigma, seed) for policy in ("a", "zoo/b") for sigma in (0.0, 0.1) for seed in (0, 1)]
    running = RunningCurves(jobs)
    for one, successes in zip(jobs, ([1, 1], [1, 0], [0, 0], [1, 0], [1], [math.nan]), strict=False):
        running.add(one, record(successes))
    first, second = running.curves.values()
    assert (first.name, first.episodes, first.mean) == ("a", 8, 0.5)
    assert (second.name, second.episodes, second.mean) == ("zoo/b", 1, 1.0)
    assert running.strengths == [0.0, 0.1] and first.at([0.0, 0.1]) == [0.75, 0.25]
    assert math.isnan(second.at([0.1])[0]), "nothing is known of a strength without a cell"
    lines = [line.plain for line in curve_lines(running, 80, 8, True)]
    assert lines == [
        "success_final so far over sigma 0 to 0.1",
        "a      ▆▃  mean 0.5, 8 episodes",
        "zoo/b  █·  mean 1, 1 episodes",
    ]
    assert running.name_of(jobs[0]) == "policy=a perturbation.sigma=0.0 seed=0"


def test_failed_cells_and_cells_of_studies_are_in_no_curve():
    jobs = [job("a", 0.0, 0), job("a", 0.1, 0, role="reference"), job("b", 0.1, 0)]
    running = RunningCurves(jobs)
    running.add(jobs[0], None)
    running.add(jobs[1], record([1]))
    assert running.curves == {}


def test_numbers_of_two_kinds_share_no_axis():
    jobs = [job("a", 0.0, 0), job("b", 0.0, 0)]
    running = RunningCurves(jobs)
    running.add(jobs[0], record([1]))
    running.add(jobs[1], record([1], "return"))
    assert [curve.name for curve in running.curves.values()] == ["a"]


def test_the_curves_that_changed_last_are_shown_in_a_fixed_order_and_fit():
    jobs = [job(f"a_policy_with_a_long_name_{i}", sigma, 0) for i in range(20) for sigma in (0.0, 0.1)]
    running = RunningCurves(jobs)
    for one in [*jobs[::2], jobs[5], jobs[3]]:
        running.add(one, record([1]))
    names = [curve.name for curve in running.latest(3)]
    assert names == [f"a_policy_with_a_long_name_{i}" for i in (1, 2, 19)]
    lines = curve_lines(running, 40, 3, True)
    assert len(lines) == 4 and "17 more curves" in lines[0].plain
    assert all(len(line.plain) <= 40 for line in lines[1:])


def test_small_curves_have_one_character_for_each_number_up_to_a_most():
    assert small_curve([0, 0.5, 1, 2], blocks=False) == "_+@@"
    assert small_curve([-10, 0], -10, 0) == "▁█"
    assert small_curve([3, 3], 3, 3) == "▁▁"
    many = small_curve([i / 99 for i in range(100)])
    assert len(many) == 24 and (many[0], many[-1]) == ("▁", "█")
