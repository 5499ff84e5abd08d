"""One cell: computed, recorded, reused, or failed with its reason."""

import json
from pathlib import Path

import numpy as np
import pytest

from brittlestar.cells import run as cell
from brittlestar.cells import store as records
from brittlestar.cells.job import Job
from brittlestar.engine.metrics import COLUMNS
from brittlestar.envs import backends


def test_a_cell_is_computed_once(job):
    first, second = cell.run(job), cell.run(job)
    assert (first.status, second.status) == ("done", "cached")
    assert first.cell == second.cell


def test_the_manifest_holds_request_result_and_provenance(job):
    cell.run(job)
    manifest = records.read_manifest(Path(job.folder))
    assert manifest["status"] == "done"
    assert manifest["config"] == job.config
    assert manifest["choices"] == {"env": "pendulum"}
    assert manifest["overrides"] == ["seed=0"]
    assert manifest["strength"] == {"name": "sigma", "value": 0.1}
    assert manifest["columns"] == list(COLUMNS)
    assert manifest["measure"] == "return"
    assert manifest["delivery"]["observation_change"] == pytest.approx(0.1, rel=0.3)
    assert manifest["delivery"]["action_change"] == 0
    assert manifest["timing"]["steps"] == 15
    assert {"versions", "git", "host", "argv"} <= manifest["provenance"].keys()


def test_rows_are_one_per_episode_in_order(job):
    cell.run(job)
    rows = records.read_rows(Path(job.folder))
    assert rows.shape == (3, len(COLUMNS))
    assert rows[:, 0].tolist() == [0, 1, 2]


def test_cells_of_strength_zero_share_rows_but_keep_their_names(job):
    job.config["perturbation"]["sigma"] = 0.0
    first = cell.run(job)
    job.config["perturbation"] = {"_target_": "brittlestar.perturbations.GaussianAction", "sigma": 0}
    second = cell.run(job)
    assert first.cell == second.cell
    assert second.status == "cached"
    assert records.read_manifest(Path(job.folder))["config"]["perturbation"]["_target_"].endswith("GaussianAction")


def test_a_clean_cell_is_the_cell_without_perturbation_and_with_a_constant_schedule(job):
    schedule = {"_target_": "brittlestar.schedules.Linear", "warmup_steps": 3}
    job.config |= {"clean": True, "role": "reference", "stress_schedule": schedule}
    first = cell.run(job)
    manifest = records.read_manifest(Path(job.folder))
    assert manifest["choices"] == {"env": "pendulum", "perturbation": "none", "stress_schedule": "constant"}
    none = {"_target_": "brittlestar.perturbations.Perturbation"}
    constant = {"_target_": "brittlestar.schedules.Constant", "level": 1, "parameter": None}
    job.config |= {"clean": False, "role": None, "perturbation": none, "stress_schedule": constant}
    assert (first.status, cell.run(job).status, cell.run(job).cell) == ("done", "cached", first.cell)


def test_a_damaged_store_is_computed_again(job):
    first = cell.run(job)
    (records.store_folder(job.config["store"], first.cell) / "manifest.json").write_text('{"torn')
    assert cell.run(job).status == "done"


def test_a_failure_is_recorded_and_tried_again(job):
    job.config["perturbation"]["sigma"] = -1
    outcome = cell.run(job)
    assert outcome.status == "failed"
    manifest = records.read_manifest(Path(job.folder))
    assert manifest["status"] == "failed"
    assert manifest["error"] == outcome.error
    assert "traceback" not in manifest
    job.config["perturbation"]["sigma"] = 1
    assert cell.run(job).status == "done"


def test_a_crash_keeps_its_traceback_in_the_manifest(job, monkeypatch):
    monkeypatch.setattr("brittlestar.engine.evaluation.rollout", lambda *arguments: 1 / 0)
    outcome = cell.run(job)
    assert outcome.error == "ZeroDivisionError: division by zero"
    assert "Traceback" in json.loads((Path(job.folder) / "manifest.json").read_text())["traceback"]


def test_environments_and_policies_are_built_once_per_process(job, monkeypatch):
    cell._open_lanes.clear()
    cell._policy.cache_clear()
    made = []
    from brittlestar.envs import EnvSpec

    job.config["env"]["backend"] = "gymnasium"
    make = EnvSpec.make
    monkeypatch.setattr(EnvSpec, "make", lambda spec, like=None: made.append(1) or make(spec, like))
    for seed in range(4):
        job.config["seed"] = seed
        assert cell.run(job).status == "done"
    assert len(made) == 2, "two lanes"
    assert cell._policy.cache_info().misses == 1


def test_lanes_that_are_not_used_for_long_are_closed(job, monkeypatch):
    from brittlestar.engine.lanes import Lanes

    monkeypatch.setattr(cell, "_open_lanes", {})
    closed = []
    monkeypatch.setattr(Lanes, "close", lambda lanes: closed.append(lanes.spec.max_steps))
    job.config["env"]["backend"] = "gymnasium"
    for steps in (2, 3, 4, 5, 2, 6, 7):
        job.config["env"]["max_steps"] = steps
        assert cell.run(job).status in ("done", "cached")
        job.config["seed"] += 1
    assert closed == [3, 4]


def test_lanes_and_threads_change_no_byte(job):
    rows = []
    for lanes, threads in ((1, 1), (3, 2)):
        job.config |= {"lanes": lanes, "threads": threads, "store": f"{job.folder}/{lanes}"}
        cell.run(job)
        rows.append((Path(job.folder) / "episodes.npy").read_bytes())
    assert rows[0] == rows[1]


def test_metrics_that_an_environment_lacks_are_nan(job):
    cell.run(job)
    rows = records.read_rows(Path(job.folder))
    assert np.isnan(rows[:, COLUMNS.index("success_any")]).all()


needs_envpool = pytest.mark.skipif(not backends.envpool_available(), reason="needs `pip install envpool`")
CONFIG = {
    "env": {"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1", "kwargs": {}, "lanes": 2},
    "policy": {"_target_": "brittlestar.policies.RandomPolicy"},
    "perturbation": {"_target_": "brittlestar.perturbations.Perturbation"},
    "episode_seeds": "independent",
}


def config(backend, **changed):
    return CONFIG | {"env": CONFIG["env"] | {"backend": backend}} | changed


@needs_envpool
def test_a_cell_records_its_backend(tmp_path):
    rows = {}
    for backend in ("auto", "envpool", "gymnasium"):
        job = Job(
            config(
                backend,
                mitigation={"_target_": "brittlestar.mitigations.Mitigation"},
                stress_schedule={"_target_": "brittlestar.schedules.Constant", "level": 1.0},
                episodes=5, seed=0, deterministic=True, lanes=2, threads=None, store=str(tmp_path / "all"),
            ),
            str(tmp_path / backend),
        )  # fmt: skip
        assert cell.run(job).status == ("cached" if backend == "envpool" else "done")
        manifest = cell.records.read_manifest(tmp_path / backend)
        expected = "gymnasium" if backend == "gymnasium" else "envpool"
        assert manifest["provenance"]["simulator"]["backend"] == expected
        rows[backend] = cell.records.read_rows(tmp_path / backend)
    assert not np.array_equal(rows["auto"], rows["gymnasium"], equal_nan=True)


def test_the_reward_over_time_is_stored_and_reused_with_its_cell(job, tmp_path):
    cell.run(job)
    manifest = records.read_manifest(Path(job.folder))
    rewards = records.read_rows(Path(job.folder), records.REWARDS)
    assert rewards.shape == (1, 5, len(manifest["reward_columns"]))
    returns = records.read_rows(Path(job.folder))[:, COLUMNS.index("return")]
    assert rewards[0, -1, 1] == pytest.approx(returns.mean(), rel=1e-6)
    again = Job(job.config, str(tmp_path / "again"))
    assert cell.run(again).status == "cached"
    assert np.array_equal(records.read_rows(Path(again.folder), records.REWARDS), rewards)
