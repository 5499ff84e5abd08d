"""The command line as a user meets it: results, help, and one line for every mistake."""

import json

import pytest

FAST = ["env=cartpole", "policy=random", "episodes=2"]


def test_one_cell_prints_its_result_and_is_reused(shell):
    first = shell(*FAST)
    assert "random on cartpole, gaussian_observation sigma = 0.05, seed 0, 2 episodes (done)" in first.stdout
    assert "success_final" in first.stdout
    again = shell(*FAST)
    assert "(cached)" in again.stdout
    assert first.stdout.partition("\n")[2].split("cell ")[0] == again.stdout.partition("\n")[2].split("cell ")[0]


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
        (["episode_seeds=consequtive"], "`episode_seeds` must be one of independent, consecutive, got consequtive"),
        (["policy=p_controller"], "p_controller needs the dict observation of a Fetch environment"),
        (["policy=callable", "policy.path=nowhere:policy"], "there is no module `nowhere`"),
        (["env=frozen_lake"], "GaussianObservation needs a Box observation, the observation is Discrete(16)"),
        (["perturbation=gaussian_action"], "GaussianAction needs a Box action space, got Discrete(2)"),
        (["mitigation=low_pass"], "LowPass needs a Box action space, got Discrete(2)"),
        (["store=/dev/null/store"], "cannot write to /dev/null/store"),
        (["hydra.run.dir=/dev/null/run"], "cannot write to /dev/null/run"),
        (["-m", "hydra.sweep.dir=/dev/null/sweep"], "cannot write to /dev/null/sweep"),
        (["--config-dir", "nowhere"], "nowhere' not found"),
    ],
)
def test_a_mistake_gets_one_clear_line(shell, arguments, message):
    done = shell(*FAST, *arguments, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_checkpoint_that_is_missing_says_where_it_looked(shell):
    done = shell(*FAST, "policy=callable", "policy.path=missing/model.py", check=False)
    assert done.returncode == 1
    assert "missing/model.py" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_typo_in_a_sweep_dies_before_anything_runs(shell):
    done = shell("-m", *FAST, "perturbation=gaussian_observation,gaussian_observatio", check=False)
    assert done.returncode == 1
    assert "did you mean `gaussian_observation`?" in done.stderr
    assert not (shell.folder / "outputs").exists()


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

def crash(observation):
    raise RuntimeError("the arm fell off")

def idle(observation):
    return np.zeros(len(observation), int)
"""

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
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
def test_broken_parts_fail_the_cell_not_the_episodes(shell, arguments, message):
    (shell.folder / "mine.py").write_text(POLICY)
    (shell.folder / "noise.py").write_text(NOISE)
    done = shell(*FAST, *arguments, check=False, PYTHONPATH=str(shell.folder))
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    manifest = json.loads(next(shell.folder.glob("outputs/*-*/*/manifest.json")).read_text())
    assert manifest["status"] == "failed"
    assert not list(shell.folder.glob("outputs/store/*/*/manifest.json"))
