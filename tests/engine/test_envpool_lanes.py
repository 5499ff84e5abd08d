"""Lanes on EnvPool: the choice of a backend, the same rows whatever the lanes, the same environments."""

import math

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.config.build import load
from brittlestar.engine import envpool_import
from brittlestar.engine import envpool_lanes as pools
from brittlestar.engine.envpool_lanes import PoolLanes
from brittlestar.engine.evaluation import make_lanes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec, Signals, backends
from brittlestar.envs.success import GoalReached, InfoKey, ReturnAtLeast, Terminated
from brittlestar.errors import UserError
from brittlestar.perturbations import ComposedPerturbation, GaussianAction, GaussianObservation
from brittlestar.policies import PController, RandomPolicy

needs_envpool = pytest.mark.skipif(not backends.envpool_available(), reason="needs `pip install envpool`")
PAIR = ComposedPerturbation([GaussianObservation(sigma=0.05), GaussianAction(sigma=0.3)])
RUNNERS = ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"]


@pytest.fixture
def absent(monkeypatch):
    for module in (backends, envpool_import):
        monkeypatch.setattr(module, "envpool_available", lambda: False)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(backends, "envpool_available", lambda: True)


@pytest.mark.usefixtures("absent")
def test_without_envpool_everything_is_gymnasium():
    assert isinstance(make_lanes(EnvSpec(id="CartPole-v1"), 1), Lanes)
    with pytest.raises(UserError, match=r"needs EnvPool: `pip install brittlestar\[envpool\]`"):
        make_lanes(EnvSpec(id="CartPole-v1", backend="envpool"), 1)


@pytest.mark.parametrize(("old", "new"), [("HalfCheetah-v3", "HalfCheetah-v5"), ("FetchReach-v1", "FetchReach-v4")])
@pytest.mark.usefixtures("absent")
def test_an_old_id_without_envpool_names_both_ways_out(old, new):
    with pytest.raises(UserError, match=rf"{old}.*install brittlestar\[envpool\].*or take the newest version `{new}`"):
        make_lanes(EnvSpec(id=old), 1)


@pytest.mark.usefixtures("installed")
def test_a_subclass_of_the_spec_makes_its_own_environments():
    class Own(EnvSpec):
        pass

    assert isinstance(make_lanes(Own(id="CartPole-v1"), 1), Lanes)


@needs_envpool
def test_unknown_ids_and_arguments_are_named():
    with pytest.raises(UserError, match="`env.kwargs` do not fit EnvPool's HalfCheetah-v3.*`ctrl_cost_weight`"):
        PoolLanes(EnvSpec(id="HalfCheetah-v3", kwargs={"ctrl_cost_weigth": 1}), 1)
    with pytest.raises(UserError, match="'num_envs' is unknown"):
        PoolLanes(EnvSpec(id="CartPole-v1", kwargs={"num_envs": 3}), 1)


SAME = sorted(backends._SAME)


@needs_envpool
@pytest.mark.parametrize("env_id", [*SAME, *RUNNERS, "FetchReach-v4", "FetchPush-v4"])
def test_spaces_and_limits_are_those_of_gymnasium(env_id):
    plain, pool = Lanes(EnvSpec(id=env_id), 1), PoolLanes(EnvSpec(id=env_id), 1)
    for name in ("observation_space", "action_space"):
        want, have = getattr(plain, name), getattr(pool, name)
        assert want == have
        assert want.dtype == have.dtype
        if isinstance(want, spaces.Dict):
            assert list(want) == list(have)
    assert pool.max_steps == plain.max_steps
    assert pool.step_seconds == (None if plain.step_seconds is None else pytest.approx(plain.step_seconds))


@needs_envpool
def test_time_limits_are_those_of_the_spec_or_the_registered_ones():
    assert PoolLanes(EnvSpec(id="CartPole-v1", max_steps=7), 1).max_steps == 7
    assert PoolLanes(EnvSpec(id="HalfCheetah-v3"), 1).max_steps == 1000
    assert PoolLanes(EnvSpec(id="CliffWalking-v1"), 1).max_steps is None


@needs_envpool
@pytest.mark.parametrize(
    "env_id", ["Ant-v3", "HalfCheetah-v3", "Hopper-v3", "Walker2d-v3", "Swimmer-v3", "Reacher-v2", "FetchReach-v1"]
)
def test_old_ids_run_on_envpool(env_id):
    lanes = make_lanes(EnvSpec(id=env_id, max_steps=5), 2)
    assert isinstance(lanes, PoolLanes)
    assert (rollout(lanes, Parts(RandomPolicy()), Plan(3)).column("length") == 5).all()


CASES = {
    "box": (EnvSpec(id="Pendulum-v1", max_steps=30), PAIR),
    "discrete": (EnvSpec(id="CartPole-v1", success=ReturnAtLeast(threshold=20)), GaussianObservation(sigma=0.1)),
    "integers": (EnvSpec(id="FrozenLake-v1", success=Terminated()), ComposedPerturbation([])),
    "mujoco": (EnvSpec(id="Hopper-v5", max_steps=40), PAIR),
}


@needs_envpool
@pytest.mark.parametrize("case", CASES)
def test_rows_depend_on_nothing_but_the_config(case, monkeypatch):
    spec, noise = CASES[case]
    parts = Parts(RandomPolicy(), noise)
    one = rollout(PoolLanes(spec, 1), parts, Plan(24, seed=2)).values
    for lanes, threads, chunk in ((2, 1, 1), (5, 2, 3), (8, 3, 7), (24, 1, 100), (30, 2, 8)):
        monkeypatch.setattr(pools, "_POOL_SIZES", dict.fromkeys(pools._POOL_SIZES, chunk))
        used = PoolLanes(spec, lanes, threads)
        rollout(used, parts, Plan(3, seed=9))
        again = rollout(used, parts, Plan(24, seed=2)).values
        assert np.array_equal(one, again, equal_nan=True), (lanes, threads, chunk)
        used.close()
    assert len({tuple(row) for row in np.nan_to_num(one[:, 3:])}) > 1
    assert not np.array_equal(one, rollout(PoolLanes(spec, 2), parts, Plan(24, seed=3)).values, equal_nan=True)


@needs_envpool
def test_an_ended_episode_is_never_stepped_and_its_pool_is_closed(monkeypatch):
    monkeypatch.setattr(pools, "_POOL_SIZES", dict.fromkeys(pools._POOL_SIZES, 4))
    lanes, ended, most = PoolLanes(EnvSpec(id="CartPole-v1"), 3), set(), 0
    step = PoolLanes._step_pool

    def watched(self, pool, which, actions, batch):
        nonlocal most
        most = max(most, len(self._pools))
        step(self, pool, which, actions, batch)
        for lane in which.tolist():
            member = (pool.seeds[0], int(self._ids[lane]))
            assert member not in ended
            if batch.terminated[lane] or batch.truncated[lane]:
                ended.add(member)

    monkeypatch.setattr(PoolLanes, "_step_pool", watched)
    rollout(lanes, Parts(RandomPolicy()), Plan(30))
    assert len(ended) == 30
    assert 1 < most <= 4


@needs_envpool
def test_an_episode_may_end_by_itself_in_its_last_step():
    lanes = PoolLanes(EnvSpec(id="CartPole-v1"), 1)

    def length(limit):
        lanes.max_steps = limit
        lanes.reset(0, seed=5)
        for step in range(1, 500):
            batch = lanes.step(np.array([0]), np.array([0]))
            if batch.terminated[0] or batch.truncated[0]:
                return step, bool(batch.terminated[0]), bool(batch.truncated[0])
        return None

    falls, *_ = length(500)
    assert length(falls + 1) == (falls, True, False)
    assert length(falls) == (falls, True, True)
    assert length(falls - 1) == (falls - 1, False, True)


@needs_envpool
def test_a_step_changes_neither_idle_lanes_nor_earlier_observations():
    lanes = PoolLanes(EnvSpec(id="CartPole-v1"), 2)
    lanes.reset(0, seed=1)
    lanes.reset(1, seed=2)
    before, copy = lanes.observation, lanes.observation.copy()
    after = lanes.step(np.array([0, 0]), active=np.array([1])).observation
    assert np.array_equal(before, copy)
    assert np.array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])


@needs_envpool
def test_a_seed_makes_an_episode_with_or_without_a_plan():
    seeds, lanes = [7, 2**53 - 1, 2**40], PoolLanes(EnvSpec(id="CartPole-v1"), 3)
    starts = []
    for planned in (seeds, (), seeds[:1]):
        lanes.plan(planned)
        for lane, seed in enumerate(seeds):
            lanes.reset(lane, seed)
        starts.append(lanes.observation.copy())
    assert np.array_equal(starts[0], starts[1])
    assert np.array_equal(starts[0], starts[2])
    assert len({row.tobytes() for row in starts[0]}) == 3


@pytest.mark.parametrize(("seed", "mapped"), [(0, 0), (2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (2**53 - 1, -1)])
def test_seeds_fit_into_32_bits(seed, mapped):
    assert pools._int32(seed) == mapped


@needs_envpool
def test_infos_hold_what_the_environment_reports():
    rows = {}
    for success in (InfoKey(key="is_success"), GoalReached()):
        spec = EnvSpec(id="FetchReach-v4", success=success, max_steps=30, signals=Signals())
        rows[type(success)] = rollout(PoolLanes(spec, 3), Parts(PController()), Plan(3))
    for column in ("success_any", "success_final", "dwell", "time_to_success"):
        assert np.array_equal(rows[InfoKey].column(column), rows[GoalReached].column(column)), column
    lanes = PoolLanes(EnvSpec(id="Ant-v5", signals=Signals(completion_key="x_position")), 2)
    lanes.reset(0, 1)
    lanes.reset(1, 2)
    batch = lanes.step(np.zeros((2, 8), np.float32), np.array([1]))
    assert batch.infos[0] == {}
    assert {"x_position", "reward_forward"} <= batch.infos[1].keys()
    assert not {"env_id", "players", "elapsed_step"} & batch.infos[1].keys()


def set_state(env, env_id, seen):
    """Puts a Gymnasium environment where an observation shows it to be."""
    env, name = env.unwrapped, env_id.rpartition("-")[0]
    if name == "CartPole":
        env.state = tuple(seen.astype(np.float64))
    elif name.startswith("MountainCar"):
        env.state = seen.astype(np.float64)
    elif name == "Acrobot":
        env.state = np.array([np.arctan2(seen[1], seen[0]), np.arctan2(seen[3], seen[2]), *seen[4:]])
    elif name == "Pendulum":
        env.state = np.array([np.arctan2(seen[1], seen[0]), seen[2]])
    elif name == "InvertedPendulum":
        env.set_state(seen[:2], seen[2:])
    elif name == "InvertedDoublePendulum":
        env.set_state(np.array([seen[0], np.arctan2(seen[1], seen[3]), np.arctan2(seen[2], seen[4])]), seen[5:8])
    elif name == "Reacher":
        env.goal = seen[4:6]
        angles = [np.arctan2(seen[2], seen[0]), np.arctan2(seen[3], seen[1])]
        env.set_state(np.array([*angles, *env.goal]), np.array([*seen[6:8], 0, 0]))
    else:
        hidden = [0.0] if env_id in RUNNERS else [0.0, 0.0]
        observed = env.model.nq - len(hidden)
        env.set_state(np.array([*hidden, *seen[:observed]]), seen[observed : observed + env.model.nv])


@needs_envpool
@pytest.mark.parametrize("env_id", [i for i in [*SAME, *RUNNERS] if not i.startswith("FrozenLake")])
def test_envpool_steps_like_gymnasium_from_the_same_state(env_id):
    count, rng = 5, np.random.default_rng(0)
    lanes, env = PoolLanes(EnvSpec(id=env_id), count), EnvSpec(id=env_id).make()
    for lane in range(count):
        lanes.reset(lane, seed=lane)
        env.reset(seed=0)
        set_state(env, env_id, lanes.observation[lane])
        for _ in range(5):
            # Beyond the bounds, too, as noise on actions goes.
            box = isinstance(env.action_space, spaces.Box)
            action = (
                rng.uniform(1.3 * env.action_space.low, 1.3 * env.action_space.high).astype(np.float32)
                if box
                else rng.integers(env.action_space.n)
            )
            batch = lanes.step(np.array([action] * count), np.array([lane]))
            observation, reward, terminated, truncated, _ = env.step(action)
            assert np.allclose(batch.observation[lane], observation, atol=2e-6)
            assert batch.reward[lane] == pytest.approx(reward, abs=1e-5)
            assert (batch.terminated[lane], batch.truncated[lane]) == (terminated, truncated)
            if terminated:
                break


@needs_envpool
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy", "noise", "episodes", "measures"),
    [
        ("fetch_reach", "p_controller", 0.1, 100, ("success_final", "return", "final_distance")),
        ("fetch_push", "push_controller", 0.005, 100, ("success_any", "return")),
        ("half_cheetah", "random", 0.0, 60, ("return",)),
        ("hopper", "random", 0.0, 200, ("return", "length")),
        ("cartpole", "random", 0.0, 1000, ("return",)),
        ("frozen_lake", "random", 0.0, 3000, ("success_final", "length")),
        ("acrobot", "random", 0.0, 60, ("success_any",)),
        ("pendulum", "random", 0.0, 300, ("return",)),
    ],
)
def test_both_backends_measure_the_same(name, policy, noise, episodes, measures):
    parts = Parts(load("policy", policy))
    if noise:
        parts.perturbation = GaussianObservation(sigma=noise)
    spec = load("env", name)
    rows = [rollout(kind(spec, 16), parts, Plan(episodes)) for kind in (Lanes, PoolLanes)]
    for measure in measures:
        columns = [result.column(measure) for result in rows]
        means = [np.mean(column) for column in columns]
        errors = [np.std(column) / math.sqrt(episodes) for column in columns]
        # 2.58 standard errors: an interval of 99 %.
        assert abs(means[0] - means[1]) <= 2.58 * math.hypot(*errors) + 1e-9, (measure, means, errors)
