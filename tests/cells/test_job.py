"""Jobs: checked keys, a complete config, and parts that are built once."""

import copy
import pickle

import pytest

from brittlestar.cells import run as cell
from brittlestar.cells.identity import NO_PERTURBATION
from brittlestar.cells.job import resolve
from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianObservation


@pytest.fixture
def built(monkeypatch):
    """The perturbations that are constructed."""
    objects, check = [], GaussianObservation.__post_init__
    monkeypatch.setattr(GaussianObservation, "__post_init__", lambda self: objects.append(self) or check(self))
    return objects


def test_a_cell_builds_its_perturbation_once(job, built):
    assert cell.run(job).status == "done"
    assert len(built) == 1


@pytest.mark.parametrize("sigma", [0.1, 0.0])
def test_a_stored_cell_builds_its_perturbation_once(job, built, sigma):
    job.config["perturbation"]["sigma"] = sigma
    cell.run(job)
    built.clear()
    assert cell.run(job).status == "cached"
    assert len(built) == 1


def test_a_sweep_builds_a_perturbation_once_in_the_launcher_and_once_in_a_worker(job, built):
    resolved = resolve(job)
    assert resolved.cell
    assert len(built) == 1
    received = pickle.loads(pickle.dumps(resolved))
    assert len(built) == 1
    assert cell.run(received).cell == resolved.cell
    assert len(built) == 2


def test_resolving_does_not_change_the_job(job):
    job.config |= {"check": "baseline", "env": {"id": "auto"}, "policy": {"path": "CartPole-v1.zip"}}
    before = copy.deepcopy(vars(job))
    resolved = resolve(job)
    assert vars(job) == before
    assert resolved.config["perturbation"] == NO_PERTURBATION
    assert resolved.config["env"]["id"] == resolved.choices["env"] == "CartPole-v1"
    assert resolve(resolved) is resolved


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episode": 3}, "`episode` does not exist; did you mean `episodes`?"),
        ({"check": "all"}, "`check` must be null, baseline or models, got all"),
        ({"models": "list.yaml"}, "`models=list.yaml` is a sweep: add `-m`"),
    ],
)
def test_a_wrong_key_is_named(job, changes, message):
    job.config |= changes
    with pytest.raises(UserError, match=message):
        resolve(job)


MASK = {"_target_": "brittlestar.perturbations.MaskObservation", "r": 0.5, "kind": "random"}


def masked(job, p, parameter):
    job.config["perturbation"] = MASK | {"p": p}
    job.config["stress_schedule"] = {"_target_": "brittlestar.schedules.Constant", "level": 0.5, "parameter": parameter}
    return copy.deepcopy(job)


@pytest.mark.parametrize("parameter", ["r", ["p", "r"]])
def test_the_clean_cell_of_a_scheduled_parameter_is_that_of_any_schedule_of_this_kind(job, parameter):
    clean = masked(job, 0.0, parameter)
    assert resolve(clean).cell == resolve(masked(job, 0.0, None)).cell
    assert resolve(masked(job, 0.5, parameter)).cell != resolve(masked(job, 0.5, None)).cell
    assert cell.run(clean).status == "done"
    assert cell.run(masked(job, 0.0, None)).status == "cached"


@pytest.mark.parametrize("changes", [{"check": "baseline"}, {"perturbation": NO_PERTURBATION}])
def test_a_cell_without_perturbation_needs_no_scheduled_parameter(job, changes):
    job = masked(job, 0.5, "r")
    job.config |= changes
    assert cell.run(job).status == "done"


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("parameter", ["q", ["p", "q"]])
def test_a_scheduled_parameter_that_does_not_exist_is_named_at_every_strength(job, p, parameter):
    cell.run(masked(job, p, None))
    assert "MaskObservation has no number 'q'; valid: p, r" in cell.run(masked(job, p, parameter)).error


@pytest.mark.parametrize(("overrides", "lanes"), [([], 256), (["lanes=2"], 2), (["env.lanes=3"], 3)])
def test_another_environment_has_its_own_number_of_lanes(job, overrides, lanes):
    composed = 3 if "env.lanes=3" in overrides else 16
    job.config |= {"env": {"id": "auto", "lanes": composed}, "lanes": 2 if "lanes=2" in overrides else composed}
    job.config["policy"] = {"path": "CartPole-v1.zip"}
    job.overrides = overrides
    assert resolve(job).config["lanes"] == lanes
