"""The table of algorithms agrees with Stable-Baselines3."""

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from brittlestar.checkpoints import ALGORITHMS

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
    assert not facts.policy_module or all(f"{module}.".startswith(facts.policy_module) for module in modules)
