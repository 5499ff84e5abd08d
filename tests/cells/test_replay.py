"""A recorded episode again: its row comes out bit for bit, or the replay says what changed."""

import copy

import numpy as np
import pytest
from omegaconf import OmegaConf

from brittlestar.cells import run as cell
from brittlestar.cells.job import resolve
from brittlestar.cells.replay import replay
from brittlestar.config import config_folder
from brittlestar.errors import UserError


def node(group, option, **values):
    return OmegaConf.to_container(OmegaConf.load(config_folder() / group / f"{option}.yaml")) | values


def env(option, **values):
    return {"env": node("env", option, **({"max_steps": 40} | values))}


def perturbation(option, **values):
    return {"perturbation": node("perturbation", option, **values)}


PHASES = node("stress_schedule", "phases") | {"pre": 4, "shock": 4, "post": 4}
LOW_PASS = {"mitigation": node("mitigation", "low_pass")}
STUDIES = {
    "noise": {},
    "spread of levels": {"stress_schedule": node("stress_schedule", "spread")},
    "bursts": {"stress_schedule": node("stress_schedule", "bursts", onset_step=2, duration_steps=2, period_steps=4)},
    "phases with drift": env("cartpole")
    | perturbation("concept_drift", protocol="rigorous")
    | {"stress_schedule": PHASES},
    "late actions, filtered": perturbation("delayed_action", delay_steps=2)
    | {"mitigation": node("mitigation", "low_pass")},
    "masks by calibration": perturbation("mask_observation"),
    "a heavier robot": env("hopper", backend="gymnasium") | perturbation("body_mass"),
    "pushes": env("hopper", backend="gymnasium") | perturbation("push"),
    "EnvPool": env("cartpole", backend="envpool"),
    "as published": {"episode_seeds": "consecutive"},
    "twice asked": {"divergence": True, "record": "trajectories"},
    "toy text": env("frozen_lake") | perturbation("random_action"),
}


@pytest.fixture
def recorded(job):
    """Returns a function that runs a cell with some changes; it returns the manifest and the rows."""

    def run(changes):
        job.config |= {"episodes": 12} | copy.deepcopy(changes)
        job.choices = {}
        outcome, resolved = cell.run(job), resolve(job)
        assert outcome.status == "done", outcome.error
        record = cell.reuse(resolved)
        return cell.manifest_of(resolved, outcome, record), record.arrays["episodes"]

    return run


@pytest.mark.parametrize("study", STUDIES)
def test_the_row_comes_out_bit_for_bit(study, recorded):
    if study == "EnvPool":
        pytest.importorskip("envpool")
    manifest, rows = recorded(STUDIES[study])
    for episode in np.random.default_rng(0).choice(12, 3, replace=False).tolist():
        again = replay(manifest, rows, episode)
        assert again.differences == {} and again.changes == []
        assert len(again.moments) == again.metrics["length"]
        assert np.isclose(sum(moment.reward for moment in again.moments), again.metrics["return"])


POOLS = {
    "cartpole": env("cartpole", backend="envpool", max_steps=12),
    "frozen_lake": env("frozen_lake", backend="envpool") | perturbation("random_action"),
    "ant": env("gym", id="Ant-v5", backend="envpool", max_steps=6),
}


@pytest.mark.parametrize("name", POOLS)
def test_envpool_draws_what_it_steps(name, recorded, request):
    pytest.importorskip("envpool")
    if name == "ant":
        request.getfixturevalue("gl")
    manifest, rows = recorded(POOLS[name] | {"episodes": 3})
    again = replay(manifest, rows, 1, size=64)
    assert again.differences == {} and again.no_pictures == ""
    frames = [moment.frame for moment in again.moments]
    assert all(frame.dtype == np.uint8 and frame.shape[2] == 3 and frame.std() > 1 for frame in frames)
    states = [np.concatenate([np.ravel(part) for part in moment.true.values()]) for moment in again.moments]
    for i, frame in enumerate(frames):
        if np.array_equal(states[0], states[i]):
            assert np.array_equal(frames[0], frame)
    # A step may be smaller than a pixel.
    assert any((frames[0] != frame).any() for frame in frames)


def test_an_environment_that_envpool_cannot_draw_gives_a_reason(recorded):
    pytest.importorskip("envpool")
    blackjack = env("gym", id="Blackjack-v1", backend="envpool") | {"perturbation": node("perturbation", "none")}
    manifest, rows = recorded(blackjack | {"policy": node("policy", "random")})
    again = replay(manifest, rows, 0, size=64)
    assert again.differences == {} and again.no_pictures == "EnvPool draws no pictures of Blackjack-v1"
    assert all(moment.frame is None for moment in again.moments)


def test_a_recurrent_policy_comes_out_bit_for_bit(recorded, tmp_path):
    from sb3_contrib import RecurrentPPO

    RecurrentPPO("MlpLstmPolicy", "Pendulum-v1", n_steps=8, batch_size=8, seed=0).save(tmp_path / "agent.zip")
    manifest, rows = recorded({"policy": node("policy", "sb3", path=str(tmp_path / "agent.zip"))})
    assert replay(manifest, rows, 7).differences == {}


def test_another_row_is_reported_with_what_changed(recorded):
    manifest, rows = recorded({})
    rows = rows.copy()
    rows[3, list(manifest["columns"]).index("return")] += 1
    manifest = manifest | {"cell": "another", "provenance": {"versions": {"numpy": "0.1"}, "simulator": {}}}
    again = replay(manifest, rows, 3)
    assert list(again.differences) == ["return"]
    assert any(line.startswith("numpy was 0.1, now ") for line in again.changes)


def test_what_the_policy_saw_and_did_is_there(recorded):
    manifest, rows = recorded(perturbation("gaussian_observation", sigma=0.5))
    moment = replay(manifest, rows, 0).moments[2]
    assert moment.true[""].shape == moment.seen[""].shape == (3,) and not (moment.true[""] == moment.seen[""]).any()
    assert moment.step == 2 and moment.level == 1 and (moment.commanded == moment.executed).all()


MASKS = {
    "mask_observation": {"p": 0.6, "r": 0.4, "fill": "zero"},
    "hold_observation": {"p": 0.4},
    "stuck_observation": {"p": 0.9, "within_steps": 4},
    "sensor_blackout": {"share": 0.6, "protocol": "rigorous"},
}


@pytest.mark.parametrize("option", MASKS)
def test_masked_numbers_are_named_as_such(option, recorded):
    manifest, rows = recorded(perturbation(option, **MASKS[option]))
    moments = [moment for episode in (0, 3) for moment in replay(manifest, rows, episode).moments]
    masked = np.array([moment.masked.get("", np.zeros(3, bool)) for moment in moments])
    differs = np.array([moment.true[""] != moment.seen[""] for moment in moments])
    # A value that is held may be the true one by chance.
    assert differs.any() and not (differs & ~masked).any()
    if option == "mask_observation":
        assert (masked == (np.array([moment.seen[""] for moment in moments]) == 0)).all()


def test_noise_masks_nothing(recorded):
    manifest, rows = recorded(perturbation("gaussian_observation", sigma=0.5))
    assert not any(moment.masked for moment in replay(manifest, rows, 0).moments)


@pytest.mark.parametrize(("option", "shape"), [("cartpole", (400, 600, 3)), ("frozen_lake", (256, 256, 3))])
def test_pictures_of_environments_that_draw_themselves(option, shape, recorded):
    pytest.importorskip("pygame")
    manifest, rows = recorded(env(option, backend="gymnasium") | perturbation("none"))
    again = replay(manifest, rows, 1, size=64)
    assert again.differences == {} and again.no_pictures == ""
    assert {moment.frame.shape for moment in again.moments} == {shape}


def test_an_episode_that_does_not_exist(recorded):
    manifest, rows = recorded({})
    with pytest.raises(UserError, match="the episodes 0 to 11, got 12"):
        replay(manifest, rows, 12)
