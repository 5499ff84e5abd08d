"""What a cell costs beside its rollout."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job
from brittlestar.engine import evaluation
from brittlestar.sweeps.compose import Composer

from .figures import Figure
from .sweeps import make_launcher
from .timing import clocked

_MS = 1000.0


def framework(quick: bool) -> list[Figure]:
    """Composes, then runs one-episode cells of CartPole in this process."""
    count = 10 if quick else 40
    with tempfile.TemporaryDirectory() as folder:
        composer = Composer(make_launcher(Path(folder)))
        fixed = ["env=cartpole", "policy=random", "episodes=1", f"store={folder}/store"]
        composer.job(fixed, 0)
        jobs, composing = [], []
        for seed in range(count + 1):
            started = time.perf_counter()
            jobs.append(composer.job([*fixed, f"seed={seed}"], seed))
            composing.append(time.perf_counter() - started)
        outside = _outside_rollout(jobs)
    return [
        Figure("composing a cell in the launcher", median(composing) * _MS, "ms"),
        Figure("running a warm cell, less its rollout", median(outside) * _MS, "ms"),
        Figure("framework time per warm cell", (median(composing) + median(outside)) * _MS, "ms", at_most=30),
    ]


def _outside_rollout(jobs: list[Job]) -> list[float]:
    """Returns the seconds of each cell; the first job only warms up."""
    cell.run(jobs[0])
    seconds = []
    for job in jobs[1:]:
        with clocked(evaluation, "rollout") as clock:
            started = time.perf_counter()
            outcome = cell.run(job)
            seconds.append(time.perf_counter() - started - clock.seconds)
        assert outcome.status == "done" and clock.seconds > 0, outcome.error
    return seconds
