"""`brittlestar watch` of sweeps that run on a real Slurm and on a real Ray: progress, partial tables, the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from started import GRID, RAY, SECONDS, SLOW, RayCommand, Started

pytestmark = pytest.mark.cluster
SEEDS = "seed=range(8)"
ON_RAY = "-m", *GRID, *SLOW, *RAY, "hydra.sweep.dir=sweep"


@pytest.fixture
def watch() -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts `watch` in another process, which knows of no cluster."""
    started = []

    def start(sweep: Started, *words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "brittlestar.commands.main", "watch", "sweep", *words]
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        started.append(subprocess.Popen(command, cwd=sweep.folder, env=env, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def output(process: subprocess.Popen, code: int = 0) -> str:
    text, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == code, text
    return text


def wait_for_cells(sweep: Started) -> None:
    """Waits until the sweep has a few cells in its index."""
    index = sweep.folder / "sweep" / "cells.jsonl"
    # The first line is the header.
    sweep.wait_for(lambda: index.is_file() and index.read_text().count("\n") > 6, "cells have ended")


def check_partial(text: str, pid: int) -> int:
    """Checks the state of a sweep that runs, and returns how many cells it has."""
    title = re.match(r"sweep, partial: (\d+) of 48 cells: (\d+) done, 0 failed; process (\d+) on \S+ runs", text)
    assert title, text
    assert title[1] == title[2] and 0 < int(title[1]) < 48 and int(title[3]) == pid
    assert "| sigma | n_seeds" in text
    return int(title[1])


def check_end(text: str, sweep: Started) -> None:
    """Checks that the last tables of a watch are those of the sweep."""
    assert "sweep, all 48 cells: 48 done, 0 failed; ended" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 8 and all(row in sweep.output for row in rows)


@pytest.mark.short
def test_a_sweep_on_slurm_is_watched_until_it_ends(sweep, watch):
    run = sweep(SEEDS)
    wait_for_cells(run)
    check_partial(output(watch(run, "--once")), run.process.pid)
    whole = watch(run)
    run.end()
    check_end(output(whole), run)


def test_a_slurm_sweep_whose_command_was_killed_is_stopped_and_its_cells_are_kept(sweep, watch):
    run = sweep(SEEDS)
    wait_for_cells(run)
    before = check_partial(output(watch(run, "--once")), run.process.pid)
    whole = watch(run)
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    text = output(whole, code=1)
    assert "was stopped with" in text and "jobs of a cluster may still run" in text
    assert int(re.search(r"was stopped with (\d+) of 48 cells", text)[1]) >= before
    run.start()
    run.end()
    check_end(output(watch(run)), run)


def test_a_slurm_sweep_that_does_not_wait_is_watched_when_its_command_collects(sweep, watch):
    run = sweep(SEEDS, "hydra.launcher.wait=false")
    run.end()
    text = output(watch(run), code=1)
    assert re.search(r"partial: \d+ of 48 cells: \d+ done, 0 failed; stopped", text), text
    collect = run.start("hydra.launcher.wait=true")
    collect.end()
    check_end(output(watch(run)), run)


@pytest.mark.short
def test_a_sweep_on_ray_is_watched_until_it_ends(ray_command, watch):
    on_ray: RayCommand = ray_command(*ON_RAY)
    wait_for_cells(on_ray)
    check_partial(output(watch(on_ray, "--once")), on_ray.process.pid)
    whole = watch(on_ray)
    on_ray.end()
    check_end(output(whole), on_ray)


def test_a_ray_sweep_with_killed_workers_is_watched_to_the_same_tables(bed, ray_command, watch):
    on_ray = ray_command(*ON_RAY)
    wait_for_cells(on_ray)
    whole = watch(on_ray)
    for pid in bed.workers():
        os.kill(pid, signal.SIGKILL)
    on_ray.end()
    check_end(output(whole), on_ray)
