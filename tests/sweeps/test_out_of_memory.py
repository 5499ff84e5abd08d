"""Processes that the kernel really ends for lack of memory, in a control group with a limit."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GROUPS = Path("/sys/fs/cgroup")
POLICIES = """
import os, pathlib, signal, time

def good(observation):
    return 0

def other(observation):
    return 1

def hungry(observation):
    with open("tries", "a") as file:
        file.write("x")
    data = []
    while True:
        data.append(bytearray(10_000_000))

def killed(observation):
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)

def waits(observation):
    pathlib.Path("at_work").touch()
    while not os.path.exists("go"):
        time.sleep(0.01)
    data = []
    while not os.path.exists("enough"):
        data.append(bytearray(5_000_000))
    return 0
"""
HOG = "data = []\nwhile True: data.append(bytearray(5_000_000))"
FIRST_TO_GO = "1000"
TABLES = ("episodes.csv", "cells.csv", "curve.csv", "summary.csv", "failures.csv")


class MemoryGroup:
    """A control group, of either version, whose processes have a limited memory together."""

    def __init__(self, name: str, limit: str) -> None:
        old = (GROUPS / "memory/cgroup.procs").exists()
        self.folder = (GROUPS / "memory" if old else GROUPS) / f"brittlestar_{os.getpid()}_{name}"
        self._counts = self.folder / ("memory.oom_control" if old else "memory.events")
        try:
            self.folder.mkdir()
            if not old:
                with contextlib.suppress(OSError):
                    (GROUPS / "cgroup.subtree_control").write_text("+memory")
            (self.folder / ("memory.limit_in_bytes" if old else "memory.max")).write_text(limit)
        except OSError as error:
            self.remove()
            pytest.skip(f"no control group with a limit of memory can be made: {error}")
        with contextlib.suppress(OSError):
            # Without swap, which some kernels do not have.
            swap, most = ("memory.memsw.limit_in_bytes", limit) if old else ("memory.swap.max", "0")
            (self.folder / swap).write_text(most)

    def enter(self) -> None:
        """Moves this process into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def members(self) -> list[int]:
        return [int(line) for line in (self.folder / "cgroup.procs").read_text().split()]

    @property
    def kills(self) -> int:
        return int(dict(line.split() for line in self._counts.read_text().splitlines())["oom_kill"])

    def wait_until_empty(self) -> None:
        last = time.monotonic() + 20
        while self.members:
            assert time.monotonic() < last, self.members
            time.sleep(0.05)

    def remove(self) -> None:
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            if not self.folder.exists():
                return
            time.sleep(0.1)


@pytest.fixture
def memory_group() -> Iterator[MemoryGroup]:
    group = MemoryGroup("sweep", "1G")
    yield group
    group.remove()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(POLICIES)
    (tmp_path / "temporary").mkdir()
    return tmp_path


def command(name: str, policies: str, *more: str) -> list[str]:
    paths = "policy.path=" + ",".join(f"mine:{policy}" for policy in policies.split())
    fast = ["env=cartpole", "env.max_steps=5", "episodes=2", "policy=callable", paths, "perturbation.sigma=0,0.1"]
    return [sys.executable, str(ROOT / "run.py"), "-m", *fast, f"hydra.sweep.dir={name}", *more]


def start(folder: Path, group: MemoryGroup, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=group.enter,
        env=os.environ | {"TMPDIR": str(folder / "temporary")},
    )  # fmt: skip


def finish(process: subprocess.Popen) -> tuple[int, str]:
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in TABLES]


def left_behind(folder: Path) -> list[Path]:
    """Returns temporary files, claims and cells that are not finished."""
    unfinished = folder / "outputs/store/unfinished"
    return [*(folder / "temporary").iterdir(), *folder.rglob(".*"), *unfinished.iterdir()]


@pytest.mark.slow
def test_a_cell_that_runs_out_of_memory_costs_nothing_but_its_row(folder, memory_group):
    words = command("sweep", "good hungry other", "seed=0,1")
    code, errors = finish(start(folder, memory_group, words))
    assert code == 1 and "Traceback" not in errors
    assert "12/12 cells: 8 done, 4 failed" in errors
    assert "4 cells: out of memory: the kernel ended its process (SIGKILL)" in errors
    # The second try of each cell.
    assert (folder / "tries").read_text() == "x" * 8 and memory_group.kills >= 8
    memory_group.wait_until_empty()
    assert left_behind(folder) == []
    code, errors = finish(start(folder, memory_group, command("good", "good other", "seed=0,1", "store=another")))
    assert code == 0, errors
    for name in ("episodes.csv", "cells.csv", "curve.csv", "summary.csv"):
        assert (folder / "sweep" / name).read_bytes() == (folder / "good" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["300M", "360M"])
def test_the_kernel_ends_a_worker_and_not_the_driver_where_memory_is_short_for_all(folder, limit):
    group = MemoryGroup("short", limit)
    try:
        code, errors = finish(start(folder, group, command("sweep", "good hungry")))
        assert code == 1 and "4/4 cells: 2 done, 2 failed" in errors and "out of memory" in errors
    finally:
        group.remove()


@pytest.mark.slow
def test_a_kill_by_another_program_is_not_called_out_of_memory(folder, memory_group):
    elsewhere = MemoryGroup("elsewhere", "50M")
    try:
        process = start(folder, memory_group, command("sweep", "good killed"))
        while process.poll() is None:
            subprocess.run([sys.executable, "-c", HOG], preexec_fn=elsewhere.enter)
        code, errors = finish(process)
        assert elsewhere.kills > 0 == memory_group.kills
        assert code == 1 and "2 cells: its process was ended by SIGKILL (Killed)" in errors
    finally:
        elsewhere.remove()


def server_of(driver: int) -> int:
    """Returns the process that workers are forked from."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == driver and "multiprocessing.forkserver" in (stat.parent / "cmdline").read_text():
                return int(stat.parent.name)
    raise AssertionError("no process to fork from")


def run_out(folder: Path, group: MemoryGroup, words: list[str], victim) -> tuple[int, str]:
    """Runs a sweep until a cell is at work, and then has the kernel end a process of it for lack of memory."""
    process = start(folder, group, words)
    while not (folder / "at_work").exists():
        assert process.poll() is None, finish(process)
        time.sleep(0.01)
    Path(f"/proc/{victim(process.pid)}/oom_score_adj").write_text(FIRST_TO_GO)
    (folder / "go").touch()
    while not group.kills:
        assert process.poll() is None, finish(process)
        time.sleep(0.001)
    (folder / "enough").touch()
    return finish(process)


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "code"), [(lambda driver: driver, -9), (server_of, 0)], ids=["driver", "server"])
def test_a_sweep_goes_on_after_the_kernel_ended_its_driver_or_what_it_forks_from(folder, memory_group, victim, code):
    words = command("sweep", "good waits other", "seed=0,1")
    ended, errors = run_out(folder, memory_group, words, victim)
    assert ended == code and "Traceback" not in errors
    memory_group.wait_until_empty()
    stored = list(folder.glob("outputs/store/*/*.cell"))
    assert finish(start(folder, memory_group, words))[0] == 0
    tables = contents(folder / "sweep")
    shutil.rmtree(folder / "outputs")
    assert finish(start(folder, memory_group, words))[0] == 0
    assert contents(folder / "sweep") == tables
    assert stored and (len(stored) == 12 or code)
