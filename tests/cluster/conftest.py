"""Real clusters of two nodes, and commands that run on them while faults happen."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import ray_bed
import slurm_bed
from started import APART, GRID, ROOT, SLOW, RayCommand, Started, wait_until_idle

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the commands that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
SLOW_HERE = "policy=callable", "policy.path=slow:policy"
"""A slow policy in the folder of the sweep, which all nodes of Slurm see."""


@pytest.fixture(scope="session")
def slurm(tmp_path_factory) -> Iterator[slurm_bed.SlurmBed]:
    if reason := slurm_bed.missing():
        pytest.skip(reason)
    bed = slurm_bed.SlurmBed(tmp_path_factory.mktemp("slurm"), cpus=2)
    try:
        bed.up()
        yield bed
    finally:
        bed.down()


@pytest.fixture(scope="module")
def bed(tmp_path_factory) -> Iterator[ray_bed.RayBed]:
    """A Ray of two nodes, which do not see the folders of the tests."""
    if reason := ray_bed.missing():
        pytest.skip(reason)
    with ray_bed.RayBed(covered=(str(tmp_path_factory.getbasetemp()),)) as bed:
        yield bed


@pytest.fixture
def ray_command(bed, tmp_path) -> Iterator[Callable[..., RayCommand]]:
    """Starts commands next to Ray; after the test, none of them runs, and both nodes do."""
    started = []

    def start(*words: str, node: str = "", **env: str) -> RayCommand:
        folder = tmp_path / str(len(started))
        folder.mkdir(exist_ok=True)
        started.append(RayCommand(folder, bed, words, env, node))
        return started[-1].start()

    yield start
    for each in started:
        each.kill()
    wait_until_idle(bed)
    bed.up()


@pytest.fixture
def ray_sweep(ray_command) -> Callable[..., RayCommand]:
    """Starts sweeps next to Ray."""
    return lambda *arguments, **more: ray_command("-m", *arguments, "hydra.sweep.dir=sweep", **more)


@pytest.fixture(scope="module")
def ray_local(bed, tmp_path_factory) -> RayCommand:
    """The slow sweep on this machine, without Ray."""
    words = "-m", *GRID, *SLOW, "hydra.launcher.n_jobs=8", "hydra.sweep.dir=sweep"
    local = RayCommand(tmp_path_factory.mktemp("local"), bed, words)
    local.start().end()
    return local


@pytest.fixture(scope="module")
def ray_undisturbed(ray_local) -> dict[str, bytes]:
    assert ray_local.tables
    return ray_local.tables


@dataclass
class Sweep(Started):
    """A sweep on Slurm, or on this machine."""

    bed: slurm_bed.SlurmBed
    arguments: tuple[str, ...]
    apart: bool = False
    """Whether it runs in a process namespace of its own."""

    def start(self, *more: str) -> Sweep:
        # A module in the user's folder, as a user has it: jobs import it too.
        command = [sys.executable, str(ROOT / "run.py"), "-m", *self.arguments, "hydra.sweep.dir=sweep", *more]
        command = [*(APART if self.apart else ()), *command]
        self.begin(command, self.bed.env, "slow.py")
        return self

    def state(self) -> str:
        return self.bed.output("squeue")

    def jobs(self, *states: str) -> list[str]:
        """Returns the ids of jobs in the queue, by default of all that have not ended."""
        lines = self.bed.output("squeue", "-h", "-r", "-o", "%i %T").splitlines()
        return [line.split()[0] for line in lines if not states or line.split()[1] in states]

    def wait_for_job(self) -> None:
        """Waits until a job of the sweep runs."""
        self.wait_for(lambda: self.jobs("RUNNING"), "a job runs")


@pytest.fixture
def sweep(slurm, tmp_path) -> Iterator[Callable[..., Sweep]]:
    """Starts a sweep on Slurm; at the end nothing of it is left in the queue."""
    started = []

    def start(*arguments: str, policy: tuple[str, ...] = SLOW_HERE, folder: str = "", apart: bool = False) -> Sweep:
        launcher = "hydra/launcher=slurm", "hydra.launcher.poll_seconds=1", "hydra.launcher.measure_seconds=2"
        (tmp_path / folder).mkdir(exist_ok=True)
        started.append(Sweep(tmp_path / folder, slurm, (*GRID, *policy, *launcher, *arguments), apart))
        return started[-1].start()

    yield start
    for each in started:
        each.kill()
    slurm.output("scancel", "--user", "root")
    slurm.wait_until(lambda: not slurm.output("squeue", "-h"), "the queue is empty")
    slurm.up()


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Callable[[Path, str], None]]:
    """Gives a folder a size, as a disk of its own. A test names it before its sweeps, which then end before."""
    folders = set()

    def resize(folder: Path, size: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        change = "remount," if folder in folders else ""
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"{change}size={size}", "none", str(folder)], check=True)
        folders.add(folder)

    yield resize
    for folder in folders:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> Callable[..., dict[str, bytes]]:
    """Returns the tables of the sweep on this machine, without Slurm, by its seeds and policy."""
    tables: dict[tuple, dict[str, bytes]] = {}

    def of(seeds: str, policy: tuple[str, ...] = SLOW_HERE) -> dict[str, bytes]:
        if (seeds, policy) not in tables:
            bed = slurm_bed.SlurmBed(tmp_path_factory.mktemp("none"))
            local = Sweep(tmp_path_factory.mktemp("local"), bed, (*GRID, *policy, seeds, "hydra.launcher.n_jobs=8"))
            local.start().end()
            tables[seeds, policy] = local.tables
        return tables[seeds, policy]

    return of
