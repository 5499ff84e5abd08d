"""Trainings and a hardening on a cluster that needs no Ray, through the commands of a user."""

import errno
import json
import shutil
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.cells.claims import Claim
from brittlestar.cells.job import Outcome
from brittlestar.commands import harden, train
from brittlestar.sweeps.on_ray.options import RayOptions
from brittlestar.sweeps.on_ray.task import NEWS, STARTED
from brittlestar.sweeps.progress import Progress
from brittlestar.training.job import TrainingJob
from brittlestar.training.on_ray import driver
from brittlestar.training.on_ray.archive import Piece
from brittlestar.training.on_ray.driver import TrainingWork, train_on_ray

RAY = "hydra/launcher=ray"
PPO = ["-m", "env=cartpole", "algo=ppo", "algo.by_env={}", "+algo.options.policy_kwargs={net_arch:[8]}"]
PPO += ["+algo.options.n_steps=16", "+algo.options.batch_size=64", "steps=512", "episodes=5", "hydra.sweep.dir=sweep"]


def folders(home: Path) -> list[Path]:
    return sorted((home / "outputs" / "training").iterdir())


def network(folder: Path) -> bytes:
    return zipfile.ZipFile(folder / "final" / "policy.zip").read("policy.pth")


def job(folder: Path) -> TrainingJob:
    return TrainingJob({}, folder, "seed=0", {})


def test_a_training_gives_the_files_and_lines_of_one_on_this_machine(call, cluster, tmp_path):
    code, lines, errors = call(train.main, *PPO, RAY)
    assert code == 0, errors
    (folder,) = folders(tmp_path)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if "logs" not in path.parts}
    expected, config = network(folder), (folder / "config.json").read_text()
    shutil.rmtree(folder)
    _, local, _ = call(train.main, *PPO)
    assert files == {str(path.relative_to(folder)) for path in folder.rglob("*") if "logs" not in path.parts}
    assert network(folder) == expected
    assert (folder / "config.json").read_text() == config
    # Durations differ.
    assert [line for line in lines.splitlines() if "seconds" not in line and "512" not in line] == [
        line for line in local.splitlines() if "seconds" not in line and "512" not in line
    ]
    code, lines, _ = call(train.main, *PPO, RAY)
    assert code == 0 and f"done before: {folder.relative_to(tmp_path)}" in lines
    assert len(cluster.parcels) == 1


@pytest.mark.slow
def test_a_lost_training_continues_from_the_checkpoint_that_came_back(call, cluster, tmp_path):
    checkpoints = []

    def dies(number: int, kind: str, content: object) -> bool:
        if number == 0 and kind == NEWS and isinstance(content, Piece):
            checkpoints.append((folders(tmp_path)[0] / "curve.jsonl").read_text())
        return bool(checkpoints) and number == 0

    cluster.dies = dies
    words = "save_every=128", "hydra.launcher.checkpoint_minutes=0.00001"
    code, _, errors = call(train.main, *PPO, *words, RAY)
    assert code == 0, errors
    (folder,) = folders(tmp_path)
    assert (folder / "curve.jsonl").read_text().startswith(checkpoints[0])
    assert [bool(parcel.jobs[0].archive) for parcel in cluster.parcels] == [False, True]
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_a_training_that_is_lost_too_often_fails_and_leaves_no_folder(call, cluster, tmp_path):
    cluster.dies = lambda number, kind, content: kind == STARTED
    code, _, _ = call(train.main, *PPO, "hydra.launcher.retries=1", RAY)
    assert "brittlestar: 1 training failed" in str(code)
    assert "its task ended 2 times without a result, the last time because the node was lost" in str(code)
    assert not (tmp_path / "outputs" / "training").exists()


@pytest.mark.slow
def test_a_training_that_fails_on_its_node_is_one_line_and_the_others_go_on(call, cluster, tmp_path):
    words = ["env=cartpole,pendulum" if word == "env=cartpole" else word for word in PPO if "algo" not in word]
    code, _, errors = call(train.main, *words, "algo=dqn", "algo.by_env={}", RAY)
    assert "brittlestar: 1 training failed" in str(code) and "cannot learn actions of Box" in str(code)
    assert "Traceback" not in errors
    assert [folder.name.partition("-")[0] for folder in folders(tmp_path)] == ["CartPole"]


def test_a_folder_in_use_and_a_finished_one_need_no_cluster(tmp_path):
    used, finished = tmp_path / "used", tmp_path / "finished"
    finished.mkdir()
    (finished / "metadata.json").write_text("{}")
    claim = Claim(used)
    with Progress(2) as progress:
        outcomes = list(train_on_ray(RayOptions(), [job(used), job(finished)], progress))
    claim.release()
    assert [outcome.status for outcome in outcomes] == ["failed", "cached"]
    assert "is in use by process" in outcomes[0].error


def test_a_full_disk_fails_the_training(tmp_path, monkeypatch):
    def full(*arguments: object) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(driver, "add_piece", full)
    work = TrainingWork(RayOptions(), Progress(1))
    work.hear(job(tmp_path), Piece(0, b"", ""))
    outcome = work.finish(job(tmp_path), Outcome("done", cell=str(tmp_path)), None)
    assert (outcome.status, outcome.error) == ("failed", f"cannot write to {tmp_path}: No space left on device")


def test_files_that_did_not_arrive_fail_the_training(tmp_path):
    work = TrainingWork(RayOptions(), Progress(1))
    outcome = work.finish(job(tmp_path), Outcome("done", cell=str(tmp_path)), None)
    assert (outcome.status, outcome.error) == ("failed", f"its files did not arrive whole in {tmp_path}")


@pytest.mark.slow
def test_hardenings_run_their_cells_and_trainings_on_the_cluster(call, cluster, tmp_path):
    words = "-m", "env=pendulum", "policy=constant", "perturbation=gaussian_action", "levels=[0,0.1]", "episodes=5"
    code, lines, errors = call(harden.main, *words, "seeds=[0]", "steps=200", "train_seed=0,1", RAY)
    assert code == 0, errors
    assert len([json.loads(path.read_text()) for path in tmp_path.glob("outputs/hardening/*/result.json")]) == 2
    # The clean and the noisy cell of both, two trainings, and two cells of each hardened policy.
    assert sum(len(parcel.jobs) for parcel in cluster.parcels) == 2 + 2 + 4
    assert lines.count("1/4 diagnose") == lines.count("4/4 verify") == 2
