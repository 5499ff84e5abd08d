import copy

import gymnasium as gym
import gymnasium_robotics
import mujoco
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import (
    ActuatorGain,
    BodyMass,
    ControlTimestep,
    Damping,
    EnvParameter,
    Friction,
    Gravity,
    JointStiffness,
)

gym.register_envs(gymnasium_robotics)

BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)


def test_a_copy_of_a_change_goes_on_with_its_edits(at, bound, model_bytes, make_world):
    world, change = make_world("HalfCheetah-v5"), bound(Gravity(0.5))
    before = model_bytes(world.model)
    at(change, world)
    copied = copy.deepcopy(change)
    at(copied, world, level=0.5, step=1)
    np.testing.assert_allclose(world.value("opt.gravity"), 1.25 * world.original("opt.gravity"))
    at(copied, world, level=0.0, step=2)
    assert model_bytes(world.model) == before


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        (BodyMass(0.5), "body_mass", lambda m: 1.5 * m),
        (BodyMass(0.5), "body_inertia", lambda m: 1.5 * m),
        (BodyMass(1.0, to=[2.0, 2.0]), "body_mass", lambda m: np.where(m > 0, 2.0, 0.0)),
        (BodyMass(0.5, to=[2.0, 2.0]), "body_mass", lambda m: np.where(m > 0, (m + 2.0) / 2, 0.0)),
        (Friction(-0.5), "geom_friction", lambda f: 0.5 * f),
        (Friction(1.0, to=[0.8, 0.8]), "geom_friction", lambda f: f * 0.8 / f[:, :1]),
        (Gravity(-1.0), "opt.gravity", lambda g: 0 * g),
        (Gravity(1.0, to=[3.7, 3.7]), "opt.gravity", lambda g: np.array([0.0, 0.0, -3.7])),
        (Damping(0.5), "dof_damping", lambda d: 1.5 * d),
        (Damping(0.5, to=[2.0, 2.0]), "dof_damping", lambda d: (d + 2.0) / 2),
        (ActuatorGain(0.2), "actuator_gainprm", lambda p: 1.2 * p),
        (JointStiffness(0.5), "jnt_stiffness", lambda s: 1.5 * s),
        (JointStiffness(0.25, to=[4.0, 4.0]), "jnt_stiffness", lambda s: s + (4.0 - s) / 4),
        (ControlTimestep(0.2), "frame_skip", lambda n: 6),
        (ControlTimestep(-0.9), "frame_skip", lambda n: 1),
        (ControlTimestep(1.0, to=[0.1, 0.1]), "frame_skip", lambda n: 10),
        (EnvParameter(1.0, attribute="opt.timestep"), "opt.timestep", lambda t: 2 * t),
    ],
)
def test_what_each_change_does(change, field, expected, at, bound, make_world):
    world = make_world("HalfCheetah-v5")
    original = world.value(field)
    assert at(bound(change), world) > 0
    np.testing.assert_allclose(world.value(field), expected(original), rtol=1e-12)
    at(change, world, level=0.0, step=1)
    assert np.array_equal(world.value(field), original)


def test_servos_keep_their_shape(at, bound, make_world):
    world = make_world("FetchPickAndPlace-v4")
    at(bound(ActuatorGain(-0.5, names=["*l_gripper*"])), world)
    assert world.value("actuator_gainprm")[:, 0].tolist() == [15000.0, 30000.0]
    assert world.value("actuator_biasprm")[:, 1].tolist() == [-15000.0, -30000.0]


@pytest.mark.parametrize(
    ("env_id", "change", "field", "touched"),
    [
        ("HalfCheetah-v5", BodyMass(0.5, names=["torso", "*foot"]), "body_mass", [1, 4, 7]),
        ("Ant-v5", Damping(0.5, names=["hip_*"]), "dof_damping", [6, 8, 10, 12]),
        ("Ant-v5", ActuatorGain(0.5, names=["hip_4"]), "actuator_gainprm", [0]),
        ("FetchPush-v4", Friction(0.5, names=["robot0:torso_fixed_link", "object0"]), "geom_friction", None),
        ("FetchPush-v4", Damping(0.5, names=["object0:joint"]), "dof_damping", list(range(15, 21))),
    ],
)
def test_names_choose(env_id, change, field, touched, at, bound, make_world):
    world = make_world(env_id)
    original = world.value(field)
    assert at(bound(change), world) == pytest.approx(0.5)
    moved = (world.value(field) != original).reshape(len(original), -1).any(axis=1)
    if touched is None:
        bodies = [world.model.body(world.model.geom_bodyid[i]).name for i in np.flatnonzero(moved)]
        assert set(bodies) == set(change.names)
    else:
        assert np.flatnonzero(moved).tolist() == touched


@pytest.mark.parametrize("draw", ["uniform", "sign"])
def test_draws_are_of_the_episode_and_scale_with_the_strength(draw, at, bound, make_world):
    world, factors = make_world("HalfCheetah-v5"), {}
    original = world.value("opt.gravity")[2]
    for strength in (0.2, 0.4):
        change = bound(Gravity(strength, draw=draw))
        factors[strength] = []
        for episode in range(40):
            world.restore()
            values = set()
            for step in range(3):
                at(change, world, step=step, episode=episode)
                values.add(float(world.value("opt.gravity")[2] / original))
            assert len(values) == 1
            factors[strength] += values
    small, large = (np.array(factors[s]) - 1 for s in (0.2, 0.4))
    np.testing.assert_allclose(2 * small, large, atol=1e-12)
    assert (small < 0).any()
    assert (small > 0).any()
    assert np.allclose(np.abs(small), 0.2) == (draw == "sign")
    assert np.abs(small).max() <= 0.2 + 1e-12


def test_targets_are_drawn_per_episode_in_their_range(at, bound, make_world):
    world, values = make_world("HalfCheetah-v5"), []
    change = bound(Gravity(1.0, to=[5.0, 15.0]))
    for episode in range(30):
        world.restore()
        at(change, world, episode=episode)
        values.append(float(-world.value("opt.gravity")[2]))
    assert 5.0 <= min(values) < 7.0
    assert 13.0 < max(values) <= 15.0


def test_changes_of_the_same_field_add_up_and_leave_one_by_one(at, bound, model_bytes, make_world):
    world = make_world("Ant-v5")
    before, original = model_bytes(world.model), world.value("body_mass")
    heavier, lighter = bound(BodyMass(1.0)), bound(BodyMass(-0.25, names=["torso"]))
    at(heavier, world)
    alone = model_bytes(world.model)
    at(lighter, world)
    expected = 2 * original
    expected[1] *= 0.75
    np.testing.assert_allclose(world.value("body_mass"), expected)
    at(lighter, world, level=0.0, step=1)
    assert model_bytes(world.model) == alone
    at(heavier, world, level=0.0, step=1)
    assert model_bytes(world.model) == before


def test_derived_constants_follow_the_masses(at, bound, make_world):
    world, light = make_world("Ant-v5"), mujoco.MjModel.from_xml_path(make_world("Ant-v5").env.fullpath)
    at(bound(BodyMass(1.0)), world)
    assert world.model.body_subtreemass[0] == pytest.approx(2 * light.body_subtreemass[0])
    assert world.model.dof_invweight0[0] == pytest.approx(light.dof_invweight0[0] / 2, rel=1e-2)


def test_a_draw_that_does_not_exist():
    with pytest.raises(UserError, match="`draw` cannot be 'unifrom'; did you mean `uniform`"):
        Gravity(0.5, draw="unifrom")
