"""Tasks that were submitted together: their cells, their logs, and how a node runs one of them."""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import pickle
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from brittlestar.cells.files import make_folder, write_file
from brittlestar.cells.job import Outcome
from brittlestar.sweeps.on_slurm.task_log import BEGIN, END, TaskLogReader, TaskLogWriter

Runner = Callable[[Sequence[Any], int], Iterator[Outcome]]
"""Runs jobs on some cores, and yields their outcomes as they end."""
FOLDER = ".tasks"
"""The folder of all submissions, in the store: the same command finds them, whatever its sweep folder is."""
_RECORD = "submission.json"


@dataclass
class Submission:
    """The folder of one submission. Its name is also the name of its jobs in the queue."""

    folder: Path
    cells: list[list[str]]
    """The hashes of the cells of each task, in the order in which the task runs them."""
    losses: dict[str, int] = field(default_factory=dict)
    """How often a cell was lost before, by its hash."""
    ids: list[str] = field(default_factory=list)
    """The ids of the jobs, one for each task; empty if the driver was killed before it knew them."""

    @property
    def name(self) -> str:
        """The name of the jobs."""
        return self.folder.name

    @property
    def array(self) -> str:
        """The id of the array of jobs; a question mark if it is not known."""
        return self.ids[0].partition("_")[0] if self.ids else "?"

    def log(self, task: int) -> Path:
        """Returns the log of outcomes of a task."""
        return self.folder / f"{task}.jsonl"

    def output(self, task: int) -> Path:
        """Returns the file of what a task printed, or the folder of these files."""
        id = self.ids[task] if task < len(self.ids) else ""
        return self.folder / "slurm" / (f"{id}_0_log.out" if id else "")

    def reader(self, task: int) -> TaskLogReader:
        """Returns a reader of the log of a task."""
        return TaskLogReader(self.log(task))

    def id_of(self, task: int) -> str:
        """Returns the id of the job of a task, for messages."""
        return self.ids[task] if task < len(self.ids) else f"{self.name}, task {task}"

    def save(self) -> None:
        """Writes the record by which a later driver finds the submission."""
        record = {"cells": self.cells, "losses": self.losses, "ids": self.ids}
        write_file(self.folder / _RECORD, json.dumps(record), durable=True)

    def close(self, keep_logs: bool = False) -> None:
        """Removes the folder, or only the record: then no later driver collects the outcomes again."""
        (self.folder / _RECORD).unlink(missing_ok=True)
        if not keep_logs:
            shutil.rmtree(self.folder, ignore_errors=True)


def write_submission(store: str, tasks: Sequence[Sequence[Any]], losses: Mapping[str, int], run: Runner) -> Submission:
    """Writes tasks to a new folder in the store, before they are submitted; a node runs them by `run`.

    Raises:
        UserError: if the store cannot be written to; then nothing of the submission is left.
    """
    name = f"brittlestar-{time.strftime('%m%d-%H%M%S')}-{os.urandom(3).hex()}"
    folder = Path(store).absolute() / FOLDER / name
    cells = [[job.cell for job in jobs] for jobs in tasks]
    mine = {cell for task in cells for cell in task}
    submission = Submission(folder, cells, {cell: n for cell, n in losses.items() if cell in mine})
    make_folder(folder)
    try:
        for number, jobs in enumerate(tasks):
            task = os.getcwd(), sys.path, sys.argv, run, list(jobs)
            write_file(folder / f"{number}.task", functools.partial(_dump, task))
        submission.save()
    except BaseException:
        submission.close()
        raise
    return submission


def _dump(task: tuple[Any, ...], file: BinaryIO) -> None:
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed:
        pickle.dump(task, packed)


def find_submissions(store: str) -> Iterator[Submission]:
    """Yields the submissions of a store whose outcomes were not collected yet, the oldest first."""
    for path in sorted(Path(store).absolute().glob(f"{FOLDER}/*/{_RECORD}")):
        # Another driver may remove a submission at any moment.
        with contextlib.suppress(OSError, ValueError):
            yield Submission(path.parent, **json.loads(path.read_text()))


def run_task(folder: str, number: int, cores: int) -> None:
    """Runs one task on a node, and appends the outcome of each of its jobs to the log of the task."""
    # The scheduler cancels a job by SIGTERM, and kills it later. `USR2` only announces the time limit.
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    submission = Submission(Path(folder), [])
    run, jobs = _load(submission, number)
    finished = {outcome.cell for outcome in submission.reader(number).new_outcomes()}
    jobs = [job for job in jobs if job.cell not in finished]
    with TaskLogWriter(submission.log(number)) as log:
        log.event(BEGIN, host=socket.gethostname(), job=os.environ.get("SLURM_JOB_ID"), cells=len(jobs))
        if jobs:
            for outcome in run(jobs, cores):
                log.outcome(outcome)
        log.event(END)


def _load(submission: Submission, number: int) -> tuple[Runner, list[Any]]:
    """Loads the jobs of a task; takes over working directory, import path and command line of the driver."""
    with gzip.open(submission.folder / f"{number}.task", "rb") as file:
        cwd, path, sys.argv, run, jobs = pickle.load(file)
    os.chdir(cwd)
    sys.path += [entry for entry in path if entry not in sys.path]
    return run, jobs


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
