"""Training with the network of IMPALA, by the names of its classes in a config."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import DummyVecEnv

from brittlestar.errors import UserError
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.randomness import LaneDraws
from brittlestar.training.algorithms import Algorithm

IMAGE = spaces.Box(0, 255, (12, 10, 3), np.uint8)
SPACES = {
    "ImpalaCNN": IMAGE,
    "ImpalaCombinedExtractor": spaces.Dict(
        {"image_0": IMAGE, "image_1": IMAGE, "speed": spaces.Box(-1.0, 1.0, (2,), np.float32)}
    ),
}
ACTS, LANES = spaces.Box(-1.0, 1.0, (2,), np.float32), 6


class Screen(gym.Env):
    """Random images, and a reward for bright ones."""

    action_space = ACTS

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), float(action.sum()), self.np_random.random() < 0.1, False, {}


def algorithm(extractor, name="ppo", **options):
    settings = {
        "features_extractor_class": extractor,
        "features_extractor_kwargs": {"features_dim": 8, "channels": [4, 6]},
        "net_arch": [16],
    }
    return Algorithm(name, options={"policy_kwargs": settings} | options)


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize(
    ("name", "options"),
    [("ppo", {"n_steps": 16, "batch_size": 16, "n_epochs": 2}), ("sac", {"learning_starts": 20, "batch_size": 8})],
)
def test_a_trained_policy_is_rebuilt_without_trust(tmp_path, kind, name, options):
    space = SPACES[kind]
    env = DummyVecEnv([lambda: Screen(space)])
    if name == "sac":
        options = options | {"buffer_size": 100}
    model = algorithm(f"brittlestar.training.impala.{kind}", name, **options).make(env, seed=0)
    model.learn(48)
    model.save(tmp_path / "model.zip")
    policies = [Sb3Policy(str(tmp_path / "model.zip"), trust=trust) for trust in (False, True)]
    space.seed(1)
    rows = [space.sample() for _ in range(LANES)]
    seen = {key: np.stack([row[key] for row in rows]) for key in rows[0]} if kind != "ImpalaCNN" else np.stack(rows)
    draws = LaneDraws(seed=0, stream="policy", lanes=LANES)
    for policy in policies:
        policy.bind(space, ACTS, draws)
    ours, trusted = (policy.predict(seen)[0] for policy in policies)
    theirs = model.predict(seen, deterministic=True)[0]
    assert len(np.unique(ours, axis=0)) > 2
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(trusted, theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("brittlestar.training.impala.ImpalaCnn", r"brittlestar.training.impala has no 'ImpalaCnn'; .*ImpalaCNN"),
        ("no_such_module.Cnn", "'no_such_module.Cnn' cannot be imported"),
        ("ImpalaCNN", "must have the form `package.module.Class`"),
    ],
)
def test_a_wrong_name_is_one_line(path, message):
    with pytest.raises(UserError, match=rf"`algo.options.policy_kwargs.features_extractor_class`.*{message}") as error:
        algorithm(path).make(DummyVecEnv([lambda: Screen(IMAGE)]), seed=0)
    assert "\n" not in str(error.value)


def test_classes_of_options_are_named_in_a_config():
    from torch import nn

    options = {"n_steps": 8, "batch_size": 8, "policy_kwargs": {"activation_fn": "torch.nn.ELU", "net_arch": [4]}}
    algo = Algorithm("ppo", options=options)
    model = algo.make(DummyVecEnv([lambda: gym.make("CartPole-v1")]), seed=0)
    assert model.policy.activation_fn is nn.ELU
    assert algo.options["policy_kwargs"]["activation_fn"] == "torch.nn.ELU"
