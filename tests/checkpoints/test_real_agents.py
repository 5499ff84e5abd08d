"""The real agents of rl-zoo: algorithm, spaces, statistics and scores of each."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.checkpoints import read_checkpoint, read_folder, read_statistics
from brittlestar.checkpoints.describe import actor_weights

# algorithm, entries of an observation, actions (entries, or choices), gSDE, mean and n of the recorded return
AGENTS = {
    "a2c/Ant-v3_1": ("a2c", 111, 8, False, -22.4385, 5),
    "a2c/CartPole-v1_1": ("a2c", 4, "2", False, 500.0, 10),
    "a2c/Hopper-v3_1": ("a2c", 11, 3, False, 525.7675, 20),
    "ars/CartPole-v1_1": ("ars", 4, "2", False, 500.0, 20),
    "ars/HalfCheetah-v3_1": ("ars", 17, 6, False, 4354.7021, 20),
    "dqn/CartPole-v1_1": ("dqn", 4, "2", False, 171.1, 10),
    "dqn/MountainCar-v0_1": ("dqn", 2, "3", False, -107.3, 10),
    "her/FetchReach-v1_1": ("sac", 13, 4, False, -1.4, 5),
    "ppo/Acrobot-v1_1": ("ppo", 6, "3", False, -76.4, 10),
    "ppo/Ant-v3_1": ("ppo", 112, 8, False, 1251.9032, 20),
    "ppo/CartPole-v1_1": ("ppo", 4, "2", False, 500.0, 10),
    "ppo/HalfCheetah-v3_1": ("ppo", 17, 6, False, 5728.0558, 20),
    "ppo/MountainCarContinuous-v0_1": ("ppo", 2, 1, True, 86.7058, 10),
    "ppo/Pendulum-v1_1": ("ppo", 3, 1, True, -165.7111, 20),
    "qrdqn/CartPole-v1_1": ("qrdqn", 4, "2", False, 500.0, 10),
    "sac/HalfCheetah-v3_1": ("sac", 17, 6, False, 9537.0209, 20),
    "sac/Hopper-v3_1": ("sac", 11, 3, False, 2278.9697, 20),
    "sac/Pendulum-v1_1": ("sac", 3, 1, True, -97.9866, 5),
}
# count, and the shapes of the means
STATISTICS = {
    "a2c/Ant-v3_1": {"": (111,)},
    "a2c/Hopper-v3_1": {"": (11,)},
    "ars/HalfCheetah-v3_1": {"": (17,)},
    "her/FetchReach-v1_1": {"achieved_goal": (3,), "desired_goal": (3,), "observation": (10,)},
    "ppo/Acrobot-v1_1": {"": (6,)},
    "ppo/Ant-v3_1": {"": (112,)},
    "ppo/HalfCheetah-v3_1": {"": (17,)},
    "ppo/MountainCarContinuous-v0_1": {"": (2,)},
}
FIRST = {
    "ppo": "mlp_extractor.policy_net.0.weight",
    "a2c": "mlp_extractor.policy_net.0.weight",
    "ars": "action_net.weight",
    "dqn": "q_net.q_net.0.weight",
    "qrdqn": "quantile_net.quantile_net.0.weight",
    "sac": "actor.latent_pi.0.weight",
}


def test_no_agent_is_left_out(agents):
    assert {f"{path.parent.parent.name}/{path.parent.name}" for path in agents.glob("*/*/*.zip")} == set(AGENTS)


@pytest.mark.parametrize("name", AGENTS)
def test_a_real_agent_is_read(agents, name):
    algorithm, entries, actions, use_sde, mean, count = AGENTS[name]
    folder = read_folder(agents / name)
    read = read_checkpoint(folder.checkpoint)
    assert (folder.algorithm, folder.env_id) == (name.split("/")[0], name.split("/")[1].removesuffix("_1"))
    assert (read.algorithm, read.use_sde) == (algorithm, use_sde)
    assert read.observation_space.shape == (entries,)
    discrete = isinstance(actions, str)
    assert read.action_space == spaces.Discrete(int(actions)) if discrete else read.action_space.shape == (actions,)
    assert read.weights[FIRST[algorithm]].shape[1] == entries
    assert all(np.isfinite(array).all() for array in read.weights.values())
    assert {"data: policy_class", "policy.pth"} <= set(read.pickles)
    last = folder.recorded.returns[-1]
    assert (round(float(last.mean()), 4), len(last)) == (mean, count)
    # A zip is from the end of a training, a little behind the last evaluation.
    assert 0 <= read.num_timesteps - folder.recorded.steps[-1] < 0.03 * read.num_timesteps


@pytest.mark.parametrize("name", AGENTS)
def test_real_statistics_are_read(agents, name):
    folder = read_folder(agents / name)
    assert folder.normalized == (name in STATISTICS)
    if name not in STATISTICS:
        assert folder.statistics is None
        return
    read = read_statistics(folder.statistics)
    assert {key: mean.shape for key, mean in read.mean.items()} == STATISTICS[name]
    assert all((var > -1e-12).all() and var.max() > 0 for var in read.var.values())
    assert (read.norm_obs, read.epsilon, read.clip) == (True, 1e-8, 10)
    assert read.count > 10_000


def test_wrappers_frames_and_arguments_of_some_agents(agents):
    wrapped = {name: read_folder(agents / name).wrappers for name in AGENTS}
    time_feature = "sb3_contrib.common.wrappers.TimeFeatureWrapper"
    assert {name: wrappers for name, wrappers in wrapped.items() if wrappers} == {"ppo/Ant-v3_1": {time_feature: {}}}
    assert read_folder(agents / "ars/HalfCheetah-v3_1").normalize_kwargs == {"norm_obs": True, "norm_reward": False}
    cheetah = read_checkpoint(agents / "ppo/HalfCheetah-v3_1/HalfCheetah-v3.zip")
    assert (cheetah.activation, cheetah.net_arch) == ("relu", [{"pi": [256, 256], "vf": [256, 256]}])
    quantiles = read_checkpoint(agents / "qrdqn/CartPole-v1_1/CartPole-v1.zip")
    assert quantiles.exploration_rate == 0.04
    fetch = read_checkpoint(agents / "her/FetchReach-v1_1/FetchReach-v1.zip")
    assert (fetch.squash_output, fetch.versions) == (True, {"stable_baselines3": "1.0rc2"})
    assert sorted(actor_weights(fetch.weights))[:2] == ["actor.latent_pi.0.bias", "actor.latent_pi.0.weight"]


def test_whether_contacts_were_live_shows_in_the_variance(agents):
    contacts = {
        name: read_statistics(agents / name / "Ant-v3/vecnormalize.pkl").var[""][27:111].max()
        for name in ("a2c/Ant-v3_1", "ppo/Ant-v3_1")
    }
    assert contacts["a2c/Ant-v3_1"] > 0.01
    assert contacts["ppo/Ant-v3_1"] < 0.01
