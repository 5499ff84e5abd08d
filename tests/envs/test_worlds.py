"""Cells that edit the simulator: on the right backend, and without a trace in the cells around them."""

import numpy as np
import pytest

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job, resolve
from brittlestar.envs import backends
from brittlestar.errors import UserError
from brittlestar.perturbations import Gravity

PERTURBATIONS = "brittlestar.perturbations."
needs_envpool = pytest.mark.skipif(not backends.envpool_available(), reason="needs `pip install envpool`")


@pytest.fixture
def run(tmp_path):
    def run(env_id, perturbation, backend="auto", **fields):
        env = {"_target_": "brittlestar.envs.EnvSpec", "id": env_id, "max_steps": 6, "lanes": 2, "backend": backend}
        config = {
            "env": env,
            "policy": {"_target_": "brittlestar.policies.RandomPolicy"},
            "perturbation": {"_target_": PERTURBATIONS + perturbation, **fields},
            "mitigation": {"_target_": "brittlestar.mitigations.Mitigation"},
            "stress_schedule": {"_target_": "brittlestar.schedules.Constant", "level": 1.0},
            "episodes": 4,
            "seed": 0,
            "episode_seeds": "independent",
            "deterministic": True,
            "lanes": 2,
            "threads": None,
            "store": str(tmp_path / f"store{len(list(tmp_path.iterdir()))}"),
        }
        job = Job(config)
        outcome = cell.run(job)
        if outcome.error:
            return outcome, cell.manifest_of(job, outcome, None), None
        record = cell.reuse(resolve(job))
        return outcome, cell.manifest_of(job, outcome, record), record.arrays["episodes"]

    return run


@needs_envpool
@pytest.mark.parametrize(
    ("env_id", "perturbation", "fields"),
    [("Ant-v5", "BodyMass", {}), ("CartPole-v1", "EnvParameter", {"attribute": "length"}), ("Ant-v5", "Push", None)],
)
def test_the_backend_is_gymnasium_at_every_strength(run, env_id, perturbation, fields):
    strength = "newtons" if fields is None else "change"
    starts = []
    for value in (0.0, 0.5):
        outcome, manifest, rows = run(env_id, perturbation, **{strength: value}, **(fields or {}))
        assert outcome.status == "done", outcome.error
        assert manifest["provenance"]["simulator"] == {"backend": "gymnasium"}
        assert bool(manifest["delivery"].get("world_change")) == (value > 0)
        starts.append(rows[:, 1].tolist())
    assert starts[0] == starts[1]
    plain = run(env_id, "Perturbation")[1]
    assert plain["provenance"]["simulator"]["backend"] == "envpool"


@pytest.mark.parametrize("change", [0.0, 0.5])
def test_an_explicit_envpool_backend_is_refused(run, change):
    outcome, *_ = run("Ant-v5", "BodyMass", backend="envpool", change=change)
    assert outcome.status == "failed"
    assert outcome.error == "`env.backend=envpool` does not show the model that this cell needs: take `gymnasium`"


@pytest.mark.parametrize("backend", ["auto", "gymnasium"])
@pytest.mark.parametrize("env_id", ["HalfCheetah-v3", "FetchReach-v1"])
def test_an_id_that_only_envpool_runs_is_refused(run, env_id, backend):
    outcome, *_ = run(env_id, "BodyMass", backend=backend, change=0.5)
    assert f"only EnvPool runs {env_id}, and it does not show the model that this cell needs" in outcome.error
    with pytest.raises(UserError, match="take a newer id"):
        backends.choose_backend(backend, env_id, needs_model=True)


def test_an_environment_without_a_model_is_refused(run):
    outcome, *_ = run("FrozenLake-v1", "BodyMass", change=0.5)
    assert "BodyMass needs a MuJoCo model, and FrozenLakeEnv has none" in outcome.error
    outcome, *_ = run("FrozenLake-v1", "ControlTimestep", change=0.5)
    assert "FrozenLakeEnv has none of them" in outcome.error


def test_cells_of_one_worker_do_not_disturb_each_other(run):
    cell._open_lanes.clear()
    plain = {"perturbation": "Perturbation"}
    heavy = {"perturbation": "BodyMass", "change": 0.8, "draw": "sign"}
    slow = {"perturbation": "ControlTimestep", "change": 0.5}
    alone = {}
    for name, fields in (("plain", plain), ("heavy", heavy), ("slow", slow)):
        alone[name] = run("HalfCheetah-v5", **fields)[2]
        cell._open_lanes.clear()
    assert not np.array_equal(alone["plain"], alone["heavy"], equal_nan=True)
    for name, fields in (("heavy", heavy), ("plain", plain), ("slow", slow), ("heavy", heavy), ("plain", plain)):
        assert np.array_equal(run("HalfCheetah-v5", **fields)[2], alone[name], equal_nan=True), name


def test_a_cell_that_fails_in_the_middle_leaves_clean_lanes(run, monkeypatch):
    cell._open_lanes.clear()
    _, _, before = run("HalfCheetah-v5", "Gravity", change=0.0)
    from brittlestar.engine.lanes import Lanes

    step, calls = Lanes.step, []

    def dies(self, *args):
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError("dead")
        return step(self, *args)

    monkeypatch.setattr(Lanes, "step", dies)
    assert run("HalfCheetah-v5", "Gravity", change=0.5)[0].error == "RuntimeError: dead"
    _, _, after = run("HalfCheetah-v5", "Gravity", change=0.0)
    assert np.array_equal(before, after, equal_nan=True)


def test_strength_zero_needs_the_model_too():
    perturbation = Gravity(change=0.0)
    assert perturbation.needs_world and perturbation.is_identity
