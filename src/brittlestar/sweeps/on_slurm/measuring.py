"""Measures how long cells take: computes some of the first ones on this machine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from brittlestar.sweeps.packing import Durations, kind_of
from brittlestar.sweeps.workers import run_on_workers, stop

if TYPE_CHECKING:
    from brittlestar.cells.job import Outcome, ResolvedJob

_CELLS_PER_KIND, _MOST_KINDS = 3, 8


def measured_outcomes(jobs: Sequence[ResolvedJob], durations: Durations, seconds: float) -> Iterator[Outcome]:
    """Yields the outcomes of some cells of each kind that finish here within some seconds, and adds their durations.

    A cell that fails or takes too long here has no outcome: it may do better on a node.
    """
    if seconds <= 0:
        return
    end = time.monotonic() + seconds
    by_cell = {job.cell: job for job in _first_of_each_kind(jobs)}
    running: Any = run_on_workers(list(by_cell.values()), 1, seconds / 60)
    with closing(running):
        for outcome in running:
            job = by_cell[outcome.cell]
            if outcome.status != "failed":
                durations.add(kind_of(job), job.config["episodes"], outcome.seconds)
                yield outcome
            elif time.monotonic() >= end:
                durations.add(kind_of(job), job.config["episodes"], seconds)
            if time.monotonic() >= end:
                break
    # Their memory is the login node's.
    stop()


def _first_of_each_kind(jobs: Sequence[ResolvedJob]) -> list[ResolvedJob]:
    """Returns some jobs of each kind: first one of each, then a second one of each, and so on."""
    kinds: dict[str, list[ResolvedJob]] = {}
    for job in jobs:
        kinds.setdefault(kind_of(job), []).append(job)
    samples = [same[:_CELLS_PER_KIND] for same in kinds.values()][:_MOST_KINDS]
    return [job for row in itertools.zip_longest(*samples) for job in row if job is not None]
