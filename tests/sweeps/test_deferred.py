from dataclasses import dataclass

import pytest

from brittlestar.cells.job import Outcome
from brittlestar.sweeps.deferred import Deferral, Deferred, current_deferral, executor_or


@dataclass
class Errand:
    """A job that only has a name."""

    cell: str
    noun = "errands"


def run(jobs, progress):
    return (Outcome("done", cell=job.cell) for job in jobs)


def test_a_call_runs_again_until_its_work_is_done(capsys):
    deferral = Deferral()

    def call():
        print("first step")
        current_deferral().need([Errand("a"), Errand("b")])
        print("second step")
        current_deferral().need([Errand("c")])
        print("end")
        return "result"

    results, done = [], []
    while "result" not in results:
        results.append(deferral.attempt(call))
        done.append(list(deferral.wanted))
        deferral.run_wanted({Errand: run})
    assert results == [None, None, "result"]
    assert done == [["a", "b"], ["c"], []]
    captured = capsys.readouterr()
    assert captured.out == "first step\nsecond step\nend\n"
    assert "2/2 errands: 2 done" in captured.err


def test_calls_that_need_the_same_work_get_it_once():
    deferral, runs = Deferral(), []

    def counted(jobs, progress):
        runs.extend(job.cell for job in jobs)
        return run(jobs, progress)

    calls = [lambda: deferral.need([Errand("a")]), lambda: deferral.need([Errand("a"), Errand("b")])]
    assert [deferral.attempt(call) for call in calls] == [None, None]
    deferral.run_wanted({Errand: counted})
    assert sorted(runs) == ["a", "b"]
    assert all(deferral.attempt(call) for call in calls)


def test_a_failed_job_is_not_run_again():
    deferral = Deferral()
    deferral.attempt(lambda: deferral.need([Errand("a")]))
    deferral.run_wanted({Errand: lambda jobs, progress: [Outcome("failed", cell="a", error="it broke")]})
    (outcome,) = deferral.attempt(lambda: deferral.need([Errand("a")]))
    assert outcome.error == "it broke"
    assert not deferral.has_done("a")


def test_code_that_catches_exceptions_does_not_stop_a_deferral():
    def careless():
        try:
            deferral.need([Errand("a")])
        except Exception:
            return "caught"

    deferral = Deferral()
    assert deferral.attempt(careless) is None


def test_without_a_cluster_cells_are_computed_here():
    assert current_deferral() is None
    assert executor_or(run) is run


def test_with_a_cluster_cells_are_left_to_it():
    deferral = Deferral()
    assert deferral.attempt(lambda: list(executor_or(run)([Errand("a")], None))) is None
    assert list(deferral.wanted) == ["a"]
    with pytest.raises(Deferred):
        deferral.need([Errand("b")])
