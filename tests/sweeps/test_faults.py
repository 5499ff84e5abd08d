"""Faults of policies, disks and machines: no wrong number, no blocked sweep."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brittlestar.errors import UserError
from brittlestar.results.load import read_cells

POLICIES = """
import ctypes, os, random, signal, sys, time

def good(observation):
    return 0

def exits(observation):
    os._exit(3)

def segfaults(observation):
    ctypes.string_at(0)

def killed(observation):
    os.kill(os.getpid(), signal.SIGKILL)

def leaves(observation):
    sys.exit(0)

def interrupts(observation):
    raise KeyboardInterrupt

def hangs(observation):
    time.sleep(600)

def moves(observation):
    os.makedirs("elsewhere", exist_ok=True)
    os.chdir("elsewhere")
    os.environ["HOME"] = "/nowhere"
    random.seed(1)
    return 0

def draws(observation):
    return random.randrange(2)
"""
FAST = ["env=cartpole", "env.max_steps=5", "episodes=2", "perturbation.sigma=0.1"]
TABLES = ("episodes.csv", "cells.csv", "curve.csv", "summary.csv")


@pytest.fixture
def faulty(shell):
    (shell.folder / "mine.py").write_text(POLICIES)
    return shell


def paths(*names: str) -> str:
    return "policy.path=" + ",".join(f"mine:{name}" for name in names)


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in TABLES]


def test_a_policy_that_ends_its_process_costs_its_cells_only(faulty):
    names = ("exits", "segfaults", "killed", "leaves", "interrupts", "good")
    done, _ = faulty.sweep(*FAST, "policy=callable", paths(*names), "seed=0,1", check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "12/12 cells: 2 done, 10 failed" in done.stderr
    reasons = {row["policy.path"].removeprefix("mine:"): row["error"] for row in faulty.table("sweep", "failures")}
    assert reasons == {
        "exits": "its process ended with exit code 3 in the middle of the cell",
        "segfaults": "its process was ended by SIGSEGV (Segmentation fault)",
        "killed": "its process was ended by SIGKILL (Killed)",
        "leaves": "the policy or the environment ended the program by `sys.exit(0)`",
        "interrupts": "KeyboardInterrupt:",
    }
    assert len(faulty.table("sweep", "cells")) == 2
    assert len(done.stderr.strip().splitlines()) <= 9


def test_a_policy_that_hangs_is_ended(faulty):
    words = [*FAST, "policy=callable", paths("hangs", "good"), "timeout_minutes=0.05"]
    done, _ = faulty.sweep(*words, check=False)
    assert "2/2 cells: 1 done, 1 failed" in done.stderr
    assert "it ran for longer than `timeout_minutes=0.05`" in done.stderr


@pytest.mark.parametrize("launcher", [[], pytest.param(["-m", "hydra/launcher=basic"], marks=pytest.mark.slow)])
def test_a_policy_that_hangs_is_ended_in_a_single_run_and_on_other_launchers(faulty, launcher):
    done = faulty(*launcher, *FAST, "policy=callable", paths("hangs"), "timeout_minutes=0.05", check=False)
    assert done.returncode == 1 and "it ran for longer than `timeout_minutes=0.05`" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_policy_that_changes_its_process_changes_no_other_cell(faulty):
    words = [*FAST, "policy=callable", "seed=0,1,2", "hydra.launcher.n_jobs=1"]
    faulty.sweep(*words, paths("draws"), name="alone")
    faulty.sweep(*words, paths("moves", "draws"), "store=other", name="both")
    assert (faulty.folder / "other").is_dir() and not list(faulty.folder.glob("**/elsewhere/other"))
    alone, both = ({c.seed: c.rows().tobytes() for c in read_cells(faulty.folder / n)
                    if c.config["policy"]["path"] == "mine:draws"} for n in ("alone", "both"))  # fmt: skip
    assert alone == both


ALTERS = """
import numpy as np

np.seterr(all="raise")

def policy(observation):
    return 0
"""
OVERFLOWS = """
import os

import numpy as np

def policy(observation):
    os.umask(0o777)
    np.seterr(all="raise")
    return 0

def big(observation):
    return int(np.float64(1e308) * np.float64(10.0) > 0)
"""


@pytest.mark.slow
def test_a_policy_that_changes_how_its_process_computes_changes_no_other_cell(shell):
    (shell.folder / "alters.py").write_text(ALTERS)
    (shell.folder / "overflows.py").write_text(OVERFLOWS)
    policies = "policy.path=alters:policy,overflows:policy,overflows:big"
    done = shell(
        "-m", *FAST, "policy=callable", policies, "seed=range(3)", "hydra.launcher.n_jobs=1", "hydra.sweep.dir=a"
    )
    assert "9 done, 0 failed" in done.stderr
    # The store and the tables can be read by others.
    modes = {path.stat().st_mode & 0o777 for path in shell.folder.rglob("*.cell")}
    assert modes == {(shell.folder / "a" / "cells.csv").stat().st_mode & 0o777}


@pytest.mark.parametrize("turns", [1, pytest.param(5, marks=pytest.mark.slow)], ids=["forty", "two hundred"])
def test_damages_of_a_store_are_noticed_and_none_is_used(shell, turns):
    grid = ["env=cartpole", "policy=random", "episodes=3", "perturbation.sigma=0,0.1,0.3,0.5", "seed=range(10)"]
    shell.sweep(*grid, name="whole")
    store, rng = shell.folder / "outputs/store", random.Random(0)
    files = sorted(store.glob("*/*.cell"))
    whole = shell.folder / "whole_store"
    shutil.copytree(store, whole)
    damages, count = [_flip, _cut, _swap, _edit, _delete], 0
    for turn in range(turns):
        shutil.rmtree(store)
        shutil.copytree(whole, store)
        for number, path in enumerate(files):
            damages[(turn + number) % len(damages)](path, files, rng)
            count += 1
        changed = [path for path in files if not path.exists() or path.read_bytes() != _twin(path, whole).read_bytes()]
        assert len(changed) == len(files)
        checked = _verify(shell, store)
        left = [path for path in files if path.exists()]
        assert checked.returncode == 1 and f"{len(left)} of {len(left)} cells damaged" in checked.stderr
        done, folder = shell.sweep(*grid, name="again")
        assert "40/40 cells: 40 done, 0 failed, 0 cached" in done.stderr
        assert contents(folder) == contents(shell.folder / "whole")
    assert count == 40 * turns


def _verify(shell, folder) -> subprocess.CompletedProcess:
    return shell(str(folder), script="scripts/verify.py", check=False)


def _twin(path: Path, store: Path) -> Path:
    return store / path.parent.name / path.name


def _flip(path, files, rng):
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _cut(path, files, rng):
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def _swap(path, files, rng):
    data = path.read_bytes()
    other = rng.choice([file for file in files if file.exists() and file.read_bytes() != data])
    path.write_bytes(other.read_bytes())


def _edit(path, files, rng):
    data = path.read_bytes()
    assert b'"measure": "success_final"' in data
    path.write_bytes(data.replace(b'"measure": "success_final"', b'"measure": "success_any"'))


def _delete(path, files, rng):
    path.unlink()


def test_damage_in_a_sweep_is_refused_and_the_command_of_the_sweep_mends_it(shell):
    grid = ["env=cartpole", "policy=random", "episodes=3", "perturbation.sigma=0,0.1", "seed=0,1"]
    _, folder = shell.sweep(*grid)
    good = contents(folder)
    data = bytearray((folder / "cells.bin").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "cells.bin").write_bytes(data)
    done = shell(str(folder), script="scripts/aggregate.py", check=False)
    assert done.returncode == 1 and "run the command of the sweep again" in done.stderr
    assert _verify(shell, folder).returncode == 1
    done, _ = shell.sweep(*grid)
    assert "4 cached" in done.stderr and contents(folder) == good
    assert _verify(shell, folder).returncode == 0


def test_editing_a_sweep_does_not_edit_the_store(shell):
    grid = ["env=cartpole", "policy=random", "episodes=3", "perturbation.sigma=0,0.1"]
    _, folder = shell.sweep(*grid)
    for path in folder.rglob("*"):
        assert path.is_dir() or path.stat().st_nlink == 1
    (folder / "cells.bin").write_bytes(b"")
    assert _verify(shell, shell.folder / "outputs/store").returncode == 0


def test_sweeps_of_the_same_second_have_a_folder_each(shell):
    grid = ["env=cartpole", "policy=random", "episodes=3", "perturbation.sigma=0,0.1"]
    command = [sys.executable, str(Path(__file__).parents[2] / "run.py"), "-m", *grid]
    processes = [
        subprocess.Popen([*command, f"seed={seed}", f"store=s{seed}"], cwd=shell.folder, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for seed in (0, 1)
    ]  # fmt: skip
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    tables = [json.loads(path.read_text()) for path in shell.folder.glob("multirun/*/*/cells.json")]
    assert sorted({row["seed"] for row in rows} == {0} for rows in tables) == [False, True]
    assert all(len(rows) == 2 for rows in tables)


def test_a_named_folder_that_a_sweep_uses_is_refused(shell):
    from brittlestar.cells.claims import Claim

    claim = Claim(shell.folder / "sweep")
    done, _ = shell.sweep("env=cartpole", "policy=random", "episodes=1", check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"sweep is in use by process {os.getpid()} on " in done.stderr
    claim.release()


@pytest.mark.parametrize(
    "launcher", ["joblib", pytest.param("basic", marks=pytest.mark.slow), pytest.param("cells", marks=pytest.mark.slow)]
)
def test_a_folder_shows_its_last_sweep_whatever_the_launchers(shell, launcher):
    grid = ["env=cartpole", "policy=random", "episodes=2", "perturbation.sigma=0.1"]
    shell.sweep(*grid, "seed=0,1,2", "hydra/launcher=basic")
    shell.sweep(*grid, "seed=0,7", f"hydra/launcher={launcher}")
    assert [row["seed"] for row in shell.table("sweep", "cells")] == [0, 7]


def test_a_store_that_cannot_be_written_is_refused_before_anything_is_computed(shell):
    (shell.folder / "file").write_text("")
    done, _ = shell.sweep("env=cartpole", "policy=random", "episodes=1", "store=file/store", check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot write to " in done.stderr and "file/store" in done.stderr


@pytest.mark.slow
def test_cells_of_an_earlier_sweep_whose_jobs_still_run_are_left_out(shell):
    grid = ["env=cartpole", "policy=random", "episodes=2", "perturbation.sigma=0.1", "hydra/launcher=basic"]
    shell.sweep(*grid, "seed=5,6,7", name="old")
    shell.sweep(*grid, "seed=0,1")
    for number in ("1", "2"):
        shutil.copytree(shell.folder / "old" / number, shell.folder / "sweep" / number, dirs_exist_ok=True)
    shell("sweep", script="scripts/aggregate.py")
    assert [row["seed"] for row in shell.table("sweep", "cells")] == [0]


@pytest.mark.slow
def test_a_folder_of_temporary_files_with_a_long_name_is_no_obstacle(shell):
    folder = shell.folder / ("long" * 25)
    folder.mkdir()
    done, _ = shell.sweep("env=cartpole", "policy=random", "episodes=1", "seed=0,1", TMPDIR=str(folder))
    assert "2/2 cells: 2 done" in done.stderr


def test_single_runs_of_the_same_second_have_a_folder_each(tmp_path):
    from brittlestar.sweeps.folder import claim_folder

    name = str(tmp_path / "12-00-00")
    (first, one), (second, two) = (claim_folder(name, "hydra.run.dir", []) for _ in range(2))
    assert (first.name, second.name) == ("12-00-00", "12-00-00-2")
    with pytest.raises(UserError, match="12-00-00 is in use by process"):
        claim_folder(name, "hydra.run.dir", [f"hydra.run.dir={name}"])
    one.release(), two.release()
