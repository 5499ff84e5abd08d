"""What a cell costs beside its rollout."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from brittlestar import cell, rollout
from brittlestar.launch import Composer

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
        started = time.perf_counter()
        jobs = [composer.job([*fixed, f"seed={seed}"], seed) for seed in range(count + 1)]
        composing = (time.perf_counter() - started) / len(jobs)
        outside = _outside_rollout(jobs)
    return [
        Figure("composing a cell in the launcher", composing * _MS, "ms"),
        Figure("running a warm cell, less its rollout", outside * _MS, "ms"),
        Figure("framework time per warm cell", (composing + outside) * _MS, "ms", at_most=30),
    ]


def _outside_rollout(jobs: list[cell.Job]) -> float:
    """Returns seconds per cell; the first job only warms up."""
    cell.run(jobs[0])
    with clocked(rollout, "rollout") as clock:
        started = time.perf_counter()
        outcomes = [cell.run(job) for job in jobs[1:]]
        seconds = time.perf_counter() - started
    assert all(outcome.status == "done" for outcome in outcomes) and clock.seconds > 0
    return (seconds - clock.seconds) / len(outcomes)
