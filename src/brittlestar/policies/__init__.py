"""Policies: scripted controllers, simple baselines, callables of the user, small networks."""

from brittlestar.policies.base import Policy
from brittlestar.policies.callables import CallablePolicy, as_policy
from brittlestar.policies.controllers import PController, PushController
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.policies.pong import PongPlayer
from brittlestar.policies.simple import ConstantPolicy, RandomPolicy

__all__ = [
    "CallablePolicy",
    "ConstantPolicy",
    "MlpPolicy",
    "PController",
    "Policy",
    "PongPlayer",
    "PushController",
    "RandomPolicy",
    "as_policy",
]
