import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

ROOT = Path(__file__).parents[2]
SMALL = "+algo.options.policy_kwargs={net_arch:[8]}"
PPO = ["env=cartpole", "algo=ppo", "algo.by_env={}", SMALL, "+algo.options.n_steps=16", "+algo.options.batch_size=64"]
SAC = ["env=pendulum", "algo=sac", "algo.by_env={}", SMALL, "+algo.options.learning_starts=50"]
SAC += ["+algo.options.batch_size=8", "algo.envs=2"]
LONG = {"ppo": [*PPO, "steps=8000"], "sac": [*SAC, "steps=3000"]}


def start(folder, *arguments):
    command = [sys.executable, str(ROOT / "train.py"), *arguments, "episodes=5", "threads=1"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def saved_steps(folder: Path) -> int:
    """What the newest slot says; a kill may have come between two renames."""
    for name in ("last", "last.old"):
        for file in folder.glob(f"outputs/training/*/{name}/progress.json"):
            return json.loads(file.read_text())["steps"]
    return 0


def wait_for_checkpoint(running, folder) -> None:
    for _ in range(1200):
        if saved_steps(folder):
            return
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    pytest.fail("no checkpoint was written")


@pytest.mark.slow
@pytest.mark.parametrize("algo", LONG)
def test_a_training_that_is_killed_goes_on_from_its_last_saved_step(algo, shell):
    arguments = [*LONG[algo], "save_every=400"]
    running = start(shell.folder, *arguments)
    # Hydra and torch are up when the first checkpoint is there; from then on, any moment.
    wait_for_checkpoint(running, shell.folder)
    time.sleep(random.uniform(0.0, 1.0))
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    saved = saved_steps(shell.folder)
    (training,) = (shell.folder / "outputs/training").iterdir()
    assert not (training / "metadata.json").exists()
    before = (training / "curve.jsonl").read_text().splitlines() if (training / "curve.jsonl").exists() else []
    shell(*arguments, "episodes=5", "threads=1", script="train.py")
    curve = [json.loads(line)["steps"] for line in (training / "curve.jsonl").read_text().splitlines()]
    assert curve == sorted(set(curve))
    assert saved < curve[len(before)] <= saved + 512
    facts = json.loads((training / "metadata.json").read_text())
    assert facts["steps"] == curve[-1] >= int(arguments[-2].partition("=")[2])
    again = shell(*arguments, "episodes=5", "threads=1", script="train.py")
    assert again.stdout == f"done before: {training.relative_to(shell.folder)}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_training_that_is_asked_to_stop_saves_first(number, shell):
    running = start(shell.folder, *LONG["sac"], "save_every=500")
    wait_for_checkpoint(running, shell.folder)
    os.kill(running.pid, number)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    saved = saved_steps(shell.folder)
    assert f"brittlestar: stopped after {saved:,} steps; finished work is kept, the same command continues" in told
    assert "Traceback" not in told
    assert saved % 500


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_a_grid_trains_what_it_can_and_tells_the_rest(launcher, shell):
    arguments = ["-m", "seed=0,1", "env=cartpole", "algo=a2c,sac", "algo.by_env={}", "steps=100", "episodes=5"]
    done = shell(*arguments, f"hydra/launcher={launcher}", script="train.py", check=False)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "steps, " not in line]
    assert lines[0] == "brittlestar: 2 trainings failed"
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["sac` cannot learn actions of Discrete(2)"] * 2
    rows = [line for line in done.stdout.splitlines() if line.startswith("| seed=")]
    assert len(rows) == 2
    for row, seed in zip(rows, (0, 1), strict=True):
        assert f"| seed={seed} env=cartpole algo=a2c" in row
        assert (shell.folder / row.split(" | ")[-1].strip(" |") / "final" / "policy.zip").is_file()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["algo=sac"], "`algo.name: sac` cannot learn actions of Discrete(2)"),
        (["algo=ppo", "episodes=2"], "`episodes` must be at least 5, got 2"),
        (["algo=ppo", "steps=0"], "`steps` must be null or at least 1, got 0"),
    ],
)
def test_a_mistake_is_one_line(words, line, shell):
    done = shell("env=cartpole", *words, script="train.py", check=False)
    assert done.returncode == 1
    assert done.stderr == f"brittlestar: {line}\n"


def test_the_command_that_it_names_runs(shell):
    done = shell(*PPO, "steps=64", "episodes=5", script="train.py")
    command = done.stdout.splitlines()[-1].removeprefix("run it: brittlestar ").split()
    assert "success" in shell(*command, "episodes=5").stdout
