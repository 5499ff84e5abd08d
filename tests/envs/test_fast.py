import gymnasium as gym
import gymnasium_robotics
import mujoco
import numpy as np
import pytest
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium_robotics.envs.fetch.reach import MujocoFetchReachEnv
from gymnasium_robotics.utils import rotations

from brittlestar.engine.lanes import Lanes
from brittlestar.envs import EnvSpec
from brittlestar.envs.fast import accelerate, fast_env, fetch, runners
from brittlestar.envs.fast.mesh_spheres import tighten_spheres

gym.register_envs(gymnasium_robotics)

FETCH = ["FetchReach-v4", "FetchPush-v4", "FetchPickAndPlace-v4", "FetchSlide-v4"]
RUNNERS = ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"]
OTHERS = [*RUNNERS, "Ant-v5", "Swimmer-v5", "CartPole-v1", "Acrobot-v1"]
OTHERS += ["MountainCar-v0", "Pendulum-v1", "FrozenLake-v1"]


def make(env_id, fast=False, **kwargs):
    env = gym.make(env_id, disable_env_checker=True, **kwargs)
    assert not fast or accelerate(env)
    return env


def choose(space, observation, rng):
    """Random actions, beyond the bounds now and then; with an object, towards it, so that they touch."""
    if isinstance(space, gym.spaces.Discrete):
        return int(space.start + rng.integers(space.n))
    action = rng.uniform(1.2 * space.low, 1.2 * space.high)
    if isinstance(observation, dict) and len(observation["observation"]) >= 25:
        action[:3] += 10.0 * observation["observation"][6:9]
    return action.astype(space.dtype)


def numbers_of(env, observation, *results):
    parts = [observation[key] for key in sorted(observation)] if isinstance(observation, dict) else [observation]
    data = getattr(env.unwrapped, "data", None)
    state = () if data is None else (data.qpos, data.qvel, data.qacc_warmstart, data.mocap_pos, data.ctrl)
    return [np.array(part).tobytes() for part in (*parts, *results, *state)]


def episode(env, seed, steps=50):
    """Every number that an episode shows, as bytes."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    trace = [numbers_of(env, observation)]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(choose(env.action_space, observation, rng))
        values = [info[key] for key in sorted(info)]
        trace.append(numbers_of(env, observation, reward, terminated, truncated, *values))
        if terminated or truncated:
            break
    return trace


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        *((env_id, kwargs) for env_id in FETCH for kwargs in ({}, {"reward_type": "dense"})),
        *((env_id, {}) for env_id in RUNNERS),
        ("HalfCheetah-v5", {"exclude_current_positions_from_observation": False, "frame_skip": 2}),
        ("Hopper-v5", {"terminate_when_unhealthy": False, "ctrl_cost_weight": 0.5, "healthy_reward": 3.0}),
    ],
)
def test_accelerated_episodes_are_the_same_bit_for_bit(env_id, kwargs):
    plain, fast = make(env_id, **kwargs), make(env_id, fast=True, **kwargs)
    for seed in (0, 1):
        assert episode(plain, seed) == episode(fast, seed)


@pytest.mark.parametrize("env_id", RUNNERS)
def test_long_episodes_with_large_actions_are_the_same_bit_for_bit(env_id):
    kwargs = {} if env_id == "HalfCheetah-v5" else {"terminate_when_unhealthy": False}
    plain, fast = make(env_id, **kwargs), make(env_id, fast=True, **kwargs)
    assert plain.unwrapped.model.opt.disableflags != fast.unwrapped.model.opt.disableflags
    for seed in (2, 3, 4):
        assert episode(plain, seed, steps=600) == episode(fast, seed, steps=600)


def test_fetch_is_simulated_without_islands_only_where_it_is_a_single_tree():
    flags = [make(env_id, fast=True).unwrapped.model.opt.disableflags for env_id in FETCH]
    assert flags == [mujoco.mjtDisableBit.mjDSBL_ISLAND, 0, 0, 0]


def test_blows_and_contacts_without_islands_are_the_same_bit_for_bit():
    plain, fast = make("FetchReach-v4"), make("FetchReach-v4", fast=True)
    rng, contacts = np.random.default_rng(0), 0
    for env in (plain, fast):
        env.reset(seed=0)
    for step in range(60):
        action = rng.uniform(-1, 1, 4).astype(np.float32) - [0, 0, 0.5, 0]
        blow = rng.normal(0, 10, plain.unwrapped.model.nv) * (step % 20 == 19)
        traces = []
        for env in (plain, fast):
            env.unwrapped.data.qvel[:] += blow
            traces.append(numbers_of(env, *env.step(action)[:2]))
        assert traces[0] == traces[1]
        contacts = max(contacts, plain.unwrapped.data.ncon)
    # At rest only the base touches the floor, in three points.
    assert contacts > 4


NEAR_FLOOR = {"base", "forearm_roll", "wrist_flex", "wrist_roll", "gripper"}
"""Meshes that touch the floor, or could."""


@pytest.mark.parametrize("env_id", FETCH)
def test_spheres_around_meshes_hold_every_corner_and_are_smaller_than_compiled_away_from_the_floor(env_id):
    compiled, model = (make(env_id, fast=fast).unwrapped.model for fast in (False, True))
    smaller = set()
    for geom in np.flatnonzero(model.geom_rbound != compiled.geom_rbound):
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        corners = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        assert model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH
        assert 0 < model.geom_rbound[geom] - np.linalg.norm(corners.astype(float), axis=1).max() < 2e-4
        assert model.geom_rbound[geom] < compiled.geom_rbound[geom]
        smaller.add(model.geom(geom).name.removeprefix("robot0:").removesuffix("_link"))
    assert len(smaller) == 10 and not smaller & NEAR_FLOOR


@pytest.mark.parametrize("env_id", FETCH)
def test_any_pose_has_the_same_contacts_bit_for_bit(env_id):
    plain, fast = make(env_id), make(env_id, fast=True)
    rng, pairs = np.random.default_rng(0), set()
    for _ in range(100):
        # The base remains at its place, the torso within its range.
        pose = [rng.uniform(*plain.unwrapped.model.jnt_range[3]), *rng.uniform(-3, 3, 11)]
        contacts = []
        for env in (plain, fast):
            env.reset(seed=0)
            model, data = env.unwrapped.model, env.unwrapped.data
            data.qpos[3:15] = pose
            mujoco.mj_forward(model, data)
            contacts.append((data.contact.geom.tolist(), data.contact.dist.tobytes(), data.contact.pos.tobytes()))
        assert contacts[0] == contacts[1]
        pairs |= {tuple(pair) for pair in contacts[0][0]}
    # Arm, head and torso hit each other and the floor in most of these poses.
    assert len(pairs) > 40


def test_a_mesh_that_may_fall_on_a_plane_keeps_its_sphere():
    text = """<mujoco><asset><mesh name="m" vertex="0 0 1  1 0 -1  -1 1 -1  -1 -1 -1"/></asset><worldbody>
      <geom type="plane" size="1 1 1"/>
      <body pos="0 0 9"><JOINT/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
    for joint, remains in (("", False), ("<freejoint/>", True), ('<joint type="hinge" pos="0 0 5"/>', True),
                           ('<joint type="slide" axis="0 0 1" limited="true" range="-8 0"/>', True),
                           ('<joint type="slide" axis="0 0 1" limited="true" range="0 8"/>', False)):  # fmt: skip
        model = mujoco.MjModel.from_xml_string(text.replace("<JOINT/>", joint))
        data, before = mujoco.MjData(model), model.geom_rbound.copy()
        mujoco.mj_forward(model, data)
        tighten_spheres(model, data)
        assert np.array_equal(model.geom_rbound, before) == remains, joint


def test_no_step_is_timed_unless_the_user_times_it():
    env = EnvSpec(id="HalfCheetah-v5").make()
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert env.unwrapped.data.timer[mujoco.mjtTimer.mjTIMER_STEP].duration == 0
    mujoco.set_mjcb_time(lambda: 1.0)
    try:
        EnvSpec(id="HalfCheetah-v5").make()
        assert mujoco.get_mjcb_time() is not None
    finally:
        mujoco.set_mjcb_time(None)


def test_islands_that_change_a_number_are_searched_for(monkeypatch):
    monkeypatch.setattr(fetch.FastFetch, "no_islands", int(mujoco.mjtDisableBit.mjDSBL_GRAVITY))
    assert make("FetchReach-v4", fast=True).unwrapped.model.opt.disableflags == 0


@pytest.mark.parametrize("env_id", [*FETCH[:2], *RUNNERS])
def test_accelerated_steps_return_the_same_types(env_id):
    plain, fast = make(env_id), make(env_id, fast=True)
    answers = []
    for env in (plain, fast):
        env.reset(seed=0)
        observation, *results, info = env.step(np.zeros(env.action_space.shape, np.float32))
        entries = observation if isinstance(observation, dict) else {"": observation}
        kinds = {key: (type(value), value.dtype, value.shape) for key, value in entries.items()}
        answers.append((kinds, [type(value) for value in results], {key: type(value) for key, value in info.items()}))
    assert answers[0] == answers[1]


def test_other_types_of_action_step_the_same():
    plain, fast = make("FetchPickAndPlace-v4"), make("FetchPickAndPlace-v4", fast=True)
    for action in (np.array([0.3, -2.0, 0.1, 0.7]), [1, 0, -1, 1], np.array([0, 1, 0, -1])):
        traces = []
        for env in (plain, fast):
            env.reset(seed=0)
            traces.append(numbers_of(env, *env.step(action)[:2]))
        assert traces[0] == traces[1]


def test_model_edits_between_episodes_take_effect():
    plain, fast = make("FetchPush-v4"), make("FetchPush-v4", fast=True)
    before = episode(fast, seed=0, steps=20)
    for env in (plain, fast):
        model = env.unwrapped.model
        model.body_mass[:] *= 3.0
        model.geom_friction[:] *= 0.1
        model.opt.gravity[2] = -5.0
        model.opt.timestep *= 1.5
    edited = episode(fast, seed=0, steps=20)
    assert edited == episode(plain, seed=0, steps=20)
    assert edited != before


@pytest.mark.parametrize(("env_id", "name"), [("HalfCheetah-v5", "frame_skip"), ("FetchReach-v4", "n_substeps")])
def test_edits_of_the_length_of_a_step_take_effect_at_once(env_id, name):
    plain, fast = make(env_id), make(env_id, fast=True)
    traces = [episode(fast, seed=0, steps=3)]
    for env in (plain, fast):
        setattr(env.unwrapped, name, 2 * getattr(env.unwrapped, name))
        traces.append(episode(env, seed=0, steps=3))
    assert traces[1] == traces[2] != traces[0]


def test_actuator_edits_take_effect():
    plain, fast = make("FetchPickAndPlace-v4"), make("FetchPickAndPlace-v4", fast=True)
    for env in (plain, fast):
        env.unwrapped.model.actuator_biastype[0] = 0
    assert episode(plain, seed=0, steps=10) == episode(fast, seed=0, steps=10)


def test_wrong_action_shape_is_refused():
    env = make("FetchReach-v4", fast=True)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="Action dimension mismatch"):
        env.step(np.zeros(3, np.float32))


def test_accelerating_leaves_the_present_state_alone():
    env = make("FetchPickAndPlace-v4")
    observation, _ = env.reset(seed=0)
    before = numbers_of(env, observation)
    assert accelerate(env)
    assert accelerate(env)
    assert numbers_of(env, env.unwrapped._get_obs()) == before


def test_unknown_environments_and_subclasses_are_left_alone():
    class OwnReach(MujocoFetchReachEnv):
        pass

    class OwnCheetah(HalfCheetahEnv):
        pass

    for env in (gym.make("CartPole-v1"), gym.make("Ant-v5"), OwnReach(), OwnCheetah()):
        assert not accelerate(env)
        assert "step" not in vars(env.unwrapped)


def test_an_environment_that_disagrees_is_left_alone(monkeypatch):
    env = make("FetchReach-v4")
    monkeypatch.setattr(fetch, "_ROTATION", np.zeros(4))
    assert not accelerate(env)
    assert "step" not in vars(env.unwrapped)


def test_euler_angles_are_those_of_gymnasium_robotics():
    rng = np.random.default_rng(0)
    upright = rotations.euler2mat(np.array([0.3, np.pi / 2, 0.1]))
    locked = np.array([[0.0, 0.0, 1.0], [0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]])
    for mat in [*rotations.euler2mat(rng.uniform(-4, 4, (500, 3))), np.eye(3), upright, locked]:
        assert fetch._euler(mat).tobytes() == rotations.mat2euler(mat).tobytes()


@pytest.mark.parametrize("env_id", [*FETCH, *OTHERS])
def test_an_episode_does_not_depend_on_what_came_before(env_id):
    is_fast = env_id in (*FETCH, *RUNNERS)
    used, fresh = make(env_id, fast=is_fast), make(env_id, fast=is_fast)
    for seed, steps in ((11, 7), (12, 50), (13, 1)):
        episode(used, seed, steps)
    assert episode(used, seed=5) == episode(fresh, seed=5)


@pytest.mark.parametrize("env_id", ["FetchReach-v4", "FetchPush-v4", "HalfCheetah-v5", "Hopper-v5", "Ant-v5"])
def test_lanes_with_a_shared_model_give_the_episodes_of_separate_environments(env_id):
    spec = EnvSpec(id=env_id, max_steps=30)
    lanes = Lanes(spec, 3)
    assert len({id(env.unwrapped.model) for env in lanes.envs}) == 1
    rng = np.random.default_rng(0)
    alone = [make(env_id, max_episode_steps=30) for _ in range(3)]
    for lane, env in enumerate(alone):
        lanes.reset(lane, seed=lane)
        env.reset(seed=lane)
    running = np.arange(3)
    for _ in range(30):
        actions = rng.uniform(-1, 1, (3, *lanes.action_space.shape)).astype(np.float32)
        batch = lanes.step(actions, running)
        for lane in running.tolist():
            observation, reward, terminated, truncated, _ = alone[lane].step(actions[lane])
            entries = observation if isinstance(observation, dict) else {"": observation}
            batched = batch.observation if isinstance(batch.observation, dict) else {"": batch.observation}
            assert all(np.array_equal(batched[key][lane], value) for key, value in entries.items())
            now = (batch.reward[lane], batch.terminated[lane], batch.truncated[lane])
            assert now == (reward, terminated, truncated)
        running = running[~(batch.terminated | batch.truncated)[running]]
    assert len(running) == 0


def test_a_wrapper_that_does_more_than_count_sees_every_step():
    env = gym.wrappers.ClipAction(make("HalfCheetah-v5", fast=True))
    assert fast_env(env) is None
    assert fast_env(env.env) is not None


@pytest.mark.parametrize(("env_id", "name"), [("HalfCheetah-v5", "_forward_reward_weight"), ("FetchReach-v4", "goal")])
def test_another_version_without_a_private_attribute_is_left_alone(env_id, name):
    env = make(env_id)
    delattr(env.unwrapped, name)
    assert not accelerate(env)
    assert "step" not in vars(env.unwrapped)


def test_a_runner_that_disagrees_is_left_alone(monkeypatch):
    monkeypatch.setitem(runners._CLIPS, "HopperEnv", False)
    env = make("Hopper-v5")
    assert not accelerate(env)
    assert "step" not in vars(env.unwrapped)
