"""Times a sweep of many short cells on two local workers, on a Slurm and on a Ray of two nodes with one core each.

python tests/cluster/speed.py [CELLS] [slurm] [ray]    # 10000 cells and both by default

It prints seconds, the ratio to the local sweep and the number of jobs, and fails if they exceed the bars. On an idle
machine with two cores, each of the three sweeps of 10,000 cells takes about five minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import ray_bed
import slurm_bed
from started import TABLES

CELL_SECONDS = 0.05
MOST_RATIO, MOST_JOBS = 1.3, 200
COUNTING = """
from brittlestar.commands.main import main
from brittlestar.sweeps.on_ray import executor

class CountedSweep(executor.RaySweep):
    def run(self):
        yield from super().run()
        open("tasks", "w").write(str(self.sent))

executor.RaySweep = CountedSweep
main()
"""
"""The program, which also writes how many tasks it sent to Ray."""


@dataclass
class Place:
    """Where a sweep runs: words before its command, its environment, and its launcher."""

    prefix: Sequence[str]
    env: Mapping[str, str]
    launcher: Sequence[str]
    bed: slurm_bed.SlurmBed | None = None

    def sweep(self, folder: Path, *arguments: str) -> float:
        """Runs a sweep in a new folder, and returns the seconds of the whole command."""
        folder.mkdir()
        program = [sys.executable, "-c", COUNTING, "-m", "env=cartpole", "policy=random", "hydra.sweep.dir=sweep"]
        command = [*self.prefix, *program, *self.launcher, *arguments]
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, env=dict(self.env), check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    def jobs(self, folder: Path) -> int:
        """Returns how many jobs or tasks the sweep in a folder needed."""
        if self.bed is None:
            return int((folder / "tasks").read_text())
        return len(self.bed.output("sacct", "-n", "-X", "-P", "-o", "JobID").split())


@contextmanager
def on_this_machine() -> Iterator[Place]:
    """Two workers of this machine."""
    bed = slurm_bed.SlurmBed(Path("none"))
    yield Place([], {**bed.env, "PYTHONPATH": ray_bed.SOURCE}, ["hydra.launcher.n_jobs=2"])


@contextmanager
def on_slurm() -> Iterator[Place]:
    """Two nodes of Slurm."""
    with tempfile.TemporaryDirectory(prefix="slurm-speed-") as folder:
        bed = slurm_bed.SlurmBed(Path(folder))
        try:
            bed.up()
            yield Place([], {**bed.env, "PYTHONPATH": ray_bed.SOURCE}, ["hydra/launcher=slurm"], bed)
        finally:
            bed.down()


@contextmanager
def on_ray() -> Iterator[Place]:
    """Two nodes of Ray."""
    with ray_bed.RayBed() as bed:
        launcher = ["hydra/launcher=ray", f"hydra.launcher.address={ray_bed.ADDRESS}"]
        yield Place(bed.command(), bed.env | {"PYTHONPATH": ray_bed.SOURCE}, launcher)


def episodes_of(place: Place, folder: Path) -> int:
    """Returns how many episodes take `CELL_SECONDS`."""
    place.sweep(folder, "seed=range(40)", "episodes=100", "hydra.launcher.n_jobs=1")
    index = (folder / "sweep" / "cells.jsonl").read_text()
    seconds = sorted(map(float, re.findall(r'"seconds": ([\d.e-]+)', index)))
    return max(1, round(100 * CELL_SECONDS / seconds[len(seconds) // 2]))


def tables(folder: Path) -> dict[str, bytes]:
    """Returns the tables of the sweep in a folder."""
    paths = [path for path in (folder / "sweep").rglob("*") if path.suffix in TABLES]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def main(words: Sequence[str]) -> int:
    """Prints seconds, ratios and jobs, and returns whether they are within the bars."""
    clusters = {"slurm": (on_slurm, slurm_bed.missing()), "ray": (on_ray, ray_bed.missing())}
    cells = next((int(word) for word in words if word.isdigit()), 10_000)
    names = [name for name in clusters if name in words] or list(clusters)
    if reasons := [clusters[name][1] for name in names if clusters[name][1]]:
        sys.exit("; ".join(reasons))
    within = True
    with tempfile.TemporaryDirectory() as temporary, on_this_machine() as here:
        folder = Path(temporary)
        grid = f"seed=range({cells})", f"episodes={episodes_of(here, folder / 'first')}"
        local = here.sweep(folder / "local", *grid)
        print(f"{cells} cells of {CELL_SECONDS} s ({grid[1]}): {local:.1f} s on two local workers", flush=True)
        for name in names:
            with clusters[name][0]() as place:
                seconds = place.sweep(folder / name, *grid)
                jobs = place.jobs(folder / name)
            same = tables(folder / name) == tables(folder / "local")
            limits = f"ratio {seconds / local:.2f} (at most {MOST_RATIO}), {jobs} jobs (at most {MOST_JOBS})"
            print(f"{name}: {seconds:.1f} s, {limits}, tables {'equal' if same else 'DIFFER'}", flush=True)
            within &= same and seconds <= MOST_RATIO * local and jobs <= MOST_JOBS
    return int(not within)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
