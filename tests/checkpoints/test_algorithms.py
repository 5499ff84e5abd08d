"""The table of algorithms agrees with Stable-Baselines3."""

from __future__ import annotations

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")


import pytest
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from brittlestar.checkpoints.algorithms import ALGORITHMS, find_algorithm, squashes

ROWS = pytest.mark.parametrize("facts", ALGORITHMS.values(), ids=lambda facts: facts.name)


@ROWS
def test_the_class_learns_as_the_table_states(facts):
    kind = facts.load_class()
    assert kind.__name__.lower() == facts.name.replace("_", "")
    on_policy = True if issubclass(kind, OnPolicyAlgorithm) else False if issubclass(kind, OffPolicyAlgorithm) else None
    assert facts.on_policy is on_policy


@ROWS
def test_default_policies_exist(facts):
    policies = facts.load_class().policy_aliases
    assert facts.policy in policies
    # These learn from plain arrays only.
    assert (facts.dict_policy in policies) == (facts.name not in ("ars", "crossq"))


@ROWS
def test_policies_are_recognised_by_their_module(facts):
    modules = {policy.__module__ for policy in facts.load_class().policy_aliases.values()}
    assert not facts.module or all(f"{module}.".startswith(facts.module) for module in modules)


@pytest.mark.parametrize(
    ("policy", "data", "weights", "name"),
    [
        ("stable_baselines3.common.policies.ActorCriticPolicy", {"gae_lambda": 1, "clip_range": 0}, [], "ppo"),
        ("stable_baselines3.common.policies.ActorCriticPolicy", {"gae_lambda": 1}, [], "a2c"),
        ("stable_baselines3.common.policies.ActorCriticPolicy", {"gae_lambda": 1, "cg_damping": 0.1}, [], "trpo"),
        ("sb3_contrib.common.recurrent.policies.X", {"clip_range": 0}, [], "recurrent_ppo"),
        ("sb3_contrib.common.maskable.policies.X", {"clip_range": 0}, [], "maskable_ppo"),
        ("stable_baselines3.sac.policies.SACPolicy", {}, [], "sac"),
        ("stable_baselines3.dqn.policies.DQNPolicy", {}, [], "dqn"),
        ("stable_baselines3.td3.policies.TD3Policy", {"policy_delay": 2, "target_noise_clip": 0.5}, [], "td3"),
        ("stable_baselines3.td3.policies.TD3Policy", {"policy_delay": 1, "target_noise_clip": 0.0}, [], "ddpg"),
        ("sb3_contrib.tqc.policies.TQCPolicy", {}, [], "tqc"),
        ("sb3_contrib.qrdqn.policies.QRDQNPolicy", {}, [], "qrdqn"),
        ("sb3_contrib.crossq.policies.CrossQPolicy", {}, [], "crossq"),
        ("sb3_contrib.ars.policies.ARSPolicy", {}, [], "ars"),
        ("mine.Policy", {}, ["q_net.q_net.0.weight"], "dqn"),
        ("mine.Policy", {}, ["quantile_net.quantile_net.0.weight"], "qrdqn"),
        ("mine.Policy", {"ent_coef": 1, "target_entropy": 1}, [], "sac"),
        ("mine.Policy", {}, ["w"], None),
    ],
)
def test_algorithms(policy, data, weights, name):
    assert find_algorithm(policy, data, weights) == name
    assert name is None or name in ALGORITHMS


def test_which_actors_squash():
    assert squashes("sac", "", {"squash_output": False})
    assert squashes("ars", "x.ARSPolicy", {})
    assert not squashes("ars", "x.ARSLinearPolicy", {})
    assert not squashes("ppo", "", {})
