"""Which levels were in training: of cards and training folders, of compositions and schedules."""

import json

import pytest

from brittlestar.policies.zoo import cards
from brittlestar.studies.perception.axes import standard_dr_sweeps
from brittlestar.studies.perception.training_ranges import read_training, trained_strengths

LIGHT = {"_target_": "brittlestar.perturbations.SceneLight", "amount": 0.5, "kelvin": 1500.0}
VIEW = {"_target_": "brittlestar.perturbations.CameraView", "shift": 0.1}
ROTATION = {"_target_": "brittlestar.perturbations.CameraRotation", "degrees": 20.0}
NOISE = {"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.02}
NONE = {"_target_": "brittlestar.perturbations.Perturbation"}
SPREAD = {"_target_": "brittlestar.schedules.Spread", "calm": 0.25, "parameter": None}
HALF = {"_target_": "brittlestar.schedules.Constant", "level": 0.5}


def composed(scale=1.0, **parts):
    return {"_target_": "brittlestar.perturbations.ComposedPerturbation", "scale": scale, "parts": parts}


def scheduled(part, schedule):
    return {"_target_": "brittlestar.perturbations.Scheduled", "perturbation": part, "schedule": schedule}


@pytest.mark.parametrize(
    ("node", "schedule", "expected"),
    [
        (None, None, [0, 0, 0]),
        (NONE, None, [0, 0, 0]),
        (NOISE, None, [0, 0, 0]),
        (VIEW, None, [0, 0.1, 0]),
        (VIEW, HALF, [0, 0.05, 0]),
        (VIEW, SPREAD, [0, 0.1, 0]),
        (composed(a=LIGHT, b=VIEW, c=ROTATION, d=NOISE), SPREAD, [0.5, 0.1, 20]),
        (composed(scale=0.5, a=LIGHT, b=VIEW), None, [0.25, 0.05, 0]),
        (composed(scale=0.0, a=LIGHT), None, [0, 0, 0]),
        (composed(a=VIEW, b=VIEW | {"shift": 0.02}), None, [0, 0.1, 0]),
        (composed(a=scheduled(VIEW, HALF), b=composed(c=ROTATION)), HALF, [0, 0.025, 10]),
        # Other ranges than those of the axis.
        (LIGHT | {"kelvin": 0.0}, None, [None, 0, 0]),
        # The schedule moves another number than the strength.
        (ROTATION, HALF | {"parameter": "roll_ratio"}, [0, 0, None]),
        # A class whose import would run the code of the author of the file.
        ({"_target_": "antigravity.Geohash"}, None, [None, None, None]),
        ({"_target_": "brittlestar.perturbations.CameraView", "shfit": 1}, None, [None, None, None]),
    ],
)
def test_the_greatest_strength_of_every_axis(node, schedule, expected):
    strengths = trained_strengths({"perturbation": node, "stress_schedule": schedule}, standard_dr_sweeps())
    assert list(strengths.values()) == [value if value is None else pytest.approx(value) for value in expected]


def test_a_policy_of_the_zoo_has_a_card(tmp_path, monkeypatch):
    card = {"env_config": {"id": "FetchReach-v4"}, "perturbation": VIEW, "stress_schedule": SPREAD}
    monkeypatch.setattr("brittlestar.studies.perception.training_ranges.read_card", {"mine": card}.__getitem__)
    training = read_training({"_target_": cards.TARGET, "name": "mine"})
    assert training == {"env": {"id": "FetchReach-v4"}, "perturbation": VIEW, "stress_schedule": SPREAD}


def test_a_shipped_card_is_read():
    training = read_training({"_target_": cards.TARGET, "name": "fetch_reach_sac_0"})
    assert training["perturbation"] is None and training["env"]["id"] == "FetchReach-v4"
    assert set(trained_strengths(training, standard_dr_sweeps()).values()) == {0.0}


def test_a_training_folder_has_a_config(tmp_path):
    config = {"env": {"id": "FetchReach-v4"}, "perturbation": VIEW, "stress_schedule": HALF, "algo": {}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "final").mkdir()
    training = read_training({"path": str(tmp_path / "final" / "policy.zip")})
    assert trained_strengths(training, standard_dr_sweeps()) == {"light": 0.0, "view": 0.05, "rotation": 0.0}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"env": {}}', "no json"])
def test_any_other_policy_is_not_known(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "final").mkdir()
    policies = [{"path": str(tmp_path / "final" / "policy.zip")}, {"path": "my_cnn.zip"}, {"kp": 10}, {"path": None}]
    assert [read_training(policy) for policy in policies] == [None] * 4
    assert read_training({"_target_": cards.TARGET, "name": "no_such_policy"}) is None
    assert set(trained_strengths(None, standard_dr_sweeps()).values()) == {None}
