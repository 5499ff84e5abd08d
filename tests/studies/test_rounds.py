"""Studies that choose their cells in rounds: workers, launchers and kills change no byte of a result."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = "perturbation=[gaussian_observation,delayed_action]"
SIGMA, DELAY = (f"perturbation.parts.{key}" for key in ("gaussian_observation.sigma", "delayed_action.delay_steps"))
PPO, TWO = "policy=zoo/cartpole_ppo", "policy=zoo/cartpole_ppo,zoo/cartpole_dqn"
STUDIES = {
    "race": (
        ["hydra/sweeper=race", "env=cartpole", TWO, "perturbation.sigma=0.1", "study.batch=15"],
        ["race.json", "race.csv", "race_pairs.csv", "curve.csv", "race_differences.pdf"],
    ),
    "search": (
        ["hydra/sweeper=search", "env=cartpole", PPO, PARTS, f"{SIGMA}=interval(0,0.4)", f"{DELAY}=interval(0,4)",
         "episodes=8", "study.budget=9", "study.confirm=16"],
        ["search.json", "search_points.csv", "found/perturbation/found.yaml"],
    ),
    "sensitivity": (
        ["hydra/sweeper=sensitivity", "env=cartpole", PPO, PARTS, f"{SIGMA}=interval(0,0.2)", f"{DELAY}=interval(0,1)",
         "episodes=6", "study.samples=4"],
        ["sensitivity.json", "sensitivity_points.csv"],
    ),
    "fingerprint": (
        ["experiment=fingerprint", PPO, "study.only=[sensor_noise,action_delay]", "episodes=10", "study.budget=150"],
        ["fingerprint.csv", "critical.json"],
    ),
}  # fmt: skip
"""The command of each study, and files of its result."""
KILLS = (1, 6)
"""Cells in the store at which a sweep is killed; the second kill hits a sweep that was resumed."""


def contents(folder: Path, files: list[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files}


def kill_at(cells: int, command: list[str], folder: Path, store: str) -> None:
    """Starts a sweep, and kills it with all of its workers when its store has so many cells."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, **quiet)
    while len(list((folder / store).glob("*/*.cell"))) < cells and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None, "the sweep ended before the kill"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_workers_and_launchers_change_no_byte(shell, study):
    words, files = STUDIES[study]
    launchers = {"one": "hydra.launcher.n_jobs=1", "two": "hydra.launcher.n_jobs=2", "basic": "hydra/launcher=basic"}
    results = [
        contents(shell.sweep(*words, launcher, f"store={name}_store", name=name)[1], files)
        for name, launcher in launchers.items()
    ]
    assert results[0] == results[1] == results[2]


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_killed_studies_that_are_resumed_give_the_same_result(shell, study):
    words, files = STUDIES[study]
    _, undisturbed = shell.sweep(*words, "store=whole", name="whole")
    command = [sys.executable, str(ROOT / "run.py"), "-m", *words, "store=parts", "hydra.sweep.dir=parts"]
    for cells in KILLS:
        kill_at(cells, command, shell.folder, "parts")
    _, resumed = shell.sweep(*words, "store=parts", name="parts")
    assert contents(resumed, files) == contents(undisturbed, files)
