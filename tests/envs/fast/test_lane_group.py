import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.fast import lane_group
from brittlestar.envs.fast.shared_model import SharedModel
from brittlestar.perturbations import (
    BodyMass,
    ComposedPerturbation,
    Damping,
    EnvParameter,
    Friction,
    Gravity,
    Push,
    Step,
)
from brittlestar.policies import RandomPolicy
from brittlestar.randomness import LaneDraws
from brittlestar.schedules import Bursts, Constant

BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)


def test_a_lane_with_shared_edits_is_edited_on_access(model_bytes):
    lanes = Lanes(EnvSpec(id="HalfCheetah-v5", max_steps=20), 3, own_models=True)
    worlds, change = lanes.worlds(), BodyMass(0.5)
    clean = model_bytes(worlds[2].model)
    change.bind(BOX, BOX, lanes=3)
    draws = LaneDraws(0, "test", 3)
    for number, level in enumerate((0.2, 0.7)):
        draws.at(np.arange(3), np.full(3, number))
        change.perturb_world(worlds, Step(np.full(3, level), np.full(3, number == 0), draws))
    assert model_bytes(worlds[2].model) == clean
    assert worlds[0].edits is worlds[2].edits
    np.testing.assert_allclose(worlds[2].value("body_mass"), 1.35 * worlds[2].original("body_mass"))
    assert model_bytes(worlds[2].model) == model_bytes(worlds[0].model) != clean
    worlds[2].restore()
    assert model_bytes(worlds[2].model) == clean


def test_lanes_that_shared_a_model_are_given_their_own():
    shared, spec = Lanes(EnvSpec(id="HalfCheetah-v5", max_steps=5), 3), EnvSpec(id="HalfCheetah-v5", max_steps=5)
    parts, plan = Parts(RandomPolicy(), BodyMass(0.5, draw="uniform")), Plan(6)
    rows = rollout(shared, parts, plan).values
    assert len({id(env.unwrapped.model) for env in shared.envs}) == 3
    assert np.array_equal(rows, rollout(Lanes(spec, 1, own_models=True), parts, plan).values, equal_nan=True)


def test_lanes_with_equal_edits_step_with_one_model():
    lanes = Lanes(EnvSpec(id="HalfCheetah-v5", max_steps=20), 4, own_models=True)
    worlds = lanes.worlds()
    for lane in range(4):
        lanes.reset(lane, seed=lane)
    for world, factor in zip(worlds, (2.0, 2.0, 3.0, None), strict=True):
        if factor:
            world.edit_all("mass", {"body_mass": lambda mass, factor=factor: factor * mass}, key=factor)
    active = np.arange(4)
    lanes.step(np.zeros((4, 6), np.float32), active)
    used = lanes._group(active).models
    models = [env.unwrapped.model for env in lanes.envs]
    assert used == [models[0], models[0], models[2], models[3]]
    worlds[0].restore()
    lanes.step(np.zeros((4, 6), np.float32), active)
    assert lanes._group(active).models == [models[0], models[1], models[2], models[0]]


DRAWN = {
    "mass": BodyMass(0.5, draw="uniform"),
    "mass to": BodyMass(1.0, to=[1.0, 3.0]),
    "friction": Friction(0.5, draw="uniform"),
    "gravity": Gravity(0.3, draw="uniform"),
    "damping": Damping(1.0, to=[1.0, 2.0]),
    "substeps": EnvParameter(0.5, attribute="opt.timestep", draw="sign"),
    "armature": EnvParameter(0.5, attribute="dof_armature", to=[0.1, 0.5]),
    "two": ComposedPerturbation([BodyMass(0.5, draw="uniform"), Gravity(0.2, draw="sign"), Push(40.0)]),
}


@pytest.mark.parametrize("schedule", [Constant(), Bursts(3, 6, 10)], ids=["constant", "bursts"])
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize(
    ("env_id", "max_steps"),
    [("HalfCheetah-v5", 14), ("Hopper-v5", 40), pytest.param("FetchPush-v4", 14, marks=pytest.mark.slow)],
)
def test_one_shared_model_gives_the_bits_of_many(env_id, max_steps, name, schedule, monkeypatch, simulator_state):
    monkeypatch.setattr(lane_group, "_CACHED_MODELS", 1)
    written = []
    numbers = SharedModel.numbers
    monkeypatch.setattr(SharedModel, "numbers", lambda *arguments: written.append(numbers(*arguments)) or written[-1])
    spec, rows = EnvSpec(id=env_id, max_steps=max_steps), []
    for alone in (True, False):
        used = Lanes(spec, 1 if alone else 5, 1 if alone else 2, own_models=True)
        used._fast = [] if alone else used._fast
        before = simulator_state(used)
        rows.append(rollout(used, Parts(RandomPolicy(), DRAWN[name], schedule=schedule), Plan(7, seed=2)))
        assert simulator_state(used) == before
        assert bool(written) != alone
    assert np.array_equal(rows[0].values, rows[1].values, equal_nan=True)


def test_a_number_whose_place_is_unknown_is_not_written(monkeypatch):
    monkeypatch.setattr(lane_group, "_CACHED_MODELS", 1)
    spec, plan = EnvSpec(id="HalfCheetah-v5", max_steps=8), Plan(4, seed=2)
    thin = EnvParameter(1.0, attribute="opt.viscosity", to=[0.0, 1.0])
    rows = [rollout(Lanes(spec, count, own_models=True), Parts(RandomPolicy(), thin), plan) for count in (1, 4)]
    assert np.array_equal(rows[0].values, rows[1].values, equal_nan=True)
    clean = rollout(Lanes(spec, 1), Parts(RandomPolicy()), plan)
    assert (rows[0].column("return") != clean.column("return")).all()


def test_the_lane_that_stepped_for_others_keeps_none_of_their_state(monkeypatch):
    monkeypatch.setattr(lane_group, "_CACHED_MODELS", 1)
    spec, plan = EnvSpec(id="HalfCheetah-v5", max_steps=8), Plan(4, seed=2)
    mass, gravity = BodyMass(0.5, draw="uniform"), Gravity(0.3, draw="uniform")
    used = Lanes(spec, 4, own_models=True)
    for change in (
        ComposedPerturbation([BodyMass(0.5), gravity]),
        gravity,
        mass,
        ComposedPerturbation([mass, Friction(0.5)]),
        gravity,
    ):
        again = rollout(used, Parts(RandomPolicy(), change), plan)
        fresh = rollout(Lanes(spec, 4, own_models=True), Parts(RandomPolicy(), change), plan)
        assert np.array_equal(again.values, fresh.values, equal_nan=True)


def test_edits_without_a_key_are_never_shared():
    lanes = Lanes(EnvSpec(id="HalfCheetah-v5", max_steps=20), 2, own_models=True)
    for world in lanes.worlds():
        world.edit("mass", "body_mass", lambda mass: 2 * mass)
    assert len({world.edits.state for world in lanes.worlds()}) == 2
