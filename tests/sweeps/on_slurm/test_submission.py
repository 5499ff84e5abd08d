import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brittlestar.cells.job import Job, Outcome, resolve
from brittlestar.cells.store import read_record
from brittlestar.errors import UserError
from brittlestar.sweeps.on_slurm.submission import find_submissions, write_submission
from brittlestar.sweeps.on_slurm.task_log import TaskLogReader, TaskLogWriter
from brittlestar.sweeps.on_slurm.work import CELLS

RUN = (
    "import sys; from brittlestar.sweeps.on_slurm.submission import run_task; "
    "run_task(sys.argv[1], int(sys.argv[2]), 1)"
)


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = {"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1", "lanes": 4, "backend": "gymnasium"}
    config = {
        "env": env,
        "policy": {"_target_": "brittlestar.policies.RandomPolicy"},
        "perturbation": {"_target_": "brittlestar.perturbations.Perturbation"},
        "mitigation": {"_target_": "brittlestar.mitigations.Mitigation"},
        "stress_schedule": {"_target_": "brittlestar.schedules.Constant"},
        "episodes": 2,
        "episode_seeds": "independent",
        "deterministic": True,
        "lanes": 4,
        "threads": 1,
        # Relative to the folder of the driver.
        "store": "store",
    }
    return [resolve(Job(config | {"seed": seed}, number=seed)) for seed in range(3)]


def run_elsewhere(submission, task, cwd):
    """Runs a task as a node does: in another process, with another working directory."""
    subprocess.run([sys.executable, "-c", RUN, str(submission.folder), str(task)], check=True, cwd=cwd)


def test_a_task_writes_its_cells_to_the_store_of_the_driver_and_its_outcomes_to_its_log(jobs, tmp_path):
    submission = write_submission("store", [jobs[:2], jobs[2:]], {}, CELLS.run)
    run_elsewhere(submission, 0, "/")
    outcomes = list(submission.reader(0).new_outcomes())
    assert [(outcome.status, outcome.number, outcome.cell) for outcome in outcomes] == [
        ("done", number, jobs[number].cell) for number in (0, 1)
    ]
    stored = [read_record(str(tmp_path / "store"), job.cell) is not None for job in jobs]
    assert stored == [True, True, False]


def test_a_task_that_is_requeued_skips_what_its_log_has(jobs):
    submission = write_submission("store", [jobs], {}, CELLS.run)
    with TaskLogWriter(submission.log(0)) as log:
        log.outcome(Outcome("failed", 0, jobs[0].cell, error="for good"))
    run_elsewhere(submission, 0, ".")
    outcomes = list(submission.reader(0).new_outcomes())
    assert [outcome.status for outcome in outcomes] == ["failed", "done", "done"]


def test_a_later_driver_finds_a_submission_until_it_is_closed(jobs):
    first = write_submission("store", [jobs[:2], jobs[2:]], {jobs[0].cell: 2, "another": 1}, CELLS.run)
    second = write_submission("store", [jobs[:1]], {}, CELLS.run)
    first.ids = ["7_0", "7_1"]
    first.save()
    found = {submission.name: submission for submission in find_submissions("store")}
    assert found.keys() == {first.name, second.name}
    assert found[first.name].cells == [[job.cell for job in jobs[:2]], [jobs[2].cell]]
    assert found[first.name].losses == {jobs[0].cell: 2}
    assert found[first.name].array == "7"
    first.close(keep_logs=True)
    second.close()
    assert not list(find_submissions("store"))
    assert first.folder.exists() and not second.folder.exists()


@pytest.mark.parametrize("file", ["0.task", "submission.json"])
def test_a_full_disk_is_one_line_and_leaves_nothing(jobs, tmp_path, monkeypatch, file):
    def rename(path, target):
        if target.name == file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.rename(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(UserError, match=f"cannot write .*{file}: No space left on device"):
        write_submission("store", [jobs], {}, CELLS.run)
    assert list((tmp_path / "store" / ".tasks").iterdir()) == []


def test_a_submission_that_was_never_recorded_is_not_found(jobs):
    submission = write_submission("store", [jobs], {}, CELLS.run)
    (submission.folder / "submission.json").write_text('{"cells": [[')
    assert not list(find_submissions("store"))
    assert TaskLogReader(submission.log(0)).has_begun is False
