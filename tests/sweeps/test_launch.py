"""Sweeps: columns, reuse, continuing after a kill, and the same bytes for any number of workers."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRID = ["env=cartpole", "policy=random", "episodes=4", "perturbation.sigma=0,0.1,0.3", "seed=0,1,2"]
TABLES = ("episodes", "cells", "curve", "summary", "failures")
FORMATS = ("csv", "parquet", "md", "json")


def contents(folder: Path) -> dict[str, bytes]:
    names = [f"{table}.{suffix}" for table in TABLES for suffix in FORMATS]
    return {name: (folder / name).read_bytes() for name in [*names, "curve.png", "curve.pdf"]}


def counts(done: subprocess.CompletedProcess) -> str:
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def swept(tmp_path_factory, shell_in):
    """The command of the grid, and the place of its sweep and its store."""
    shell = shell_in(tmp_path_factory.mktemp("swept"))
    done, _ = shell.sweep(*GRID, "hydra.launcher.n_jobs=2")
    return done, shell.folder


@pytest.fixture
def grid(swept, shell):
    """The same, in the folder of a test."""
    done, place = swept
    shutil.copytree(place, shell.folder, dirs_exist_ok=True)
    return done, shell.folder / "sweep"


def test_nine_cells_three_levels_three_seeds(shell, grid):
    done, folder = grid
    assert "9/9 cells: 9 done, 0 failed, 0 cached" in counts(done)
    assert [row["strength"] for row in shell.table("sweep", "curve")] == [0, 0.1, 0.3]
    assert {row["n_seeds"] for row in shell.table("sweep", "curve")} == {3}
    for place in ("sweep/curve.png", "sweep/{episodes,cells,curve,summary,failures}", "sweep/cells.jsonl"):
        assert place in done.stdout
    # One folder for the pictures of the environment, none for a cell.
    assert [p.name for p in folder.iterdir() if p.is_dir()] == ["CartPole-v1"]
    assert not (shell.folder / "multirun").exists()


def test_a_second_run_computes_nothing_and_a_wider_one_only_what_is_new(shell, grid):
    again, _ = shell.sweep(*GRID, name="second")
    assert "9/9 cells: 0 done, 0 failed, 9 cached" in counts(again)
    assert contents(shell.folder / "sweep") == contents(shell.folder / "second")
    wider, _ = shell.sweep(*GRID[:-2], "perturbation.sigma=0,0.1,0.3,0.5", "seed=0,1,2,3", name="third")
    assert "16/16 cells: 7 done, 0 failed, 9 cached" in counts(wider)


def test_strength_zero_of_two_perturbations_is_computed_once(shell):
    done, _ = shell.sweep(
        "env=pendulum", "policy=random", "episodes=2", "perturbation=gaussian_observation,gaussian_action",
        "perturbation.sigma=0,0.1",
    )  # fmt: skip
    assert "4/4 cells: 3 done, 0 failed, 1 cached" in counts(done)
    rows = shell.table("sweep", "curve")
    assert [(row["perturbation"], row["strength"]) for row in rows] == [
        ("gaussian_observation", 0), ("gaussian_observation", 0.1), ("gaussian_action", 0), ("gaussian_action", 0.1),
    ]  # fmt: skip


@pytest.mark.slow
def test_every_key_that_varied_becomes_a_column(shell):
    shell.sweep(
        "env=pendulum", "policy=random,constant", "episodes=2", "mitigation=low_pass", "mitigation.alpha=0.3,0.5",
        "perturbation=gaussian_action", "perturbation.sigma=0,0.2",
    )  # fmt: skip
    rows = shell.table("sweep", "curve")
    assert len(rows) == 8
    assert {(row["policy"], row["mitigation.alpha"]) for row in rows} == {
        (policy, alpha) for policy in ("random", "constant") for alpha in (0.3, 0.5)
    }


@pytest.mark.parametrize(
    "variant",
    [
        ["hydra.launcher.n_jobs=1"],
        pytest.param(["lanes=1"], marks=pytest.mark.slow),
        pytest.param(["lanes=3", "threads=2"], marks=pytest.mark.slow),
        pytest.param(["seed=2,0,1", "perturbation.sigma=0.3,0,0.1"], marks=pytest.mark.slow),
    ],
    ids=["one worker", "one lane", "three lanes", "shuffled"],
)
def test_tables_are_the_same_bytes(shell, grid, variant):
    keys = {text.partition("=")[0] for text in variant}
    others = [text for text in GRID if text.partition("=")[0] not in keys]
    shell.sweep(*others, *variant, "store=elsewhere", name="variant")
    assert contents(shell.folder / "sweep") == contents(shell.folder / "variant")


def test_hydras_own_launcher_gives_the_same_tables(shell, grid):
    done, _ = shell.sweep(*GRID, "hydra/launcher=joblib", "store=elsewhere", name="joblib")
    assert contents(shell.folder / "sweep") == contents(shell.folder / "joblib"), done.stderr


@pytest.mark.slow
def test_hydras_own_launcher_gets_the_reference_passes_of_a_stress_study(shell):
    study = ["experiment=stress", "perturbation=baseline,trust_violation", "env.max_steps=20", "episodes=9"]
    study += ["stress_schedule.pre=3", "stress_schedule.shock=3", "seed=0", "study.reference=230"]
    shell.sweep(*study, name="cells")
    shell.sweep(*study, "hydra/launcher=joblib", "store=elsewhere", name="joblib")
    tables = [(shell.folder / name / "stress.csv").read_bytes() for name in ("cells", "joblib")]
    assert tables[0] == tables[1]


def test_a_folder_shows_its_last_sweep_only(shell, grid):
    shell.sweep(*GRID[:3], "perturbation.sigma=0,0.1", "seed=0")
    assert len(shell.table("sweep", "cells")) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["experiment=masking", "episodes=0"], "all 36 cells would fail: `episodes` must be at least 1, got 0"),
        (
            ["experiment=masking", "perturbation.kind=chanel"],
            "all 18 cells would fail: `perturbation`: `kind` cannot be",
        ),
        (["experiment=masking", "perturbation.p=1.5"], "`p` must be in [0, 1], got 1.5"),
        (["mitigation=low_pass", "mitigation.alpha=7", "seed=0,1"], "all 2 cells would fail: `mitigation`"),
        (["stress_schedule=linear", "stress_schedule.warmup_steps=0", "seed=0,1"], "`warmup_steps` must be at least 1"),
        (
            ["perturbation.sigma=-1"],
            "brittlestar: `perturbation` (brittlestar.perturbations.GaussianObservation): `sigma`",
        ),
    ],
)
def test_a_mistake_of_all_cells_is_one_line_before_anything_runs(shell, words, message):
    done = shell("-m", *words, "hydra.sweep.dir=sweep", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (shell.folder / "outputs").exists() and not (shell.folder / "sweep/failures.csv").exists()


TWO = "policy=zoo/cartpole_ppo,zoo/pendulum_sac"


@pytest.mark.parametrize(
    "launcher",
    [
        [],
        pytest.param(["hydra/launcher=basic"], marks=pytest.mark.slow),
        pytest.param(["hydra/sweeper=basic"], marks=pytest.mark.slow),
    ],
)
def test_policies_of_several_environments_bring_them_into_an_experiment(shell, launcher):
    done, _ = shell.sweep("experiment=smoke", TWO, "env.max_steps=5", "episodes=1", "seed=0", *launcher)
    rows = shell.table("sweep", "curve")
    assert [(row["env"], row["policy"], row["strength"], row["length"]) for row in rows] == [
        (env, f"zoo/{policy}", sigma, 5)
        for env, policy in (("cartpole", "cartpole_ppo"), ("pendulum", "pendulum_sac"))
        for sigma in (0, 0.2)
    ]
    for policy, env in (("cartpole_ppo", "CartPole-v1"), ("pendulum_sac", "Pendulum-v1")):
        note = f"note: zoo/{policy} runs in its own environment {env}, not in `env=fetch_reach` of the experiment"
        assert f"{note} (2 of 4 cells)" in done.stdout


@pytest.mark.slow
def test_a_stress_study_takes_policies_of_several_environments(shell):
    words = ["experiment=stress", TWO, "perturbation=baseline,trust_violation", "env.max_steps=20", "episodes=9"]
    words += ["stress_schedule.pre=3", "stress_schedule.shock=3", "seed=0", "study.reference=230"]
    shell.sweep(*words)
    rows = shell.table("sweep", "stress")
    assert [(row["env"], row["policy"]) for row in rows[::2]] == [
        ("cartpole", "zoo/cartpole_ppo"), ("pendulum", "zoo/pendulum_sac"),
    ]  # fmt: skip


@pytest.mark.parametrize("launcher", [[], ["hydra/launcher=joblib"]])
def test_a_policy_in_another_environment_is_refused_before_anything_runs(shell, launcher):
    done = shell("-m", "experiment=smoke", TWO, "env=cartpole", *launcher, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    message = (
        "4 of 8 cells cannot run: zoo/pendulum_sac was trained in Pendulum-v1, not in CartPole-v1: take `env=auto`"
    )
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (shell.folder / "outputs").exists()


def test_a_mistake_of_some_cells_is_one_line_and_a_row_for_each(shell):
    done, _ = shell.sweep(*GRID[:3], "perturbation.sigma=0,-1,-2", "seed=0,1,2", check=False)
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert lines[-3] == "brittlestar: 6 cells failed"
    for line, sigma in zip(lines[-2:], (-1, -2), strict=True):
        assert line.startswith("  3 cells: `perturbation` ") and f"`sigma` must be at least 0, got {sigma}" in line
        assert f"perturbation.sigma={sigma}, first: seed=0)" in line
    failures = shell.table("sweep", "failures")
    assert sorted((row["seed"], row["overrides"].split()[-2]) for row in failures) == sorted(
        (seed, f"perturbation.sigma={sigma}") for seed in (0, 1, 2) for sigma in (-1, -2)
    )


def test_two_different_mistakes_are_both_reported(shell):
    done, _ = shell.sweep(*GRID[:3], "perturbation.sigma=-1,-2", "seed=0", check=False)
    assert "got -1" in done.stderr and "got -2" in done.stderr
    assert len(shell.table("sweep", "failures")) == 2


def start(shell, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), "-m", *arguments],
        cwd=shell.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # Tests that run in the background of a shell ignore Ctrl-C, and so would everything they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


SLOWER = [
    *("env=pendulum", "policy=random", "episodes=4", "lanes=1"),
    *("perturbation.sigma=0,0.1,0.3", "seed=0,1,2"),
]


def wait_until(condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def stored(folder: Path) -> int:
    return len(list(folder.glob("*/*.cell")))


def kill_after(shell, cells: int) -> None:
    """Kills a sweep, with its workers, when so many of its cells are stored."""
    process = start(shell, *SLOWER, "hydra.sweep.dir=killed", "store=killed_store")
    wait_until(lambda: stored(shell.folder / "killed_store") >= cells or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()


@pytest.mark.parametrize("moments", [(2,), pytest.param(range(11), marks=pytest.mark.slow)], ids=["one", "many"])
def test_a_killed_sweep_continues(shell, moments):
    shell.sweep(*SLOWER, name="whole")
    for cells in moments:
        kill_after(shell, cells)
    done, _ = shell.sweep(*SLOWER, "store=killed_store", name="killed")
    assert " 0 cached" not in counts(done)
    assert contents(shell.folder / "whole") == contents(shell.folder / "killed")


def test_workers_end_with_a_parent_that_was_killed(shell):
    process = start(shell, *SLOWER, "hydra.sweep.dir=sweep")
    wait_until(lambda: stored(shell.folder / "outputs/store"))
    assert len(members(process.pid)) > 2, "the parent, the process that forks, and workers"
    process.kill()
    process.communicate()
    wait_until(lambda: not members(process.pid))


def members(group: int) -> list[int]:
    """Returns the living processes of a group."""
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            processes += [int(stat.parent.name)] if int(of) == group and state != "Z" else []
    return processes


def test_ctrl_c_loses_no_finished_cell(shell):
    process = start(shell, *SLOWER, "hydra.sweep.dir=sweep")
    wait_until(lambda: stored(shell.folder / "outputs/store"))
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert "interrupted; finished work is kept" in stderr
    assert "Traceback" not in stderr
    done, _ = shell.sweep(*SLOWER)
    assert " 0 cached" not in counts(done)
