"""A real Slurm of two nodes for the whole session, and sweeps that run on it while faults happen."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import slurm_bed

ROOT = Path(__file__).parents[2]
SLOW = "policy=callable", "policy.path=slow:policy"
GRID = "env=cartpole", "perturbation.sigma=0,0.05,0.1,0.2,0.4,0.8", "episodes=4"
"""The start of every sweep; with the slow policy, a cell takes about half a second, most of it asleep."""
TABLES = (".csv", ".json", ".md", ".parquet")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory) -> Iterator[slurm_bed.SlurmBed]:
    if reason := slurm_bed.missing():
        pytest.skip(reason)
    bed = slurm_bed.SlurmBed(tmp_path_factory.mktemp("slurm"))
    try:
        bed.up()
        yield bed
    finally:
        bed.down()


@dataclass
class Sweep:
    """A sweep that a user started in a shell, in a folder of its own."""

    bed: slurm_bed.SlurmBed
    folder: Path
    arguments: tuple[str, ...]
    process: subprocess.Popen | None = None

    def start(self, *more: str) -> Sweep:
        # A module in the user's folder, as a user has it: jobs import it too.
        shutil.copy(Path(__file__).with_name("slow.py"), self.folder)
        command = [sys.executable, str(ROOT / "run.py"), "-m", *self.arguments, "hydra.sweep.dir=sweep", *more]
        with (self.folder / "output").open("a") as output:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=self.bed.env, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        return self

    def end(self, code: int = 0, seconds: float = 300) -> str:
        """Waits for the end of the sweep, and returns what it printed."""
        try:
            returned = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"no end within {seconds:g} s:\n{self.output}\n{self.bed.output('squeue')}")
        assert returned == code, self.output
        return self.output

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()

    @property
    def tables(self) -> dict[str, bytes]:
        files = [path for path in (self.folder / "sweep").rglob("*") if path.suffix in TABLES]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    @property
    def stored(self) -> set[str]:
        """The cells that are in the store."""
        return {path.stem for path in (self.folder / "outputs" / "store").glob("??/*.cell")}

    def jobs(self, *states: str) -> list[str]:
        """Returns the ids of jobs in the queue, by default of all that have not ended."""
        lines = self.bed.output("squeue", "-h", "-r", "-o", "%i %T").splitlines()
        return [line.split()[0] for line in lines if not states or line.split()[1] in states]

    def wait_for(self, condition: Callable[[Sweep], object], text: str) -> None:
        """Waits for a state of the sweep while it runs."""
        end = time.monotonic() + 90
        while not condition(self):
            assert time.monotonic() < end, f"{text}:\n{self.output}"
            assert self.process is None or self.process.poll() is None, f"{text}: ended before:\n{self.output}"
            time.sleep(0.05)

    def wait_for_job(self) -> None:
        """Waits until a job of the sweep runs."""
        self.wait_for(lambda sweep: sweep.jobs("RUNNING"), "a job runs")


@pytest.fixture
def sweep(slurm, tmp_path) -> Iterator[Callable[..., Sweep]]:
    """Starts a sweep on Slurm; at the end nothing of it is left in the queue."""
    started = []

    def start(*arguments: str, policy: tuple[str, ...] = SLOW) -> Sweep:
        launcher = "hydra/launcher=slurm", "hydra.launcher.poll_seconds=1", "hydra.launcher.measure_seconds=2"
        started.append(Sweep(slurm, tmp_path, (*GRID, *policy, *launcher, *arguments)))
        return started[-1].start()

    yield start
    for each in started:
        if each.process is not None and each.process.poll() is None:
            each.process.kill()
    slurm.output("scancel", "--user", "root")
    slurm.wait_until(lambda: not slurm.output("squeue", "-h"), "the queue is empty")
    slurm.up()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> Callable[..., dict[str, bytes]]:
    """Returns the tables of the sweep on this machine, without Slurm, by its seeds and policy."""
    tables: dict[tuple, dict[str, bytes]] = {}

    def of(seeds: str, policy: tuple[str, ...] = SLOW) -> dict[str, bytes]:
        if (seeds, policy) not in tables:
            bed = slurm_bed.SlurmBed(tmp_path_factory.mktemp("none"))
            local = Sweep(bed, tmp_path_factory.mktemp("local"), (*GRID, *policy, seeds, "hydra.launcher.n_jobs=8"))
            local.start().end()
            tables[seeds, policy] = local.tables
        return tables[seeds, policy]

    return of
