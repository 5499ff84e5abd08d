"""The driver of trainings on a Ray cluster: claims their folders, sends them, and writes what comes back."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Outcome
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.executor import run_work
from brittlestar.sweeps.on_ray.options import RayOptions
from brittlestar.sweeps.on_ray.task import NodeFunction
from brittlestar.sweeps.on_ray.work import RayWork
from brittlestar.sweeps.progress import Progress
from brittlestar.training.folder import METADATA, exclusive
from brittlestar.training.job import TrainingJob
from brittlestar.training.on_ray.archive import ARRIVED, Piece, add_piece, file_digest, pack_folder, unpack_folder
from brittlestar.training.on_ray.node import NodeTraining, run_training

_SENT, _ARRIVING = ".sent", ".arriving"
"""Hidden files in the folder of a training: archives on their way."""


def train_on_ray(options: RayOptions, jobs: Sequence[TrainingJob], progress: Progress) -> Iterator[Outcome]:
    """Trains on a Ray cluster and writes the folders here; an executor, once `options` are given.

    One process at a time has the folder of a training. A folder that another process has is a failed training.
    """
    with contextlib.ExitStack() as claims:
        claimed = []
        for job in jobs:
            try:
                claims.enter_context(exclusive(job.folder))
            except UserError as error:
                yield Outcome("failed", job.number, job.cell, error=str(error))
                continue
            # The training that had the folder may have ended meanwhile.
            if (job.folder / METADATA).is_file():
                yield Outcome("cached", job.number, job.cell)
            else:
                # Also those of a driver that was killed.
                _remove_archives(job.folder)
                claims.callback(_remove_archives, job.folder)
                claimed.append(job)
        if claimed:
            yield from run_work(options, TrainingWork(options, progress), claimed, progress)


class TrainingWork(RayWork):
    """Trainings: a node sends lines and archives of the folder while it trains, and the whole folder at the end."""

    noun = TrainingJob.noun
    cores = 1
    packages = ("stable-baselines3", "sb3-contrib", "torch")

    def __init__(self, options: RayOptions, progress: Progress) -> None:
        self._options, self._progress = options, progress
        self._errors: dict[str, str] = {}

    @property
    def run(self) -> NodeFunction:
        """The function that trains on a node."""
        return run_training

    def prepare(self, job: TrainingJob) -> tuple[NodeTraining, dict[str, str]]:
        """Packs what the folder of a training holds: that of an earlier command, or a checkpoint of a lost task."""
        task = NodeTraining(job, max(1, math.floor(self._options.num_cpus)), 60 * self._options.checkpoint_minutes)
        archive = job.folder / _SENT
        try:
            if not pack_folder(job.folder, archive):
                return task, {}
        except OSError as error:
            raise UserError(f"cannot write {archive}: {error.strerror}") from None
        return dataclasses.replace(task, archive=str(archive)), {str(archive): file_digest(archive)}

    def hear(self, job: TrainingJob, news: str | Piece) -> None:
        """Prints a line, or writes a piece of an archive; a whole archive replaces the content of the folder."""
        if isinstance(news, str):
            self._progress.pass_on(news)
            return
        archive = job.folder / _ARRIVING
        try:
            if add_piece(archive, news):
                unpack_folder(archive, job.folder)
                archive.unlink()
                self._errors.pop(job.cell, None)
        except OSError as error:
            self._errors[job.cell] = f"cannot write to {job.folder}: {error.strerror}"

    def finish(self, job: TrainingJob, outcome: Outcome, result: Any) -> Outcome:
        """Returns the outcome of a training; one whose folder could not be written has failed."""
        _remove_archives(job.folder)
        if outcome.error or (job.folder / METADATA).is_file():
            return outcome
        error = self._errors.get(job.cell, f"its files did not arrive whole in {job.folder}")
        return dataclasses.replace(outcome, status="failed", error=error)


def _remove_archives(folder: Path) -> None:
    shutil.rmtree(folder / ARRIVED, ignore_errors=True)
    for name in (_SENT, _ARRIVING):
        (folder / name).unlink(missing_ok=True)
