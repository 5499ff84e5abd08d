"""Environments: what they are, what counts as success in them, and how their simulators are edited."""

from brittlestar.envs.base import EnvSpec, Returns, Signals

__all__ = ["EnvSpec", "Returns", "Signals"]
