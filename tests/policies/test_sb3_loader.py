import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from samples import bound

from brittlestar.checkpoints import read_checkpoint
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies.callables import as_policy
from brittlestar.policies.gradients import by_differences
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.policies.sb3_loader import _TRAINING_ONLY

pytest.importorskip("torch")
stable_baselines3 = pytest.importorskip("stable_baselines3")

SIZE = 36


class Picture(gym.Env):
    """A bright bar in a dark image, which the actions move; the return determines the actions."""

    def __init__(self, channels_first=False, acts=None):
        shape = (3, SIZE, SIZE) if channels_first else (SIZE, SIZE, 3)
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.action_space = acts or spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left, self.noise = int(self.np_random.integers(2, 6)), self.np_random.integers(255, size=(SIZE, SIZE, 3))
        return self._look(0.0), {}

    def _look(self, moved):
        picture = np.roll(self.noise, round(10 * moved), axis=0).astype(np.uint8)
        return picture if self.observation_space.shape[-1] == 3 else picture.transpose(2, 0, 1)

    def step(self, action):
        self.left -= 1
        return self._look(float(np.sum(action))), float(np.sum(action)), self.left == 0, False, {}


@pytest.fixture(autouse=True)
def registered():
    gym.register("Picture-v0", Picture)
    yield
    del gym.registry["Picture-v0"]


def made(folder, env, policy="CnnPolicy"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = stable_baselines3.PPO(policy, env, device="cpu", seed=0, n_steps=8)
    model.save(folder / "model.zip")
    return model, str(folder / "model.zip")


def returns(model, env, seeds):
    totals = []
    for seed in seeds:
        (seen, _), total, over = env.reset(seed=int(seed)), 0.0, False
        while not over:
            seen, reward, over, _, _ = env.step(model.predict(seen, deterministic=True)[0])
            total += reward
        totals.append(total)
    return totals


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("policy", ["CnnPolicy", "MlpPolicy"])
@pytest.mark.parametrize("channels_first", [False, True])
def test_images_run_in_lanes_as_in_stable_baselines3(tmp_path, channels_first, policy, trust):
    spec = EnvSpec(id="Picture-v0", kwargs={"channels_first": channels_first})
    model, path = made(tmp_path, Picture(channels_first), policy)
    rows = [rollout(Lanes(spec, n), Parts(Sb3Policy(path, trust=trust)), Plan(episodes=18)) for n in (1, 7, 16)]
    assert np.array_equal(rows[0].values, rows[1].values, equal_nan=True)
    assert np.array_equal(rows[0].values, rows[2].values, equal_nan=True)
    assert len(np.unique(rows[0].column("return"))) == 18
    np.testing.assert_allclose(
        rows[0].column("return"), returns(model, Picture(channels_first), rows[0].column("reset_seed")), atol=1e-5
    )


def test_a_warning_lists_the_code_that_runs(tmp_path, caplog):
    _, path = made(tmp_path, Picture())
    Sb3Policy(path, trust=True)
    listed = read_checkpoint(path).pickles
    assert "policy.pth" in listed
    assert any(name.startswith("data: ") for name in listed)
    assert f"running code from {path}: {', '.join(listed)}" in caplog.text


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("channels_first", [False, True])
def test_stacked_images(tmp_path, channels_first, trust):
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

    envs = VecFrameStack(DummyVecEnv([lambda: Picture(channels_first)]), 4)
    model, path = made(tmp_path, envs)
    spec, plan = EnvSpec(id="Picture-v0", kwargs={"channels_first": channels_first}), Plan(episodes=3)
    rows, *others = (
        rollout(Lanes(spec, lanes), Parts(Sb3Policy(path, trust=trust, frame_stack=4)), plan) for lanes in (2, 1, 3)
    )
    assert all(np.array_equal(rows.values, other.values, equal_nan=True) for other in others)
    totals = []
    for seed in rows.column("reset_seed").tolist():
        envs.seed(int(seed))
        seen, total, over = envs.reset(), 0.0, False
        while not over:
            seen, reward, (over,), _ = envs.step(model.predict(seen, deterministic=True)[0])
            total += float(reward[0])
        totals.append(total)
    np.testing.assert_allclose(rows.column("return"), totals, atol=1e-5)


def test_the_settings_that_loading_drops_are_attributes_of_the_library():
    from sb3_contrib import ARS

    classes = ARS, *(getattr(stable_baselines3, name) for name in ("PPO", "DQN", "SAC"))
    models = [kind("MlpPolicy", "Pendulum-v1" if kind.__name__ == "SAC" else "CartPole-v1") for kind in classes]
    assert set(_TRAINING_ONLY) <= {name for model in models for name in vars(model)}


class Mixed(gym.Env):
    """Entries of several kinds, two of them normalised."""

    observation_space = spaces.Dict(
        {
            "grid": spaces.Box(-5.0, 5.0, (2, 3)),
            "mode": spaces.Discrete(3),
            "pair": spaces.MultiDiscrete([2, 4]),
            "speed": spaces.Box(-5.0, 5.0, (2,)),
        }
    )
    action_space = spaces.Box(-1.0, 1.0, (2,))

    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


def normalised(env, keys, folder, stack=1):
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

    raw = DummyVecEnv([env])
    raw.seed(0)
    statistics = VecNormalize(raw, norm_obs_keys=keys)
    envs = VecFrameStack(statistics, stack) if stack > 1 else statistics
    model, _ = made(folder, envs, "MultiInputPolicy" if keys else "MlpPolicy")
    model.policy.action_net.weight.data *= 100.0
    envs.reset()
    for _ in range(20):
        envs.step(np.zeros((1, 2), np.float32))
    model.save(folder / "model.zip")
    statistics.save(str(folder / "vecnormalize.pkl"))
    return model, envs


def batch_of(space, count):
    space.seed(3)
    rows = [space.sample() for _ in range(count)]
    if not isinstance(space, spaces.Dict):
        return np.stack(rows)
    return {key: np.stack([row[key] for row in rows]) for key in space.spaces}


@pytest.mark.parametrize("trust", [False, True])
def test_normalised_entries_keep_their_shapes(tmp_path, trust):
    model, envs = normalised(Mixed, ["grid", "speed"], tmp_path)
    seen = batch_of(Mixed.observation_space, 4)
    policy = bound(Sb3Policy(str(tmp_path / "model.zip"), trust=trust), Mixed.observation_space, Mixed.action_space, 4)
    expected = model.predict(envs.normalize_obs(seen), deterministic=True)[0]
    np.testing.assert_allclose(policy.predict(seen)[0], expected, atol=1e-5)
    assert len(np.unique(expected)) > 4
    answer = policy.differentiate(seen)
    slopes = answer.pull(np.ones((4, 2)))
    assert {key: slope.shape for key, slope in slopes.items()} == {"grid": (4, 2, 3), "speed": (4, 2)}
    numeric = by_differences(policy, seen, None, np.ones(4, bool), {"grid": np.full((4, 2, 3), 1e-3)})
    np.testing.assert_allclose(slopes["grid"], numeric.pull(np.ones((4, 2)))["grid"], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("trust", [False, True])
def test_entries_keep_the_order_of_the_training(tmp_path, trust):
    class Unsorted(Mixed):
        # Gymnasium sorts a plain dict, but neither pairs nor keyword arguments.
        observation_space = spaces.Dict(list(reversed(Mixed.observation_space.spaces.items())))

    model, envs = normalised(Unsorted, ["grid", "speed"], tmp_path)
    seen = batch_of(Unsorted.observation_space, 4)
    policy = Sb3Policy(str(tmp_path / "model.zip"), trust=trust)
    bound(policy, Unsorted.observation_space, Unsorted.action_space, 4)
    expected = model.predict(envs.normalize_obs(seen), deterministic=True)[0]
    np.testing.assert_allclose(policy.predict(seen)[0], expected, atol=1e-5)


@pytest.mark.parametrize("trust", [False, True])
def test_a_normalised_table_keeps_its_shape(tmp_path, trust):
    class Table(Mixed):
        observation_space = spaces.Box(-5.0, 5.0, (2, 3))

    model, envs = normalised(Table, None, tmp_path)
    seen = batch_of(Table.observation_space, 4)
    policy = bound(Sb3Policy(str(tmp_path / "model.zip"), trust=trust), Table.observation_space, Table.action_space, 4)
    expected = model.predict(envs.normalize_obs(seen), deterministic=True)[0]
    np.testing.assert_allclose(policy.predict(seen)[0], expected, atol=1e-5)


def test_a_model_in_memory_is_normalised_as_in_its_training(tmp_path):
    model, envs = normalised(Mixed, ["grid", "speed"], tmp_path)
    seen = batch_of(Mixed.observation_space, 4)
    policy = bound(as_policy(model), Mixed.observation_space, Mixed.action_space, 4)
    expected = model.predict(envs.normalize_obs(seen), deterministic=True)[0]
    np.testing.assert_allclose(policy.predict(seen)[0], expected, atol=1e-5)


@pytest.mark.parametrize("trust", [False, True])
def test_observations_of_another_size_are_one_line(tmp_path, trust):
    _, path = made(tmp_path, gym.make("Pendulum-v1"), "MlpPolicy")
    policy = Sb3Policy(path, trust=trust)
    with pytest.raises(UserError, match=r"the network takes 3 numbers, got 4 of Box\(4,\)"):
        bound(policy, spaces.Box(-1.0, 1.0, (4,)), spaces.Box(-2.0, 2.0, (1,)), 1)


@pytest.mark.parametrize("trust", [False, True])
def test_stacked_entries_keep_their_shapes(tmp_path, trust):
    class Boxes(Mixed):
        observation_space = spaces.Dict({key: Mixed.observation_space[key] for key in ("grid", "speed")})

    model, envs = normalised(Boxes, ["grid", "speed"], tmp_path, stack=3)
    policy = Sb3Policy(str(tmp_path / "model.zip"), trust=trust, frame_stack=3)
    bound(policy, Boxes.observation_space, Boxes.action_space, 1)
    envs.venv.training = False
    stacked, state = envs.reset(), None
    for step in range(4):
        actions, state = policy.predict(envs.venv.get_original_obs(), state, np.array([step == 0]))
        np.testing.assert_allclose(actions, model.predict(stacked, deterministic=True)[0], atol=1e-5)
        stacked = envs.step(actions)[0]


@pytest.mark.parametrize("trust", [False, True])
def test_pictures_in_a_dict_are_transposed(tmp_path, trust):
    class Seeing(Mixed):
        observation_space = spaces.Dict(
            {"camera": spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8), "speed": Mixed.observation_space["speed"]}
        )

    model, envs = normalised(Seeing, ["speed"], tmp_path)
    seen = batch_of(Seeing.observation_space, 3)
    policy = Sb3Policy(str(tmp_path / "model.zip"), trust=trust)
    bound(policy, Seeing.observation_space, Seeing.action_space, 3)
    normal = envs.normalize_obs(seen)
    expected = [
        model.predict({key: part[lane] for key, part in normal.items()}, deterministic=True)[0] for lane in range(3)
    ]
    np.testing.assert_allclose(policy.predict(seen)[0], expected, atol=1e-5)
    assert len(np.unique(expected)) == 6
    assert list(policy.differentiate(seen).pull(np.ones((3, 2)))) == ["speed"]
