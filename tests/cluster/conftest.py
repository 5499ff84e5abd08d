"""Real clusters of two nodes, and commands that run on them while faults happen."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import ray_bed
import slurm_bed
from started import ROOT, RayCommand, Started, wait_until_idle

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the commands that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
SLOW = "policy=callable", "policy.path=slow:policy"
GRID = "env=cartpole", "perturbation.sigma=0,0.05,0.1,0.2,0.4,0.8", "episodes=4"
"""The start of every sweep; with the slow policy, a cell takes about half a second, most of it asleep."""


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

    def start(*words: str, **env: str) -> RayCommand:
        folder = tmp_path / str(len(started))
        folder.mkdir(exist_ok=True)
        started.append(RayCommand(folder, bed, words, env))
        return started[-1].start()

    yield start
    for each in started:
        each.kill()
    wait_until_idle(bed)
    bed.up()


@dataclass
class Sweep(Started):
    """A sweep on Slurm, or on this machine."""

    bed: slurm_bed.SlurmBed
    arguments: tuple[str, ...]

    def start(self, *more: str) -> Sweep:
        # A module in the user's folder, as a user has it: jobs import it too.
        command = [sys.executable, str(ROOT / "run.py"), "-m", *self.arguments, "hydra.sweep.dir=sweep", *more]
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

    def start(*arguments: str, policy: tuple[str, ...] = SLOW) -> Sweep:
        launcher = "hydra/launcher=slurm", "hydra.launcher.poll_seconds=1", "hydra.launcher.measure_seconds=2"
        started.append(Sweep(tmp_path, slurm, (*GRID, *policy, *launcher, *arguments)))
        return started[-1].start()

    yield start
    for each in started:
        each.kill()
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
            local = Sweep(tmp_path_factory.mktemp("local"), bed, (*GRID, *policy, seeds, "hydra.launcher.n_jobs=8"))
            local.start().end()
            tables[seeds, policy] = local.tables
        return tables[seeds, policy]

    return of
