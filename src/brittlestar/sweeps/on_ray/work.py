"""The kinds of work that a Ray cluster does: what travels with a job, how a node runs it, and what comes back."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from brittlestar.cells.job import Outcome, ResolvedJob
from brittlestar.cells.store import write_record
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.options import RayOptions
from brittlestar.sweeps.on_ray.task import NodeFunction, run_cells


class RayWork(ABC):
    """A kind of jobs, as the driver sees it. A job has a `config`, a `number` and a `cell` that identifies it."""

    noun: str
    """What its jobs are called in messages."""
    cores: int
    """Jobs of one task that run side by side."""
    packages: Sequence[str] = ()
    """Packages that must have the same version on every node, beside those of the engine."""

    @property
    @abstractmethod
    def run(self) -> NodeFunction:
        """The function that runs jobs on a node."""

    def prepare(self, job: Any) -> tuple[Any, dict[str, str]]:
        """Returns what travels in place of a job, and the digests of files that travel with it, by their paths."""
        return job, {}

    def hear(self, job: Any, news: Any) -> None:
        """Takes what a job that still runs sends to the driver."""
        raise NotImplementedError(f"{self.noun} send nothing before they have ended")

    @abstractmethod
    def finish(self, job: Any, outcome: Outcome, result: Any) -> Outcome:
        """Writes the result of a job to disk, and returns its outcome."""


class CellWork(RayWork):
    """Cells: a node computes them, and the driver writes their records to the store."""

    noun = "cells"

    def __init__(self, options: RayOptions) -> None:
        self.cores = max(1, math.floor(options.num_cpus))

    @property
    def run(self) -> NodeFunction:
        """The function that computes cells on a node."""
        return run_cells

    def finish(self, job: ResolvedJob, outcome: Outcome, result: bytes | None) -> Outcome:
        """Writes the record of a cell to the store; a full disk fails the cell, as it does without Ray."""
        try:
            if result is not None:
                write_record(job.config["store"], job.cell, result)
        except UserError as error:
            return dataclasses.replace(outcome, status="failed", error=str(error))
        return outcome
