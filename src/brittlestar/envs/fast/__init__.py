"""Steps some MuJoCo environments faster, with the same results bit for bit."""

import gymnasium as gym

from brittlestar.envs.fast.base import FastEnv
from brittlestar.envs.fast.lane_group import LaneGroup

__all__ = ["FastEnv", "LaneGroup", "accelerate", "fast_env"]


def accelerate(env: gym.Env) -> bool:
    """Makes an environment step faster, in place, and returns whether it is faster now.

    The fast step reads private attributes of Gymnasium's runners and of Fetch. An unknown environment, or one whose
    own methods give other numbers than the fast ones, remains as it is. Fields of the model may be edited before or
    after.

    Example:
        >>> accelerate(gym.make("CartPole-v1"))
        False
    """
    module = type(env.unwrapped).__module__
    try:
        # A subclass of the user's own lives in another module and may override anything.
        if module.startswith("gymnasium_robotics.envs.fetch."):
            from brittlestar.envs.fast.fetch import fast_fetch as find_fast
        elif module.startswith("gymnasium.envs.mujoco."):
            from brittlestar.envs.fast.runners import fast_runner as find_fast
        else:
            return False
        fast = find_fast(env.unwrapped)
        if fast is None or not fast.agrees():
            return False
    except AttributeError:  # Another version, without the private attributes that the fast step reads.
        return False
    fast.install()
    return True


def fast_env(env: gym.Env) -> FastEnv | None:
    """Returns the `FastEnv` of an accelerated environment, None where a wrapper must see the steps."""
    inner = env
    while isinstance(inner, gym.wrappers.TimeLimit | gym.wrappers.OrderEnforcing):
        inner = inner.env
    owner = getattr(inner.step, "__self__", None)
    return owner if isinstance(owner, FastEnv) else None
