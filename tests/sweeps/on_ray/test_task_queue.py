from brittlestar.cells.job import Outcome
from brittlestar.sweeps.on_ray.task_queue import TaskQueue


class Cell:
    """What the queue knows about a job."""

    def __init__(self, number: int) -> None:
        self.number, self.cell = number, f"cell {number}"
        self.config = {"env": {"id": "CartPole-v1"}, "policy": {}, "episodes": 10}


def queue(cells: int, cores: int = 1, retries: int = 1) -> TaskQueue:
    return TaskQueue([Cell(number) for number in range(cells)], minutes=10, cores=cores, retries=retries)


def numbers(jobs) -> list[int]:
    return [job.number for job in jobs]


def test_until_a_cell_is_measured_a_task_has_one_cell_per_core():
    tasks = queue(5, cores=2)
    assert [numbers(tasks.take(slots=4)) for _ in range(3)] == [[0, 1], [2, 3], [4]]


def test_short_cells_are_packed_when_one_was_measured():
    tasks = queue(10_001)
    (first,) = tasks.take(slots=2)
    tasks.add_finished(first, Outcome("done", first.number, first.cell, 10, seconds=0.05))
    count = 1
    while tasks:
        assert tasks.take(slots=2)
        count += 1
    assert count < 20


def test_a_cell_without_a_measured_time_does_not_count():
    tasks = queue(2)
    (first,) = tasks.take(slots=1)
    tasks.add_finished(first, Outcome("failed", first.number, first.cell, error="it broke"))
    assert not tasks.is_measured


def test_the_cells_that_ran_when_a_task_died_run_alone_and_the_others_wait():
    tasks = queue(6, cores=2)
    died = [*tasks.take(slots=1), *tasks.take(slots=1)]
    assert list(tasks.put_back(died, "the node was lost")) == []
    assert len(tasks) == 6
    assert [numbers(tasks.take(slots=1)) for _ in range(4)] == [[0], [1], [2, 3], [4, 5]]


def test_cells_that_never_ran_are_no_suspects():
    tasks = queue(4, cores=2)
    tasks.put_back_unstarted([*tasks.take(slots=1), *tasks.take(slots=1)])
    assert [numbers(tasks.take(slots=1)) for _ in range(2)] == [[0, 1], [2, 3]]


def test_a_cell_that_ends_too_many_tasks_fails_with_the_reason():
    tasks = queue(1, retries=1)
    assert list(tasks.put_back(tasks.take(slots=1), "the node was lost")) == []
    (outcome,) = tasks.put_back(tasks.take(slots=1), "the Ray worker died")
    assert (outcome.status, outcome.cell) == ("failed", "cell 0")
    assert outcome.error == "its task ended 2 times without a result, the last time because the Ray worker died"
    assert len(tasks) == 0
