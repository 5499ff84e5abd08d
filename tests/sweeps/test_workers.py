"""Workers: forked from a process that has imported the engine, and ended without waiting."""

import multiprocessing

import pytest

pytest.importorskip("joblib")

from joblib.externals.loky import get_reusable_executor

from brittlestar.cells.job import Job
from brittlestar.sweeps import workers

PRELOADED = "'brittlestar.sweeps.preload' in __import__('sys').modules"


@pytest.fixture
def outcomes(tmp_path):
    """The outcomes of two jobs that cannot be resolved."""
    jobs = [Job({"episode": 1, "perturbation": {}}, str(tmp_path / name)) for name in ("0", "1")]
    yield list(workers.run_on_workers(jobs, 2, {}))
    workers.stop()


def test_outcomes_of_all_jobs_come_back(outcomes, tmp_path):
    assert {outcome.status for outcome in outcomes} == {"failed"}
    assert sorted(outcome.folder for outcome in outcomes) == [str(tmp_path / name) for name in ("0", "1")]


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs a process to fork from")
@pytest.mark.usefixtures("outcomes")
def test_workers_are_forked_from_the_process_that_imported_the_engine():
    assert get_reusable_executor(reuse=True).submit(eval, PRELOADED).result()


@pytest.mark.usefixtures("outcomes")
def test_stopped_workers_take_no_more_cells():
    executor = get_reusable_executor(reuse=True)
    workers.stop()
    with pytest.raises(RuntimeError, match="shutdown"):
        executor.submit(int)


def test_stopping_without_workers_starts_none(monkeypatch):
    monkeypatch.setattr(workers, "_started", False)
    monkeypatch.setattr("joblib.externals.loky.get_reusable_executor", lambda **kwargs: pytest.fail("started"))
    workers.stop()
