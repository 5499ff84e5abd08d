"""The command line as a user meets it: results, help, and one line for every mistake."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from brittlestar.commands.run import main
from brittlestar.results.load import read_cells

stable_baselines3 = pytest.importorskip("stable_baselines3")
FAST = ["env=cartpole", "policy=random", "episodes=2"]
FEW = ["env=auto", "episodes=4"]


def own_lines(error: str) -> list[str]:
    """Returns the lines on the standard error, without the one about the backend."""
    return [line for line in error.strip().splitlines() if "runs on EnvPool" not in line]


def test_one_cell_prints_its_result_and_is_reused(call):
    (_, first, _), (_, second, _) = call(main, *FAST), call(main, *FAST)
    assert "random on cartpole, gaussian_observation sigma = 0.05, seed 0, 2 episodes (done)" in first
    assert "success_final" in first
    assert "(cached)" in second
    assert first.partition("\n")[2].split("cell ")[0] == second.partition("\n")[2].split("cell ")[0]


def test_one_episode_is_printed_in_the_singular(call):
    _, out, _ = call(main, "env=pendulum", "policy=random", "episodes=1", "env.max_steps=5")
    assert "seed 0, 1 episode (done)" in out
    assert "intervals: t over 1 episode, 95 %; other metrics: t over 1 episode (rates: Wilson), 95 %" in out
    protocol = Path(out.rsplit("protocol ", 1)[1].strip()).read_text()
    assert "- That is 1 trial for each row of the curve" in protocol


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["-m", "experiment=stress"], ""),
        (["experiment=stress", "perturbation=observation_noise"], ""),
        (["-m", *FAST[:2], "stress_schedule=phases", "seed=0,1"], "all 2 cells would fail: "),
    ],
)
def test_episodes_that_end_before_the_shock_are_refused_before_anything_runs(call, arguments, start):
    code, out, err = call(main, *arguments, "episodes=6")
    level = "`episodes` = 6: `stress_schedule` (Phases) has level 0 in all of them, so take more of them"
    assert (code, out, err.splitlines()) == (1, "", [f"brittlestar: {start}{level}"])


BY_HAND = ["env=gym", "env.id=CartPole-v1", *FAST[1:]]


def test_an_id_by_hand_is_the_cell_of_the_option_that_knows_it(call):
    call(main, *FAST)
    _, printed, _ = call(main, *BY_HAND)
    assert "random on CartPole-v1, " in printed and "(cached)" in printed and "success_final" in printed
    assert (
        "note: CartPole-v1 has success, returns, sensor_groups of `env=cartpole`; a key that you set holds" in printed
    )
    _, printed, _ = call(main, *BY_HAND, "env.success=null", "env.returns.random=null")
    assert "success_final" not in printed and "normalised_return" not in printed and "(done)" in printed


def test_one_cell_writes_its_protocol(call, tmp_path):
    _, output, _ = call(main, *FAST, "hydra.run.dir=one")
    path = Path(output.partition("\nprotocol ")[2].splitlines()[0])
    assert path == tmp_path / "one" / "protocol.md"
    assert "2 episodes per cell, with seed 0." in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["perturbation.sgima=1"], "`perturbation.sgima` does not exist; did you mean `perturbation.sigma`?"),
        (["perturbation=gausian_observation"], "`perturbation=gausian_observation` does not exist; did you mean "),
        (["pertubation=none"], "`pertubation` does not exist; did you mean `perturbation`?"),
        (["experiment=smok"], "`experiment=smok` does not exist; did you mean `smoke`?"),
        (["perturbation.sigma=-1"], "`sigma` must be at least 0, got -1"),
        (["perturbation.sigma=abc"], "`perturbation.sigma` must be a float, got 'abc'"),
        (["env=gym", "env.id=CartPol-v1"], "did you mean `CartPole-v1`?"),
        (["env=gym"], "`env.id` needs a value: add `env.id=...`"),
        (["episodes=0"], "`episodes` must be at least 1, got 0"),
        (["episodes=abc"], "`episodes`: Value 'abc' of type 'str' could not be converted to Integer"),
        (["lanes=0"], "`lanes` must be at least 1, got 0"),
        (["+lane=3"], "`lane` does not exist; did you mean `lanes`?"),
        (["episode_seeds=consequtive"], "`episode_seeds` cannot be 'consequtive'; did you mean `consecutive`?"),
        (["policy=p_controller"], "p_controller needs the dict observation of a Fetch environment"),
        (["policy=callable", "policy.path=nowhere:policy"], "there is no module `nowhere`"),
        (["policy=callable", "policy.path=missing/model.py"], "missing/model.py"),
        (["env=frozen_lake"], "GaussianObservation needs a Box observation, the observation is Discrete(16)"),
        (["perturbation=gaussian_action"], "GaussianAction needs a Box action space, got Discrete(2)"),
        (["mitigation=low_pass"], "LowPass needs a Box action space, got Discrete(2)"),
        (["store=/dev/null/store"], "cannot write to /dev/null/store"),
        (["hydra.run.dir=/dev/null/run"], "cannot write to /dev/null/run"),
        (["-m", "hydra.sweep.dir=/dev/null/sweep"], "cannot write to /dev/null/sweep"),
        (["study=stress"], "`study=stress`: a study needs a sweep: add `-m`"),
        (["-m", "study=stress"], "`study=stress` scores recorded behaviour: add `record=behaviour`"),
        (["--config-dir", "nowhere"], "nowhere' not found"),
    ],
)
def test_a_mistake_gets_one_clear_line(call, arguments, message):
    code, _, error = call(main, *FAST, *arguments)
    assert code == 1
    assert message in error
    assert len(own_lines(error)) == 1


def test_a_study_that_fails_leaves_the_tables_and_ends_non_zero(call, tmp_path):
    folder = tmp_path / "sweep"
    options = ["study=stress", "record=behaviour", "hydra/sweeper=basic", "stress_schedule=phases"]
    options += ["stress_schedule.pre=1", "stress_schedule.shock=1"]
    code, printed, error = call(main, "-m", *FAST, *options, "episodes=3,0", f"hydra.sweep.dir={folder}")
    assert code == 1
    assert "success_final" in printed and (folder / "curve.csv").is_file()
    warning = (
        "brittlestar: `hydra/sweeper=basic` does not add the extra cells of `study=stress`; `hydra/sweeper=cells` does"
    )
    assert error.splitlines()[0] == warning
    lines = error.strip().splitlines()[-3:]
    assert lines[0].endswith("1 cell failed") and "`episodes` must be at least 1" in lines[1]
    assert "has no reference pass in this sweep" in lines[2] and "`study=stress hydra/sweeper=cells`" in lines[2]
    assert "- the study failed: " in (folder / "report.md").read_text()


def test_a_typo_in_a_sweep_dies_before_anything_runs(call, tmp_path):
    code, _, error = call(main, "-m", *FAST, "perturbation=gaussian_observation,gaussian_observatio")
    assert code == 1
    assert "did you mean `gaussian_observation`?" in error
    assert not (tmp_path / "outputs").exists()


def test_a_failed_cell_takes_no_other_down(shell):
    done, folder = shell.sweep(*FAST, "perturbation.sigma=0,-1,0.1", "seed=0,1", check=False)
    assert done.returncode == 1
    assert "2 cells failed" in done.stderr
    assert "perturbation.sigma=-1, first: seed=0)" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(shell.table("sweep", "cells")) == 4
    failures = shell.table("sweep", "failures")
    assert [row["seed"] for row in failures] == [0, 1]
    assert "`sigma` must be at least 0" in failures[0]["error"]
    assert (folder / "curve.png").is_file()


POLICY = """
import numpy as np

def wrong_shape(observation):
    return np.zeros((len(observation), 7))

class Controller:
    def predict(self, observation, deterministic=True):
        return int(observation[2] > 0), None

def crash(observation):
    raise RuntimeError("the arm fell off")

def idle(observation):
    return np.zeros(len(observation), int)
"""

WANDERER = """
import os
import numpy as np

from brittlestar.perturbations import GaussianObservation

os.chdir("/")

class Noise(GaussianObservation):
    pass

def policy(observation):
    os.chdir("/")
    os.environ["HOME"] = "/nowhere"
    return np.random.randint(2, size=len(observation))
"""


def test_code_that_changes_the_working_directory_moves_no_file(call, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "wanderer.py").write_text(WANDERER)
    words = ["env=cartpole", "env.module=wanderer", "policy=callable", "policy.path=wanderer:policy", "episodes=3"]
    words += ["hydra.launcher.n_jobs=2", "hydra.sweep.dir=sweep", "store=mine", "perturbation._target_=wanderer.Noise"]
    code, _, error = call(main, "-m", *words, "seed=0,1,2")
    assert code == 0, error
    assert (tmp_path / "sweep/curve.csv").is_file() and len(list((tmp_path / "mine").rglob("*"))) >= 3
    _, alone, _ = call(main, *words, "seed=2", "store=other", "hydra.run.dir=alone")
    assert (tmp_path / "other").is_dir() and (tmp_path / "alone/protocol.md").is_file()
    _, again, _ = call(main, *words, "seed=2", "hydra.run.dir=again")
    lines = [[line for line in text.splitlines() if line.startswith("|")] for text in (alone, again)]
    assert "(cached)" in again and lines[0] == lines[1], "a worker that ran other cells before gives the same cell"


NOISE = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from brittlestar import ObservationPerturbation

@dataclass
class Nan(ObservationPerturbation):
    strength_field: ClassVar[str] = "p"
    p: float
    def perturb(self, array, step):
        return array * np.nan

@dataclass
class NoOp(ObservationPerturbation):
    strength_field: ClassVar[str] = "p"
    p: float
    def perturb(self, array, step):
        return array.copy()
"""


def test_the_form_of_a_callable_is_printed_also_from_the_store(call, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(POLICY)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    arguments = ["env=cartpole", "policy=callable", "policy.path=mine:Controller", "episodes=3"]
    note = (
        "note: `mine:Controller`: called as predict(observation, deterministic) with one observation, "
        "it returns (action, state); every episode starts with a copy of it\n"
    )
    for _ in range(2):
        code, out, _ = call(main, *arguments)
        assert code == 0
        assert out.count(note) == 1
    code, out, _ = call(main, *arguments, "-m", "perturbation.sigma=0,0.1", "hydra.sweep.dir=sweep", "seed=0,1")
    assert out.count(note) == 1
    assert note.strip() in (tmp_path / "sweep/report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["policy=callable", "policy.path=mine:wrong_shape"], "must return actions of shape (), got shape (4, 7)"),
        (["policy=callable", "policy.path=mine:crash"], "RuntimeError: the arm fell off"),
        (["policy=callable", "policy.path=mine:wrong_shape", "policy.batched=true"], "(2, 7)"),
        (["policy=callable", "policy.path=mine:crash", "policy.batched=true"], "RuntimeError: the arm fell off"),
        (["perturbation._target_=noise.Nan", "~perturbation.sigma", "~perturbation.scale",
          "+perturbation.p=1"],
         "the perturbed observation is not a number (nan) at episode 0, step 0"),
        (["perturbation._target_=noise.NoOp", "~perturbation.sigma", "~perturbation.scale",
          "+perturbation.p=1"],
         "NoOp with p = 1.0 changed nothing"),
    ],
)  # fmt: skip
def test_broken_parts_fail_the_cell_not_the_episodes(call, tmp_path, monkeypatch, arguments, message):
    for name, text in (("mine", POLICY), ("noise", NOISE)):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    code, _, error = call(main, *FAST, *arguments)
    assert code == 1
    assert message in error
    assert "Traceback" not in error
    (failed,) = read_cells(next(tmp_path.glob("outputs/*-*/*")))
    assert failed.manifest["status"] == "failed"
    assert not list(tmp_path.glob("outputs/store/*/*.cell"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("agent") / "model.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(file)
    return file.read_bytes()


@pytest.fixture
def agents(shell, saved):
    """Two agents in the layout of rl-zoo: one keeps its record, one was better once."""
    for algorithm, record in (("ppo", [0.0, 250.0, 500.0]), ("a2c", [9000.0] * 3)):
        folder = shell.folder / "agents" / algorithm / "CartPole-v1_1"
        folder.mkdir(parents=True)
        (folder / "CartPole-v1.zip").write_bytes(saved)
        np.savez(folder / "evaluations.npz", results=np.array([[0.0, 0.0, 0.0], record]))
    return shell.folder / "agents"


def test_many_agents_in_one_table_with_their_baselines(shell, agents):
    done, _ = shell.sweep("policy=sb3", "policy.path=glob(agents/*/*/*.zip)", *FEW, "perturbation.sigma=0,0.5")
    rows = shell.table("sweep", "summary")
    checks = {row["policy.path"].split("/")[1]: row["baseline_check"] for row in rows}
    assert checks == {"ppo": "ok", "a2c": "baseline mismatch"}
    assert {row["baseline_check"] for row in shell.table("sweep", "curve")} == set(checks.values())
    assert "baseline mismatch: recorded 9000 [9000, 9000] (3 episodes), found" in done.stdout


def test_a_folder_with_auto_is_the_zip_in_its_environment(call, agents):
    folder = call(main, "policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1", *FEW)
    file = call(main, "policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=cartpole", *FEW[1:])
    numbers = [[line for line in output.splitlines() if line.startswith("|")] for _, output, _ in (folder, file)]
    assert numbers[0] == numbers[1] != []


def test_the_baseline_check_ends_non_zero_on_a_mismatch(shell, call, agents):
    words = ("policy=zoo_folder", *FEW, "check=baseline", "perturbation.sigma=9")
    assert call(main, *words, "policy.path=agents/ppo/CartPole-v1_1")[0] == 0
    code, _, error = call(main, *words, "policy.path=agents/a2c/CartPole-v1_1")
    assert code == 1
    assert own_lines(error)[0].startswith("brittlestar: baseline mismatch: recorded 9000")
    done = shell("-m", *words, "policy.path=glob(agents/*/*)", check=False)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("brittlestar: baseline mismatch: recorded 9000")


def test_a_baseline_that_cannot_be_compared_does_not_pass(shell, call, agents):
    words = ("policy=zoo_folder", *FEW, "check=baseline", "policy.path=agents/ppo/CartPole-v1_1", "env.max_steps=40")
    code, _, error = call(main, *words)
    assert code == 1
    assert "brittlestar: time limit differs (`env.max_steps` = 40)" in error
    done = shell("-m", *words, check=False)
    assert done.returncode == 1
    assert "brittlestar: time limit differs (`env.max_steps` = 40)" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zpi", "env=cartpole"], "did you mean"),
        (
            ["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=acrobot"],
            "was trained in CartPole-v1, not in Acrobot-v1: take `env=auto`",
        ),
        (
            ["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=gym", "env.id=CartPole-v0"],
            "was trained in CartPole-v1, not in CartPole-v0: take `env=auto`",
        ),
        # The environment comes first: no policy runs without it.
        (["policy=sb3", "policy.path=gone.zip", "env=gym", "env.id=NoSuchThing-v0"], "'NoSuchThing-v0' does not exist"),
        (
            [
                "policy=sb3",
                "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip",
                "env=auto",
                "env.module=no_such_envs",
            ],
            "`env.module`: there is no module `no_such_envs`",
        ),
        (["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1", "env=cartpole"], "take `policy=zoo_folder`"),
        (
            ["policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=cartpole"],
            "take `policy=sb3`",
        ),
        (["policy=zoo_folder", "policy.path=agents/ppo", "env=cartpole"], "is not a folder of rl-zoo"),
        (
            ["policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1", "env=gym", "env.id=CartPole-v0"],
            "was trained in CartPole-v1, not in CartPole-v0: take `env=auto`",
        ),
        (["env=cartpole", "policy=random", "env.kwargs={a: 1}"], "add it by `+env.kwargs.a=VALUE`"),
        (["check=baseline", "env=cartpole", "policy=random"], "no policy came with a recorded return"),
        (["check=basline"], "`check` must be null, baseline or models, got basline"),
        (["policy=sb3", "policy.path=glob(nowhere/*.zip)"], "matches no file in"),
        (["policy=sb3"], "`policy.path` needs a value"),
    ],
)
def test_a_mistake_with_a_checkpoint_gets_one_clear_line(call, agents, words, message):
    code, _, error = call(main, *words, "episodes=2")
    assert code == 1
    assert message in error
    assert len(own_lines(error)) == 1


def test_a_new_record_is_a_new_cell(call, agents):
    words = ("policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1", *FEW)
    assert "(done)" in call(main, *words)[1]
    assert "(cached)" in call(main, *words)[1]
    np.savez(agents / "ppo/CartPole-v1_1/evaluations.npz", results=np.ones((1, 3)))
    assert "(done)" in call(main, *words)[1]


def test_a_missing_statistics_file_is_no_reason_to_train(call, agents):
    words = ("policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "policy.statistics=gone.pkl", *FEW)
    code, _, error = call(main, *words)
    assert code == 1
    assert "`statistics`: there is no file" in error
    assert "train" not in error.partition("gone.pkl")[2]
    assert "train one" in call(main, "policy=sb3", "policy.path=gone.zip", "env=cartpole", *FEW[1:])[2]


OWN_ENVS = """
import gymnasium as gym
gym.register("OwnPole-v4", entry_point="gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=33)
"""


def test_an_environment_of_a_module_is_the_same_by_its_id_alone_and_for_auto(shell, saved):
    (shell.folder / "own_envs.py").write_text(OWN_ENVS)
    (shell.folder / "OwnPole-v4").mkdir()
    (shell.folder / "OwnPole-v4/model.zip").write_bytes(saved)
    np.savez(shell.folder / "OwnPole-v4/evaluations.npz", results=np.full((1, 3), 33.0))
    words = ("policy=sb3", "policy.path=OwnPole-v4/model.zip", *FEW[1:], "perturbation.sigma=0", "env.max_steps=33")
    by_id = shell(*words, "env=gym", "env.id=own_envs:OwnPole-v4")
    beside = shell(*words, "env=gym", "env.id=OwnPole-v4", "env.module=own_envs")
    auto = shell(*words, "env=auto", "env.module=own_envs")
    assert "(done)" in by_id.stdout
    for done in (beside, auto):
        assert "(cached)" in done.stdout
    # The module states the time limit that the record is about.
    assert "time limit differs" not in by_id.stdout
    assert "recorded 33" in by_id.stdout


@pytest.mark.slow
def test_every_zip_in_the_layout_of_other_programs_runs_in_its_environment(shell, saved):
    names = ("ppo/CartPole-v1_1/CartPole-v1.zip", "ppo/CartPole-v1_1/best_model.zip", "CartPole-v1/PPO/model.zip")
    for name in names:
        (shell.folder / "agents" / name).parent.mkdir(parents=True, exist_ok=True)
        (shell.folder / "agents" / name).write_bytes(saved)
    shell.sweep("policy=sb3", "policy.path=glob(agents/*/*/*.zip)", *FEW, "perturbation.sigma=0")
    rows = shell.table("sweep", "curve")
    assert {row["policy.path"]: row["env"] for row in rows} == {f"agents/{name}": "CartPole-v1" for name in names}


def test_an_atari_run_ends_without_lines_about_leaks(shell):
    pytest.importorskip("ale_py")
    done = shell("env=pong", "policy=random", "perturbation=none", "env.max_steps=3", "episodes=2")
    assert "PongNoFrameskip-v4" in done.stdout or "pong" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("flags", [["--cfg", "job"], ["--cfg=all"], ["-c", "job"]])
def test_a_shown_config_has_a_note_on_the_environment_that_the_policy_brings(call, flags):
    code, output, error = call(main, "experiment=stress", "policy=zoo/pendulum_sac", *flags)
    assert code == 0 and "id: CartPole-v1" in output
    own = "note: zoo/pendulum_sac runs in its own environment Pendulum-v1, not in `env=cartpole` of the experiment\n"
    assert error == own


@pytest.mark.parametrize(
    "words", [["experiment=stress"], ["experiment=stress", "policy=zoo/pendulum_sac", "env=cartpole"]]
)
def test_a_shown_config_without_another_environment_has_no_note(call, words):
    assert call(main, *words, "--cfg", "job")[2] == ""
