"""Environments whose physics engine keeps a part of its state over `reset`."""

from typing import Any

import gymnasium as gym

_ENGINES = ("Box2D", "pybullet", "panda_gym")
"""Modules of engines that do: contacts and warm starts of one episode change the next one."""


def keeps_state(env: gym.Env) -> bool:
    """Returns whether an environment runs in such an engine, by its classes and those of its attributes.

    Example:
        >>> keeps_state(gym.make("CartPole-v1"))
        False
    """
    base: Any = env.unwrapped
    kinds = [*type(base).__mro__, *(type(value) for value in vars(base).values())]
    return any(kind.__module__.partition(".")[0].startswith(_ENGINES) for kind in kinds)
