"""Commands that a user started in a shell, each in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import ray_bed
import slurm_bed

ROOT = Path(__file__).parents[2]
TABLES = (".csv", ".json", ".md", ".parquet")
SECONDS = 600
"""How long a test waits for what must happen. It is no promise: a busy machine may need minutes."""
_PROGRESS = re.compile(r"[\d,]+/[\d,]+ (cells|trainings|jobs|steps)\b")
GRID = "env=cartpole", "perturbation.sigma=0,0.05,0.1,0.2,0.4,0.8", "episodes=4"
"""The start of every sweep; with a slow policy, a cell takes about half a second, most of it asleep."""
SLOW = "policy=callable", "policy.path=far_agents:slow", "seed=range(8)"
"""48 cells with a slow policy that can travel to other nodes."""
RAY = "hydra/launcher=ray", f"hydra.launcher.address={ray_bed.ADDRESS}"
APART = "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"
"""Runs a command as in a container of its own: its process ids are those of other containers too."""


@dataclass
class Started:
    """A command, and what it left in its folder."""

    folder: Path
    process: subprocess.Popen | None = field(default=None, init=False)

    def begin(self, command: Sequence[str], env: dict[str, str], module: str) -> None:
        """Starts the command next to a module of the user; what it prints is added to a file."""
        shutil.copy(Path(__file__).with_name(module), self.folder)
        with (self.folder / "output").open("a") as output:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=env, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )

    def end(self, code: int = 0, seconds: float = SECONDS) -> str:
        """Waits for the end of the command, and returns what it printed."""
        try:
            returned = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"no end within {seconds:g} s:\n{self.output}\n{self.state()}")
        assert returned == code, self.output
        return self.output

    def kill(self) -> None:
        """Kills the command, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def state(self) -> str:
        """Returns the state of the cluster, for a message."""
        return ""

    def wait_for(self, condition: Callable[[], object], text: str, seconds: float = SECONDS) -> None:
        """Waits for a state while the command runs."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{text}:\n{self.output}"
            assert self.process is None or self.process.poll() is None, f"{text}: ended before:\n{self.output}"
            time.sleep(0.05)

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()

    @property
    def errors(self) -> list[str]:
        """Its lines that start with the name of the program."""
        return [line for line in self.output.splitlines() if line.startswith("brittlestar: ")]

    @property
    def tables(self) -> dict[str, bytes]:
        return self.files("sweep", *TABLES)

    def files(self, folder: str, *suffixes: str) -> dict[str, bytes]:
        """Returns the content of files below a folder, by their relative paths."""
        paths = [path for path in (self.folder / folder).rglob("*") if path.suffix in suffixes]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}

    @property
    def stored(self) -> set[str]:
        """The cells that are in the store."""
        return {path.stem for path in (self.folder / "outputs" / "store").glob("??/*.cell")}


@dataclass
class RayCommand(Started):
    """A command next to a Ray of two nodes."""

    bed: ray_bed.RayBed
    words: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    node: str = ""
    """The node in whose container it runs; empty for this machine."""

    def start(self) -> RayCommand:
        words = sys.executable, "-m", "brittlestar.commands.main", *self.words
        command = self.bed.inside(self.node, self.folder, *words) if self.node else self.bed.command(*words)
        self.begin(command, self.bed.env | {"PYTHONPATH": ray_bed.SOURCE} | self.env, "far_agents.py")
        return self

    def again(self, *more: str) -> RayCommand:
        """Starts the same command in the same folder, with more words."""
        (self.folder / "output").unlink()
        return RayCommand(self.folder, self.bed, (*self.words, *more), self.env, self.node).start()

    def kill_a_worker(self, chance: random.Random | None = None) -> None:
        """Kills a process that runs a task, once there is one."""
        self.wait_for(lambda: kill_a_worker(self.bed, chance or random.Random(0)), "a worker is killed")

    @property
    def lines(self) -> list[str]:
        """What it printed, without progress."""
        return [line for line in self.output.splitlines() if not _PROGRESS.search(line)]


def kill_a_worker(bed: ray_bed.RayBed | slurm_bed.SlurmBed, chance: random.Random) -> bool:
    """Kills a process that computes cells, and returns whether there was one: it may end while it is listed."""
    with contextlib.suppress(IndexError, ProcessLookupError):
        os.kill(chance.choice(bed.workers()), signal.SIGKILL)
        return True
    return False


def wait_until_idle(bed: ray_bed.RayBed) -> None:
    """Waits until no task runs and no process of a driver is left."""
    ray_bed.wait_until(lambda: not bed.workers() and not bed.drivers(), "no task and no driver is left", SECONDS)


def networks(command: Started) -> dict[str, bytes]:
    """Returns the weights of the acting networks of all trainings; the rest of their files has times and addresses."""
    paths = (command.folder / "outputs" / "training").glob("*/*/policy.zip")
    return {str(path.relative_to(command.folder)): zipfile.ZipFile(path).read("policy.pth") for path in paths}


def scores(command: Started) -> list[dict[str, Any]]:
    """Returns facts and checkpoints of all trainings, without their durations."""
    folders = sorted((command.folder / "outputs" / "training").glob("*"))
    texts = [(folder / "metadata.json").read_text() for folder in folders]
    texts += [line for folder in folders for line in (folder / "curve.jsonl").read_text().splitlines()]
    return [{key: value for key, value in json.loads(text).items() if key != "seconds"} for text in texts]
