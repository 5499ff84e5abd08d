"""`brittlestar train`: started, stopped, killed, resumed, in grids, and its progress."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.cells.claims import Claim
from brittlestar.commands.train import main
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import ReturnAtLeast
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.folder import training_folder
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec
from brittlestar.training.train import live_line

SMALL = "+algo.options.policy_kwargs={net_arch:[8]}"
PPO = ["env=cartpole", "algo=ppo", "algo.by_env={}", SMALL, "+algo.options.n_steps=16", "+algo.options.batch_size=64"]
SAC = ["env=pendulum", "algo=sac", "algo.by_env={}", SMALL, "+algo.options.learning_starts=50"]
SAC += ["+algo.options.batch_size=8", "algo.envs=1"]
FEW = ["episodes=5", "threads=1"]

SIGNAL_AT_A_STEP = """
import signal, sys
from brittlestar.training.vec_env import LaneVecEnv

number, calls, step_wait = int(sys.argv.pop(1)), int(sys.argv.pop(1)), LaneVecEnv.step_wait

def counted(self):
    global calls
    calls -= 1
    if calls == 0:
        signal.raise_signal(number)
    return step_wait(self)

LaneVecEnv.step_wait = counted
from brittlestar.commands.train import main
main()
"""
SIGNAL_IN_THE_SCORING = """
import signal, sys
from brittlestar.training.scorer import Scorer

number, rows = int(sys.argv.pop(1)), Scorer.rows

def interrupted(self, policy, episodes, clean=False):
    if clean:
        signal.raise_signal(number)
    return rows(self, policy, episodes, clean)

Scorer.rows = interrupted
from brittlestar.commands.train import main
from brittlestar.commands.interruption import answer_signals
answer_signals()
main()
"""
KILL_IN_A_CHECKPOINT = """
import os, signal, sys
from pathlib import Path

moment, renames, rename = sys.argv.pop(1), 0, Path.rename

def killed(self, target):
    # The second checkpoint replaces the first one by two renames.
    global renames
    if "last" in (self.name, Path(target).name):
        renames += 1
        if renames == {"before": 2, "between": 3}[moment]:
            os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)

Path.rename = killed
from brittlestar.commands.train import main
main()
"""


def run_script(folder, script, *arguments):
    command = [sys.executable, "-c", script, *arguments, *FEW]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def saved_steps(folder: Path) -> int:
    """Returns the steps of the newest checkpoint, also after a kill between two renames."""
    for name in ("last", "last.old"):
        for file in folder.glob(f"outputs/training/*/{name}/progress.json"):
            return json.loads(file.read_text())["steps"]
    return 0


def test_two_trainings_do_not_share_a_folder(call, tmp_path):
    arguments = [*PPO, "steps=64", *FEW]
    assert call(main, *arguments, "seed=1")[0] == 0
    (first,) = (tmp_path / "outputs/training").iterdir()
    folder = training_folder(json.loads((first / "config.json").read_text()) | {"seed": 0})
    claim = Claim(folder)
    identity = json.loads((folder / ".in_use").read_text())
    code, _, error = call(main, *arguments)
    assert code == 1 and error.count("\n") == 1
    assert f"{folder} is in use by process {os.getpid()} on " in error and "wait for it" in error
    claim.release()
    (folder / ".in_use").write_text(json.dumps(identity | {"pid": 2**22 + 1}))
    code, printed, _ = call(main, *arguments)
    assert code == 0 and "policy " in printed and not (folder / ".in_use").exists(), "its process is gone"
    assert "done before" in call(main, *arguments)[1]


def test_a_refused_training_leaves_no_folder(call, tmp_path):
    code, _, error = call(main, *PPO, "steps=64", "+algo.options.nope=1", *FEW)
    assert code == 1 and "`algo.options` do not fit PPO" in error
    assert not (tmp_path / "outputs/training").exists()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "between"])
@pytest.mark.parametrize("algo", [[*PPO, "steps=2000"], [*SAC, "steps=1200"]], ids=["ppo", "sac"])
def test_a_training_that_is_killed_in_a_checkpoint_continues_from_the_last_whole_one(algo, moment, shell):
    arguments = [*algo, "save_every=400"]
    assert run_script(shell.folder, KILL_IN_A_CHECKPOINT, moment, *arguments).returncode == -signal.SIGKILL
    steps = saved_steps(shell.folder)
    assert 400 <= steps < 800
    (training,) = (shell.folder / "outputs/training").iterdir()
    assert not (training / "metadata.json").exists()
    before = (training / "curve.jsonl").read_text().splitlines()
    shell(*arguments, *FEW, script="train.py")
    curve = [json.loads(line)["steps"] for line in (training / "curve.jsonl").read_text().splitlines()]
    assert curve == sorted(set(curve))
    assert steps < curve[len(before)] <= steps + 512
    facts = json.loads((training / "metadata.json").read_text())
    assert facts["steps"] == curve[-1] >= int(algo[-1].partition("=")[2])
    again = shell(*arguments, *FEW, script="train.py")
    assert again.stdout == f"done before: {training.relative_to(shell.folder)}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_training_that_is_asked_to_stop_saves_first(number, shell):
    done = run_script(shell.folder, SIGNAL_AT_A_STEP, str(int(number)), "120", *SAC, "steps=1000", "save_every=100")
    assert done.returncode == 128 + number
    # The step of the signal is the last one.
    assert saved_steps(shell.folder) == 120
    line = "brittlestar: stopped after 120 steps; finished work is kept, the same command continues"
    assert done.stderr.splitlines()[-1] == line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_during_the_final_scoring_ends_the_training(number, shell):
    arguments = [*SAC, "steps=120"]
    done = run_script(shell.folder, SIGNAL_IN_THE_SCORING, str(int(number)), *arguments)
    assert done.returncode == 128 + number and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith("ed; finished work is kept, the same command continues")
    (training,) = (shell.folder / "outputs/training").iterdir()
    curve = (training / "curve.jsonl").read_text()
    assert not (training / "metadata.json").exists() and saved_steps(shell.folder) == 120
    shell(*arguments, *FEW, script="train.py")
    assert (training / "metadata.json").is_file()
    assert (training / "curve.jsonl").read_text() == curve, "only the scoring runs again"


@pytest.mark.parametrize("launcher", ["basic", pytest.param("joblib", marks=pytest.mark.slow)])
def test_a_grid_trains_what_it_can_and_names_the_failed_ones(launcher, shell):
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
        (
            ["algo=ppo", "env=auto"],
            "`env=auto` is the environment of a policy, and a training has none: add `env=NAME`",
        ),
        (
            ["algo=ppo", "perturbation=mask_observation", "perturbation.r=0.1"],
            "`r` = 0.1 of 4 numbers masks none; at least 1 / 4 masks one",
        ),
        (["algo=ppo", "episodes=2"], "`episodes` must be at least 5, got 2"),
        (["algo=ppo", "steps=0"], "`steps` must be null or at least 1, got 0"),
        (
            ["algo=ppo", "+algo.options.rate=1", "perturbation=gaussian_observation", "perturbation.scale=std"],
            "`algo.options` do not fit PPO: PPO.__init__() got an unexpected keyword argument 'rate'",
        ),
        (
            ["algo=ppo", "mitigation=ensemble"],
            "Ensemble changes how a policy chooses its actions, but here a learner chooses them: train with "
            "`mitigation=none`, and evaluate the trained policy with this mitigation",
        ),
    ],
)
def test_a_mistake_is_one_line(words, line, call, tmp_path):
    code, _, error = call(main, "env=cartpole", *words)
    assert code == 1 and error == f"brittlestar: {line}\n"
    assert not (tmp_path / "outputs/training").exists()


@pytest.mark.slow
def test_the_command_that_it_names_runs(shell):
    done = shell("env=gym", "env.id=CartPole-v1", *PPO[1:], "steps=64", "episodes=5", script="train.py")
    assert done.stdout.startswith("note: CartPole-v1 has success, returns, sensor_groups of `env=cartpole`")
    assert "success_final 0.0 %" in done.stdout
    command = done.stdout.splitlines()[-1].removeprefix("run it: brittlestar ").split()
    assert "success" in shell(*command, "episodes=5").stdout


PPO_SPEC = TrainingSpec(
    EnvSpec(id="CartPole-v1", success=ReturnAtLeast(threshold=15.0, when="final")),
    Algorithm("ppo", steps=256, envs=4, options={"n_steps": 16, "batch_size": 32, "n_epochs": 1}),
    save_every=100,
    episodes=5,
)


def run(folder, show):
    session = Session(PPO_SPEC, folder)
    try:
        session.run(show)
    finally:
        session.close()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "mark"), [(Terminal(), "\r"), (io.StringIO(), "\n")])
def test_progress_shows_success_and_the_time_left(stream, mark, tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.sweeps.progress.REDRAW_SECONDS", 0.0)
    monkeypatch.setattr("brittlestar.training.train.LOG_SECONDS", 0.0)
    run(tmp_path, live_line(stream=stream))
    lines = [line for line in stream.getvalue().split(mark) if line]
    assert 10 <= len(lines) <= 64
    assert "256/256 steps, success" in lines[-1]
    assert lines[-1].endswith(", 0:00 left")


def test_lines_of_several_trainings_start_with_their_names(tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.training.train.LOG_SECONDS", 0.0)
    stream = Terminal()
    run(tmp_path, live_line("one", stream))
    assert all(line.startswith("one: ") for line in stream.getvalue().splitlines())
