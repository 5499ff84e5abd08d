"""Hardening as a study: the cells that it adds, and its sections."""

from brittlestar.cells.job import Job
from brittlestar.studies.hardening.choice import Choice
from brittlestar.studies.hardening.setup import Setup
from brittlestar.studies.hardening.study import Hardening


def test_every_cell_runs_once_more_with_the_hardened_policy(tmp_path):
    setup = Setup({"checkpoint": "final"}, {}, "sigma", "success_any")
    study = Hardening(setup, Choice(0.1, "why", "success_any", {}), tmp_path / "trained", "why")
    before = Job({"policy": {}, "model": "before", "seed": 3}, {"policy": "random"}, ["seed=3"], 7)
    (after,) = study.extra_cells([before])
    path = str(tmp_path / "trained" / "final" / "policy.zip")
    assert after.config["policy"]["path"] == path and after.config["seed"] == 3
    assert after.config["model"] == "after" and after.choices == {"policy": "sb3"}
    assert after.number == 7
    assert after.overrides == ["seed=3", "policy=sb3", f"policy.path={path}", "model=after"]
    assert before.config["model"] == "before"
