"""One cell: computed, recorded, reused, or failed with its reason."""

import os
import sys

import numpy as np
import pytest

from brittlestar.cells import run as cell
from brittlestar.cells import store as records
from brittlestar.cells.job import Job, resolve
from brittlestar.cells.record import Record
from brittlestar.engine.metrics import COLUMNS
from brittlestar.envs import backends


def test_a_cell_is_computed_once(job):
    first, second = cell.run(job), cell.run(job)
    assert (first.status, second.status) == ("done", "cached")
    assert first.cell == second.cell


def stored(job) -> Record:
    return cell.reuse(resolve(job))


def manifest_of(job) -> dict:
    outcome, resolved = cell.run(job), resolve(job)
    return cell.manifest_of(resolved, outcome, cell.reuse(resolved))


def test_the_manifest_holds_request_result_and_provenance(job):
    manifest = manifest_of(job)
    assert manifest["status"] == "done"
    backend = manifest["provenance"]["simulator"]["backend"]
    assert manifest["config"] == job.config | {"env": job.config["env"] | {"backend": backend}}
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
    rows = stored(job).arrays["episodes"]
    assert rows.shape == (3, len(COLUMNS))
    assert rows[:, 0].tolist() == [0, 1, 2]


def test_cells_of_strength_zero_share_rows_but_keep_their_names(job):
    job.config["perturbation"]["sigma"] = 0.0
    first = cell.run(job)
    job.config["perturbation"] = {"_target_": "brittlestar.perturbations.GaussianAction", "sigma": 0}
    second = cell.run(job)
    assert first.cell == second.cell
    assert second.status == "cached"
    assert manifest_of(job)["config"]["perturbation"]["_target_"].endswith("GaussianAction")


def test_a_clean_cell_is_the_cell_without_perturbation_and_with_a_constant_schedule(job):
    schedule = {"_target_": "brittlestar.schedules.Linear", "warmup_steps": 3}
    job.config |= {"clean": True, "role": "reference", "stress_schedule": schedule}
    first, manifest = cell.run(job), manifest_of(job)
    assert manifest["choices"] == {"env": "pendulum", "perturbation": "none", "stress_schedule": "constant"}
    none = {"_target_": "brittlestar.perturbations.Perturbation"}
    constant = {"_target_": "brittlestar.schedules.Constant", "level": 1, "parameter": None}
    job.config |= {"clean": False, "role": None, "perturbation": none, "stress_schedule": constant}
    assert (first.status, cell.run(job).status, cell.run(job).cell) == ("done", "cached", first.cell)


def test_a_damaged_cell_of_the_store_is_computed_again_with_a_note(job):
    first = cell.run(job)
    path = records.cell_file(job.config["store"], first.cell)
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    resolved = resolve(job)
    assert cell.run(resolved).status == "done"
    assert resolved.notes[-1] == (
        f"{path} was damaged (`rewards` has another digest than it was written with), so the cell was computed again"
    )
    assert cell.run(job).status == "cached"


def test_a_failure_is_returned_and_tried_again(job):
    job.config["perturbation"]["sigma"] = -1
    outcome = cell.run(job)
    assert outcome.status == "failed" and not outcome.traceback
    manifest = cell.manifest_of(job, outcome, None)
    assert (manifest["status"], manifest["error"]) == ("failed", outcome.error)
    assert "traceback" not in manifest
    job.config["perturbation"]["sigma"] = 1
    assert cell.run(job).status == "done"


def test_a_crash_keeps_its_traceback_in_the_manifest(job, monkeypatch):
    monkeypatch.setattr("brittlestar.engine.evaluation.rollout", lambda *arguments: 1 / 0)
    outcome = cell.run(job)
    assert outcome.error == "ZeroDivisionError: division by zero"
    assert "Traceback" in cell.manifest_of(job, outcome, None)["traceback"]


def test_sys_exit_in_a_policy_is_a_failed_cell(job, monkeypatch):
    monkeypatch.setattr("brittlestar.engine.evaluation.rollout", lambda *arguments: sys.exit(0))
    outcome = cell.run(job)
    assert outcome.status == "failed"
    assert outcome.error == "the policy or the environment ended the program by `sys.exit(0)`"


class _MuteError(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (GeneratorExit("left"), "GeneratorExit: left"),
        (BaseException("over"), "BaseException: over"),
        (_MuteError(), "_MuteError: (an error whose text cannot be read)"),
        (ValueError("no file \udcff"), "ValueError: no file \\udcff"),
    ],
)
def test_whatever_a_policy_raises_is_a_failed_cell_with_a_text_that_tables_can_hold(job, monkeypatch, error, line):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("brittlestar.engine.evaluation.rollout", fail)
    outcome = cell.run(job)
    assert (outcome.status, outcome.error) == ("failed", line)
    assert "Traceback" in outcome.traceback and outcome.traceback.encode()


def test_an_interruption_is_no_failed_cell(job, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("brittlestar.engine.evaluation.rollout", fail)
    with pytest.raises(KeyboardInterrupt):
        cell.run(job)


def test_a_policy_that_changes_the_folder_does_not_move_the_store(job, monkeypatch, tmp_path):
    from brittlestar.engine import evaluation

    rollout = evaluation.rollout
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(evaluation, "rollout", lambda *arguments: os.chdir("elsewhere") or rollout(*arguments))
    job.config["store"] = "relative"
    assert [cell.run(job).status for _ in range(2)] == ["done", "cached"]
    assert os.getcwd() == str(tmp_path) and not list((tmp_path / "elsewhere").iterdir())


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


def test_lanes_and_threads_change_no_byte(job, tmp_path):
    rows = []
    for lanes, threads in ((1, 1), (3, 2)):
        job.config |= {"lanes": lanes, "threads": threads, "store": f"{tmp_path}/{lanes}"}
        cell.run(job)
        rows.append(stored(job).arrays["episodes"].tobytes())
    assert rows[0] == rows[1]


def test_metrics_that_an_environment_lacks_are_nan(job):
    cell.run(job)
    rows = stored(job).arrays["episodes"]
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
        )  # fmt: skip
        assert cell.run(job).status == ("cached" if backend == "envpool" else "done")
        manifest, arrays = stored(job)
        expected = "gymnasium" if backend == "gymnasium" else "envpool"
        assert manifest["provenance"]["simulator"]["backend"] == expected
        rows[backend] = arrays["episodes"]
    assert not np.array_equal(rows["auto"], rows["gymnasium"], equal_nan=True)


def test_the_reward_over_time_is_stored_with_its_cell(job):
    cell.run(job)
    manifest, arrays = stored(job)
    assert arrays["rewards"].shape == (1, 5, len(manifest["reward_columns"]))
    returns = arrays["episodes"][:, COLUMNS.index("return")]
    assert arrays["rewards"][0, -1, 1] == pytest.approx(returns.mean(), rel=1e-6)
