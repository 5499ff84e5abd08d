"""The suite of an environment, from its name."""

from __future__ import annotations

import re

_NAMES = {
    "classic control": "acrobot cartpole mountaincar mountaincarcontinuous pendulum",
    "toy text": "blackjack cliffwalking frozenlake frozenlake8x8 taxi",
    "MuJoCo": "ant halfcheetah hopper humanoid humanoidstandup inverteddoublependulum invertedpendulum pusher reacher "
    "swimmer walker2d",
    "Fetch robotics": "fetchpickandplace fetchpush fetchreach fetchslide",
    "Atari": "asteroids beamrider breakout enduro mspacman pong qbert roadrunner seaquest spaceinvaders",
}
SUITES = (*_NAMES, "other")
"""In the order to draw them."""
_KNOWN = {name: suite for suite, names in _NAMES.items() for name in names.split()}


def suite(env: str) -> str:
    """Returns the suite of an environment, by its name here or its id.

    Example:
        >>> suite("half cheetah"), suite("FetchReach-v4"), suite("PongNoFrameskip-v4"), suite("my_env")
        ('MuJoCo', 'Fetch robotics', 'Atari', 'other')
    """
    # Dense rewards, frames that are not skipped and versions are the same environment.
    name = re.sub(r"^ale/|dense|noframeskip|-v\d+$|[^a-z0-9]", "", env.lower())
    return _KNOWN.get(name, "other")
