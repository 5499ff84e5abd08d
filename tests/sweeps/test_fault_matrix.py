"""Faults at random moments: afterwards, the tables have the bytes of an undisturbed sweep."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRID = ["env=pendulum", "policy=random", "episodes=20", "perturbation.sigma=0,0.1,0.3", "seed=0,1,2,3", "lanes=1"]
TABLES = ("episodes.csv", "cells.csv", "curve.csv", "summary.csv", "failures.csv")
MOMENTS = 10

pytestmark = pytest.mark.slow


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in TABLES]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The tables of a sweep that nothing disturbs, and the seconds that it takes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    started = time.monotonic()
    done = subprocess.run(command("sweep"), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return contents(folder / "sweep"), time.monotonic() - started


def command(name: str, *more: str) -> list[str]:
    return [sys.executable, str(ROOT / "run.py"), "-m", *GRID, f"hydra.sweep.dir={name}", *more]


def start(folder: Path, *words: str) -> subprocess.Popen:
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, cwd=folder, text=True, start_new_session=True, **streams)


def finish(process: subprocess.Popen) -> tuple[int, str]:
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_driver_continues(undisturbed, tmp_path, signal_number):
    tables, seconds = undisturbed
    for moment in range(MOMENTS):
        process = start(tmp_path, *command("sweep"))
        time.sleep(random.Random(moment).uniform(0.05, seconds))
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal_number)
        finish(process)
    assert finish(start(tmp_path, *command("sweep")))[0] == 0
    assert contents(tmp_path / "sweep") == tables
    assert list((tmp_path / "outputs/store/unfinished").iterdir()) == [] or signal_number == signal.SIGKILL


def test_killed_workers_change_nothing(undisturbed, tmp_path):
    tables, seconds = undisturbed
    for moment in range(MOMENTS):
        chance = random.Random(moment)
        shutil.rmtree(tmp_path / "outputs", ignore_errors=True)
        process = start(tmp_path, *command("sweep"))
        time.sleep(chance.uniform(0.3, 1.0) * seconds)
        workers = [pid for pid in group(process.pid) if "forkserver" in arguments(pid)]
        with contextlib.suppress(ProcessLookupError, IndexError):
            # The first of them is the process that forks.
            os.kill(chance.choice(sorted(workers)[1:]), signal.SIGKILL)
        code, errors = finish(process)
        assert code == 0, errors
        assert contents(tmp_path / "sweep") == tables


def group(leader: int) -> list[int]:
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            members += [int(stat.parent.name)] if int(fields[2]) == leader and fields[0] != "Z" else []
    return members


def arguments(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a small disk needs root")
def test_a_full_disk_is_one_line_per_reason_and_the_sweep_goes_on_when_there_is_room(undisturbed, tmp_path):
    tables, _ = undisturbed
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], check=True)
    try:
        for kilobytes in range(16, 16 + 8 * MOMENTS, 8):
            subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(disk)], check=True)
            code, errors = finish(start(tmp_path, *command("sweep", f"store={disk}")))
            assert "Traceback" not in errors
            assert code == 0 or "No space left on device" in errors
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert finish(start(tmp_path, *command("sweep", f"store={disk}")))[0] == 0
        assert contents(tmp_path / "sweep") == tables
    finally:
        subprocess.run(["umount", str(disk)], check=True)


needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="namespaces of processes need root"
)
APART = ["unshare", "--pid", "--fork", "--mount-proc"]


@needs_namespaces
def test_two_drivers_in_separate_containers_share_a_store(undisturbed, tmp_path):
    tables, seconds = undisturbed
    for moment in range(MOMENTS):
        shutil.rmtree(tmp_path / "outputs", ignore_errors=True)
        first = start(tmp_path, *APART, *command("first"))
        time.sleep(random.Random(moment).uniform(0, seconds))
        second = start(tmp_path, *APART, *command("second"))
        for process in (first, second):
            code, errors = finish(process)
            assert code == 0, errors
        assert contents(tmp_path / "first") == contents(tmp_path / "second") == tables


@needs_namespaces
def test_a_container_that_is_killed_starts_again_at_once_beside_another_on_its_store(undisturbed, tmp_path):
    tables, seconds = undisturbed
    for moment in range(MOMENTS):
        chance = random.Random(moment)
        for name in ("outputs", "first", "second"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        first = start(tmp_path, *APART, *command("first"))
        time.sleep(chance.uniform(0, 0.5) * seconds)
        second = start(tmp_path, *APART, *command("second"))
        time.sleep(chance.uniform(0.1, 1.0) * seconds)
        for driver in children(first.pid):
            # Process 1 of a container: the kernel ends all others with it.
            os.kill(driver, signal.SIGKILL)
        finish(first)
        for process in (start(tmp_path, *APART, *command("first")), second):
            code, errors = finish(process)
            assert code == 0, errors
        assert contents(tmp_path / "first") == contents(tmp_path / "second") == tables


def children(parent: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    return []
