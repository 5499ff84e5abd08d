"""Commands other than a plain sweep on Slurm: a study with extra cells, trainings, hardenings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from started import SECONDS

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]
SLURM = "hydra/launcher=slurm", "hydra.launcher.poll_seconds=1"
STRESS = (
    *("-m", "experiment=stress", "perturbation=baseline,gaussian_observation", "study.reference=230", "episodes=30"),
    *("seed=0", "stress_schedule.segments=[[pre,10],[shock,10],[post,10]]", "hydra.sweep.dir=sweep"),
)
TRAIN = "train", "-m", "seed=0,1", "env=cartpole", "algo=a2c", "steps=1000", "episodes=5", "hydra.sweep.dir=sweep"
HARDEN = (
    *("harden", "-m", "env=pendulum", "policy=constant", "perturbation=gaussian_action", "levels=[0,0.1]"),
    *("episodes=5", "seeds=[0]", "steps=200", "train_seed=0,1"),
)


@pytest.fixture
def brittlestar(slurm, tmp_path):
    def run(*arguments, folder="", code=0):
        (tmp_path / folder).mkdir(exist_ok=True)
        command = [sys.executable, "-m", "brittlestar.commands.main", *arguments]
        env = slurm.env | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run(command, cwd=tmp_path / folder, env=env, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def test_the_extra_cells_of_a_study_run_in_jobs_too(brittlestar, tmp_path):
    brittlestar(*STRESS, folder="local")
    # Nothing is computed on this machine.
    brittlestar(*STRESS, *SLURM, "hydra.launcher.measure_seconds=0", folder="slurm")
    local, slurm = tmp_path / "local" / "sweep", tmp_path / "slurm" / "sweep"
    tables = [path.relative_to(local) for path in local.rglob("*") if path.suffix in (".csv", ".json", ".md")]
    assert {path.name for path in tables} >= {"stress_runs.csv", "episodes.csv"}
    assert [path for path in tables if (local / path).read_bytes() != (slurm / path).read_bytes()] == []


def test_trainings_run_in_jobs_one_each(brittlestar, slurm, tmp_path):
    before = set(slurm.output("sacct", "-n", "-X", "-P", "-o", "JobID").split())
    done = brittlestar(*TRAIN, *SLURM)
    assert len(list(tmp_path.glob("outputs/training/*/final/policy.zip"))) == 2
    assert "| seed=0 env=cartpole" in done.stdout and "| seed=1 env=cartpole" in done.stdout
    assert len(set(slurm.output("sacct", "-n", "-X", "-P", "-o", "JobID").split()) - before) == 2


def test_a_training_that_fails_in_a_job_is_in_the_summary(brittlestar):
    words = ["env=gym" if word == "env=cartpole" else word for word in TRAIN if word != "seed=0,1"]
    done = brittlestar(*words, "env.id=CartPole-v1,Nope-v0", *SLURM, code=1)
    assert "1 training failed" in done.stderr and "'Nope-v0' does not exist" in done.stderr
    assert "env.id=CartPole-v1 | 1,000" in done.stdout


def test_hardenings_run_in_jobs(brittlestar, tmp_path):
    brittlestar(*HARDEN, *SLURM)
    results = [json.loads(path.read_text()) for path in tmp_path.glob("outputs/hardening/*/result.json")]
    assert len(results) == 2


def test_a_hardening_that_fails_in_a_job_is_an_error(brittlestar):
    words = ["levels=[0,-1]" if word.startswith("levels") else word for word in HARDEN]
    done = brittlestar(*words, *SLURM, code=1)
    assert "must be at least 0" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("launcher", ["submitit_local", "submitit_slurm"])
def test_launchers_of_hydra_give_the_same_tables(brittlestar, tmp_path, launcher):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    sweep = "-m", "env=cartpole", "policy=random", "perturbation.sigma=0,0.1", "episodes=5", "hydra.sweep.dir=sweep"
    brittlestar(*sweep, folder="local")
    brittlestar(*sweep, f"hydra/launcher={launcher}", "hydra.launcher.timeout_min=5", folder="other")
    local, other = tmp_path / "local" / "sweep", tmp_path / "other" / "sweep"
    tables = [path.relative_to(local) for path in local.rglob("*") if path.suffix in (".csv", ".json", ".md")]
    assert len(tables) > 10
    assert [path for path in tables if (local / path).read_bytes() != (other / path).read_bytes()] == []
