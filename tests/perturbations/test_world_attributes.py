"""Attributes of environments without a model, and the duration of a step."""

import gymnasium as gym
import numpy as np
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.perturbed_env import PerturbedEnv
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import ComposedPerturbation, ControlTimestep, EnvParameter
from brittlestar.policies import RandomPolicy
from brittlestar.schedules import Bursts

ATTRIBUTES = {
    "CartPole-v1": ["gravity", "masscart", "masspole", "length", "force_mag", "tau"],
    "Pendulum-v1": ["g", "m", "l", "dt", "max_torque", "max_speed"],
    "Acrobot-v1": ["LINK_LENGTH_1", "LINK_MASS_1", "LINK_MASS_2", "LINK_COM_POS_2", "LINK_MOI", "AVAIL_TORQUE", "dt"],
    "MountainCar-v0": ["force", "gravity", "max_speed"],
    "MountainCarContinuous-v0": ["power", "max_speed"],
}
CASES = [(env_id, name) for env_id, names in ATTRIBUTES.items() for name in names]


def episode(env, steps=60):
    """Observations of an episode with large swings, so that every attribute matters."""
    env.reset(seed=4)
    space, seen = env.action_space, []
    for step in range(steps):
        late = step // 15 % 2
        discrete = isinstance(space, gym.spaces.Discrete)
        action = int(late * (space.n - 1)) if discrete else np.where(late, space.high, space.low)
        observation, reward, terminated, *_ = env.step(action)
        seen.append((observation.tobytes(), float(reward), terminated))
        if terminated:
            break
    return seen


def attributes(env):
    return {key: value for key, value in vars(env.unwrapped).items() if key not in ("state", "last_u", "_np_random")}


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_every_attribute_acts_and_comes_back(env_id, name):
    fresh = gym.make(env_id)
    bare, clean = fresh.unwrapped, episode(fresh)
    fresh.reset(seed=4)
    before, original = attributes(fresh), getattr(bare, name)
    env = PerturbedEnv(fresh, EnvParameter(-0.8, attribute=name))
    episode(env, steps=1)
    np.testing.assert_allclose(getattr(bare, name), 0.2 * np.array(original))
    changed = episode(env)
    assert [step[0] for step in changed] != [step[0] for step in clean]
    env.reset(seed=4)
    assert getattr(bare, name) is original
    assert attributes(fresh).keys() == before.keys()
    assert all(value is before[key] for key, value in attributes(fresh).items() if not isinstance(value, float))
    assert episode(fresh) == clean


def test_cartpoles_derived_numbers_follow():
    env = PerturbedEnv(gym.make("CartPole-v1"), ComposedPerturbation([EnvParameter(1.0, attribute="masspole")]))
    env.reset(seed=0)
    env.step(0)
    assert (env.unwrapped.total_mass, env.unwrapped.polemass_length) == (1.2, 0.1)
    env.reset(seed=0)
    assert (env.unwrapped.total_mass, env.unwrapped.polemass_length) == (1.1, 0.05)


def test_a_range_takes_any_sign():
    env = PerturbedEnv(gym.make("MountainCar-v0"), EnvParameter(0.5, attribute="goal_position", to=[-0.1, -0.1]))
    env.reset(seed=0)
    env.step(0)
    assert env.unwrapped.goal_position == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("env_id", "attribute", "message"),
    [
        ("CartPole-v1", "lenght", "CartPoleEnv has no `lenght` to change; did you mean `length`"),
        ("Acrobot-v1", "LINK_MAS_1", "AcrobotEnv has no `LINK_MAS_1` to change; did you mean `LINK_MASS_1`"),
        ("CartPole-v1", "total_mass", "computes `total_mass` from `masspole` and `masscart`: change those"),
        ("CartPole-v1", "kinematics_integrator", "`kinematics_integrator` of CartPoleEnv is not a number: 'euler'"),
        ("CartPole-v1", "isopen", "is not a number: True"),
        ("Acrobot-v1", "torque_noise_max", "of AcrobotEnv is 0, a relative change leaves it 0: set `to`"),
        ("HalfCheetah-v5", "dt", "`dt` of HalfCheetahEnv is computed and cannot be set"),
        ("HalfCheetah-v5", "body_mas", "HalfCheetahEnv has no `body_mas` to change; did you mean `body_mass`"),
    ],
)
def test_refusals(env_id, attribute, message):
    env = PerturbedEnv(gym.make(env_id), EnvParameter(0.5, attribute=attribute))
    env.reset(seed=0)
    with pytest.raises(UserError, match=message):
        env.step(env.action_space.sample())
    env.reset(seed=0)


@pytest.mark.parametrize(("env_id", "attribute"), [("CartPole-v1", "tau"), ("Pendulum-v1", "dt"), ("Acrobot-v1", "dt")])
def test_a_control_step_lasts_longer_in_classic_control(env_id, attribute):
    env = PerturbedEnv(gym.make(env_id), ControlTimestep(0.5))
    env.reset(seed=0)
    before = getattr(env.unwrapped, attribute)
    env.step(env.action_space.sample())
    assert getattr(env.unwrapped, attribute) == pytest.approx(1.5 * before)


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Hopper-v5", "FetchReach-v4", "FetchPush-v4"])
def test_lanes_that_step_together_last_as_long_as_each_of_them_alone(env_id):
    spec = EnvSpec(id=env_id, max_steps=12)
    lanes = Lanes(spec, 3, own_models=True)
    field = "n_substeps" if env_id.startswith("Fetch") else "frame_skip"
    alone = [gym.make(env_id, disable_env_checker=True) for _ in range(3)]
    rng, active = np.random.default_rng(0), np.arange(3)
    for lane, env in enumerate(alone):
        lanes.reset(lane, lane)
        env.reset(seed=lane)
        for stepped in (env, lanes.envs[lane]):
            setattr(stepped.unwrapped, field, 2 + 3 * lane)
    for _ in range(8):
        actions = rng.uniform(-1, 1, (3, *lanes.action_space.shape)).astype(np.float32)
        batch = lanes.step(actions, active)
        for lane, env in enumerate(alone):
            observation, reward, *_ = env.step(actions[lane])
            entries = observation if isinstance(observation, dict) else {"": observation}
            batched = batch.observation if isinstance(batch.observation, dict) else {"": batch.observation}
            assert all(np.array_equal(batched[key][lane], value) for key, value in entries.items())
            assert batch.reward[lane] == reward


@pytest.mark.parametrize("change", [ControlTimestep(0.5, draw="uniform"), EnvParameter(0.5, attribute="l")])
def test_rows_do_not_depend_on_the_number_of_lanes(change):
    spec, plan = EnvSpec(id="Pendulum-v1", max_steps=9, backend="gymnasium"), Plan(5)
    parts = Parts(RandomPolicy(), change, schedule=Bursts(onset_step=2, duration_steps=3))
    alone, together = (rollout(Lanes(spec, count), parts, plan).values for count in (1, 3))
    assert np.array_equal(alone, together, equal_nan=True)
