import pytest

from brittlestar.sweeps.packing import LEAST_SECONDS, Durations, TaskLimits, pack

SWEEPS = {
    "tiny cells": [0.05] * 10_000,
    "two seconds": [2.0] * 500,
    "an hour": [3600.0] * 7,
    "mixed": [90.0] * 20 + [2.0] * 300 + [0.01] * 1000,
    "one": [1.0],
    "none": [],
}


@pytest.mark.parametrize("seconds", SWEEPS.values(), ids=SWEEPS)
@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("parallel", [1, 2, 100])
def test_every_cell_is_in_exactly_one_task_in_order(seconds, cores, parallel):
    tasks = pack(seconds, TaskLimits(10, cores, parallel))
    assert [i for task in tasks for i in task] == list(range(len(seconds)))
    assert all(tasks)


@pytest.mark.parametrize("parallel", [1, 2, 8, 100, 10_000])
def test_ten_thousand_tiny_cells_are_few_jobs(parallel):
    tasks = pack([0.05] * 10_000, TaskLimits(10, 1, parallel))
    assert len(tasks) <= 20
    assert all(0.05 * len(task) >= 0.9 * LEAST_SECONDS for task in tasks[:-1])


def test_no_task_is_longer_than_its_minutes():
    tasks = pack([2.0] * 5000, TaskLimits(minutes=5, cores=2, parallel=2))
    assert max(2.0 * len(task) / 2 for task in tasks) <= 300


def test_a_task_has_a_cell_for_each_of_its_cores():
    assert pack([3600.0] * 10, TaskLimits(minutes=5, cores=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_all_nodes_end_at_about_the_same_time():
    ends = [0.0] * 3
    for task in pack([0.5] * 4000, TaskLimits(minutes=60, parallel=3)):
        ends[ends.index(min(ends))] += 0.5 * len(task)
    assert max(ends) - min(ends) <= LEAST_SECONDS


@pytest.mark.parametrize("count", [1000, 100_000])
@pytest.mark.parametrize("most", [1, 10, 1000])
def test_tasks_grow_where_they_would_be_too_many(count, most):
    assert len(pack([60.0] * count, TaskLimits(minutes=10, parallel=50, most_tasks=most))) <= most


def test_tasks_grow_no_further_than_the_time_limit_of_a_job():
    tasks = pack([60.0] * 10_000, TaskLimits(minutes=10, most_tasks=100, longest_minutes=40))
    assert max(len(task) for task in tasks) == 40


def test_durations_are_learned_per_environment_and_policy():
    durations = Durations()
    for seconds in (9.0, 1.0, 1.0):
        durations.add("a", 10, seconds)
    durations.add("b", 10, 50.0)
    assert durations.expected_of("a", 20) == pytest.approx(2.0)
    assert durations.expected_of("b", 1) == pytest.approx(5.0)
