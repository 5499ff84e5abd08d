"""Policies: scripted controllers, simple baselines, your own callables, small networks."""

from brittlestar.policies.base import Policy
from brittlestar.policies.controllers import PController, PushController

from brittlestar.policies.simple import CallablePolicy, ConstantPolicy, RandomPolicy, as_policy

__all__ = [
    "CallablePolicy",
    "ConstantPolicy",

    "PController",
    "Policy",
    "PushController",
    "RandomPolicy",
    "as_policy",
]
