import hashlib
import json
import pickle
import shutil
from pathlib import Path

import pytest

from brittlestar.cells.identity import engine_digest
from brittlestar.cells.job import Job, resolve
from brittlestar.cells.run import run
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards
from brittlestar.sweeps.on_ray import task
from brittlestar.sweeps.on_ray.shipped_files import luggage_of
from brittlestar.sweeps.on_ray.task import REFUSED, Parcel, _here, code_identity, compute_parcel, run_cells


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder that Ray makes on a node."""
    monkeypatch.setattr(task, "_FOLDER", tmp_path)
    return tmp_path


def parcel(**code: str) -> bytes:
    return pickle.dumps(Parcel([], run_cells, 1, None, {}, code_identity() | code, ["run.py"]))


@pytest.mark.parametrize("name", ["mujoco", "numpy", "python", "engine"])
def test_a_node_with_another_version_computes_nothing(name):
    (item,) = compute_parcel(parcel(**{name: "0.0.1"}), {}, bytes)
    kind, reason = pickle.loads(item)
    assert kind == REFUSED
    assert f"has {name} {code_identity()[name]}" in reason and "0.0.1" in reason


def test_a_node_without_a_package_of_the_work_computes_nothing():
    (item,) = compute_parcel(parcel(torch_of_the_driver="2.0"), {}, bytes)
    kind, reason = pickle.loads(item)
    assert kind == REFUSED
    assert "has torch_of_the_driver absent, this sweep has torch_of_the_driver 2.0" in reason


def test_the_identity_covers_the_engine_and_the_simulators():
    assert code_identity()["engine"] == engine_digest()
    assert {"mujoco", "gymnasium", "numpy", "brittlestar"} <= set(code_identity())
    assert code_identity(["torch"]).keys() - code_identity().keys() == {"torch"}


def test_files_of_the_same_name_and_other_content_get_another_folder():
    def place(content: bytes) -> str:
        files = {"/home/me/agent.zip": (hashlib.sha256(content).hexdigest(), content)}
        return task._place_files(files, lambda reference: reference)

    old, new = place(b"old"), place(b"new")
    assert [Path(f"{root}/home/me/agent.zip").read_bytes() for root in (old, new)] == [b"old", b"new"]
    assert place(b"old") == old


def test_a_file_that_changed_on_the_way_is_refused():
    digest = hashlib.sha256(b"old").hexdigest()
    with pytest.raises(UserError, match="/home/me/agent.zip changed while the sweep was running"):
        task._place_files({"/home/me/agent.zip": (digest, b"new")}, lambda reference: reference)


def test_a_cell_runs_with_the_copies_of_its_files(tmp_path):
    agent, root = tmp_path / "agent.zip", str(tmp_path / "node")
    shutil.copy(cards.HOME / "pendulum_sac" / POLICY, agent)
    policy = {"_target_": "brittlestar.policies.sb3.Sb3Policy", "path": str(agent)}
    config = {
        "env": {"_target_": "brittlestar.envs.EnvSpec", "id": "Pendulum-v1", "max_steps": 5, "lanes": 1},
        "policy": policy,
        "perturbation": {"_target_": "brittlestar.perturbations.Perturbation"},
        "mitigation": {"_target_": "brittlestar.mitigations.Mitigation"},
        "stress_schedule": {"_target_": "brittlestar.schedules.Constant", "level": 1.0},
        **{"episodes": 1, "seed": 0, "episode_seeds": "independent", "deterministic": True, "lanes": 1},
        **{"threads": None, "store": str(tmp_path / "store"), "study": None},
    }
    job = resolve(Job(config, {"env": "pendulum"}))
    cell, places = job.cell, luggage_of(json.dumps(policy)).places
    Path(root + str(agent)).parent.mkdir(parents=True)
    agent.rename(root + str(agent))
    outcome = run(_here(pickle.loads(pickle.dumps(job)), str(tmp_path / "store"), places, root))
    assert (outcome.status, outcome.cell, outcome.error) == ("done", cell, "")
