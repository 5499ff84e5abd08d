"""A file that changes between the planning of a cell and its run fails the cell."""

import pytest

from brittlestar.cells import planned_files
from brittlestar.cells import run as cell
from brittlestar.cells.job import resolve
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.policies.zoo import cards

AGAIN = "run the command again, with a copy if a program still writes to it"
ACT = "def act(observation): return observation[:1] * {}\n"
ZERO = ACT.format(0)


@pytest.fixture
def planned(job, tmp_path, monkeypatch):
    """A resolved cell whose policy is the function `act` of a module."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(planned_files, "_used", {})

    def plan(name, text=ZERO, **kwargs):
        (tmp_path / f"{name}.py").write_text(text)
        node = {"_target_": "brittlestar.policies.CallablePolicy", "path": f"{name}:act", "kwargs": kwargs}
        job.config["policy"] = node
        resolved = resolve(job)
        assert resolved.cell
        return resolved

    return plan


def test_a_source_that_changed_after_the_planning_fails_the_cell(planned, tmp_path):
    job = planned("pf_late")
    (tmp_path / "pf_late.py").write_text(ACT.format(1))
    outcome = cell.run(job)
    assert outcome.error == f"pf_late.py changed after the cell was planned: {AGAIN}"
    assert cell.reuse(job) is None


def test_a_source_that_changed_after_its_import_fails_the_cells_of_that_process(planned, tmp_path):
    assert cell.run(planned("pf_edited")).status == "done"
    edited = planned("pf_edited", ACT.format(1))
    outcome = cell.run(edited)
    error = f"{tmp_path}/pf_edited.py changed after this process imported it: {AGAIN}"
    assert outcome.error == error and cell.reuse(edited) is None


def test_a_helper_that_changed_fails_the_cell_too(planned, tmp_path):
    (tmp_path / "pf_helper.py").write_text("A = 0")
    job = planned("pf_user", f"from pf_helper import A\n{ACT}".format("A"))
    (tmp_path / "pf_helper.py").write_text("A = 1")
    assert cell.run(job).error.startswith("a file of pf_helper.py, pf_user.py changed after the cell was planned")


def test_a_checkpoint_that_changed_is_loaded_anew_by_the_next_plan_only(job, tmp_path):
    path = tmp_path / "agent.zip"
    job.config["policy"] = {"_target_": "brittlestar.policies.sb3.Sb3Policy", "path": str(path)}
    results = []
    for name in ("pendulum_sac", "pendulum_sac_1"):
        path.write_bytes((cards.HOME / name / POLICY).read_bytes())
        resolved = resolve(job)
        assert cell.run(resolved).status == "done"
        results.append(cell.reuse(resolved).arrays["episodes"].tobytes())
    assert results[0] != results[1]
    job.config["seed"] = 1
    late = resolve(job)
    assert late.cell
    path.write_bytes((cards.HOME / "pendulum_sac" / POLICY).read_bytes())
    assert cell.run(late).error == f"agent.zip changed after the cell was planned: {AGAIN}"


def test_a_policy_may_write_to_a_file_that_its_arguments_name(planned, tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("")
    text = (
        "def act(observation, log):\n    with open(log, 'a') as file: file.write('x')\n    return observation[:1] * 0\n"
    )
    job = planned("pf_logging", text, log=str(log))
    log.write_text("y")
    assert cell.run(job).status == "done"
    assert "x" in log.read_text()
