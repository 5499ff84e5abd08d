"""How long a step of an environment lasts."""

import math
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

_ATARI_RATE = 60.0
"""Frames per second of the console; ale-py shows 30."""


def step_seconds(env: gym.Env) -> float | None:
    """Returns how long a step lasts: `dt`, or a frame at `metadata["render_fps"]`; None if the environment has neither.

    Wrappers that skip frames make steps longer. A wrapper of Gymnasium does not show how many, hence None.

    Example:
        >>> step_seconds(gym.make("CartPole-v1")), step_seconds(gym.make("Pendulum-v1"))
        (0.02, 0.05)
    """
    bare: Any = env.unwrapped
    seconds = _positive(getattr(bare, "dt", None)) or _frame_seconds(bare.metadata)
    if hasattr(bare, "ale"):
        seconds = _atari_seconds(bare)
    while seconds is not None and isinstance(env, gym.Wrapper):
        seconds = None if isinstance(env, gym.wrappers.MaxAndSkipObservation) else seconds * _skipped(env)
        env = env.env
    return seconds


def registered_frame_seconds(env_id: str) -> float | None:
    """Returns how long a frame of a registered environment lasts, without making it; None if it is not known.

    Example:
        >>> registered_frame_seconds("FrozenLake-v1"), registered_frame_seconds("Unknown-v0")
        (0.25, None)
    """
    spec = gym.registry.get(env_id)
    if spec is None or spec.entry_point is None:
        return None
    try:
        creator = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    except (ImportError, AttributeError):
        return None
    return _frame_seconds(getattr(creator, "metadata", None))


def _atari_seconds(bare: Any) -> float | None:
    """Returns how long a step of an Atari game lasts; None for one that skips a random number of frames."""
    frames = bare.spec.kwargs.get("frameskip") if bare.spec else None
    return frames / _ATARI_RATE if isinstance(frames, int) else None


def _skipped(wrapper: gym.Wrapper) -> float:
    return _positive(vars(wrapper).get("frame_skip")) or 1.0


def _frame_seconds(metadata: Any) -> float | None:
    rate = _positive(metadata.get("render_fps")) if isinstance(metadata, dict) else None
    return None if rate is None else 1.0 / rate


def _positive(value: Any) -> float | None:
    """Returns a number above 0; None for anything else, since an attribute of this name may be anything."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0.0 < number < math.inf else None
