"""Times a sweep of many short cells on two Ray nodes of one core each, and on two local workers.

python tests/cluster/ray_speed.py [CELLS]    # 10000 by default, about ten minutes on an idle machine with two cores
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ray_bed

CELL_SECONDS = 0.05
MOST_RATIO, MOST_TASKS = 1.3, 200
RAY = "hydra/launcher=ray", f"hydra.launcher.address={ray_bed.ADDRESS}"
COUNTING = """
import sys
from brittlestar.commands.main import main
from brittlestar.sweeps.on_ray import executor

class CountedSweep(executor.RaySweep):
    def run(self):
        yield from super().run()
        open("tasks", "w").write(str(self.sent))

executor.RaySweep = CountedSweep
main()
"""


def sweep(bed: ray_bed.RayBed, folder: Path, *arguments: str) -> float:
    """Returns the seconds of a whole command."""
    folder.mkdir()
    command = [sys.executable, "-c", COUNTING, "-m", "env=cartpole", "policy=random", *arguments]
    env = bed.env | {"PYTHONPATH": ray_bed.SOURCE}
    start = time.perf_counter()
    subprocess.run(
        bed.command(*command, "hydra.sweep.dir=sweep"), cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def episodes_of(bed: ray_bed.RayBed, folder: Path) -> int:
    """Returns how many episodes take `CELL_SECONDS`."""
    sweep(bed, folder, "seed=range(40)", "episodes=100", "hydra.launcher.n_jobs=1")
    index = (folder / "sweep" / "cells.jsonl").read_text()
    seconds = sorted(map(float, re.findall(r'"seconds": ([\d.e-]+)', index)))
    return max(1, round(100 * CELL_SECONDS / seconds[len(seconds) // 2]))


def main() -> int:
    """Prints seconds, ratio and tasks, and returns whether they are within the bars."""
    if reason := ray_bed.missing():
        print(reason, file=sys.stderr)
        return 1
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as temporary, ray_bed.RayBed() as bed:
        folder = Path(temporary)
        grid = f"seed=range({cells})", f"episodes={episodes_of(bed, folder / 'first')}"
        local = sweep(bed, folder / "local", *grid, "hydra.launcher.n_jobs=2")
        on_ray = sweep(bed, folder / "ray", *grid, *RAY)
        tasks = int((folder / "ray" / "tasks").read_text())
    ratio = on_ray / local
    print(
        f"{cells} cells, {grid[1]}: local {local:.1f} s, Ray {on_ray:.1f} s, ratio {ratio:.2f} (at most {MOST_RATIO})"
    )
    print(f"{tasks} tasks (at most {MOST_TASKS})")
    return int(ratio > MOST_RATIO or tasks > MOST_TASKS)


if __name__ == "__main__":
    sys.exit(main())
