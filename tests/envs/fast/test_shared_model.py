"""One model in place of many: what it relies on, and the same bits without it."""

import mujoco
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec, worlds
from brittlestar.envs.fast import lane_group, shared_model
from brittlestar.envs.fast.shared_model import SharedModel
from brittlestar.perturbations import BodyMass, ComposedPerturbation, Gravity
from brittlestar.policies import RandomPolicy

FIELDS = ["body_mass", "body_inertia", "dof_damping", "geom_friction", "opt.gravity", "opt.timestep"]


@pytest.fixture
def model():
    return EnvSpec(id="HalfCheetah-v5").make().unwrapped.model


def test_the_layout_of_the_installed_mujoco_is_the_expected_one(model):
    assert SharedModel(model).covers([*FIELDS, *worlds._CONSTANTS]), "MuJoCo has changed: see `fast/shared_model.py`"


@pytest.mark.parametrize(("text", "allowed"), [("0", False), ("False", False), ("off", False), ("1", True), ("", True)])
def test_the_environment_variable_turns_it_off(model, monkeypatch, text, allowed):
    monkeypatch.setenv("BRITTLESTAR_RAW_MEMORY", text)
    assert SharedModel(model).covers(["body_mass"]) == allowed


def test_arrays_at_other_distances_in_another_model_are_not_written(model, monkeypatch):
    address = shared_model._address
    moved = {"body_inertia": 64}
    monkeypatch.setattr(
        shared_model,
        "_address",
        lambda owner, name: address(owner, name) + (moved.get(name, 0) if owner is model else 0),
    )
    assert SharedModel(model).covers(["body_mass"])
    assert not SharedModel(model).covers(["body_mass", "body_inertia"])


def test_single_numbers_that_are_elsewhere_are_not_written(monkeypatch):
    monkeypatch.setattr(shared_model, "_BEFORE", {"opt.gravity": ("tolerance", "timestep")})
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    assert not SharedModel(model).covers(["opt.timestep"])
    assert model.opt.timestep == SharedModel(model).model.opt.timestep


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "FetchPush-v4"])
def test_rows_are_the_same_bits_with_and_without_raw_memory(env_id, monkeypatch):
    monkeypatch.setattr(lane_group, "_CACHED_MODELS", 1)
    numbers, calls = SharedModel.numbers, []
    monkeypatch.setattr(SharedModel, "numbers", lambda *args: calls.append(args) or numbers(*args))
    change = ComposedPerturbation([BodyMass(0.5, draw="uniform"), Gravity(0.3, draw="uniform")])
    rows, uses = [], []
    for allowed in ("1", "0"):
        monkeypatch.setenv("BRITTLESTAR_RAW_MEMORY", allowed)
        lanes = Lanes(EnvSpec(id=env_id, max_steps=10), 4, own_models=True)
        calls.clear()
        rows.append(rollout(lanes, Parts(RandomPolicy(), change), Plan(6)).values.tobytes())
        uses.append(bool(calls))
        lanes.close()
    assert rows[0] == rows[1]
    assert uses == [True, False]
