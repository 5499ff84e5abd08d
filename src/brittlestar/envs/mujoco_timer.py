"""Stops MuJoCo's measuring of its own steps."""

import sys


def stop_timer() -> None:
    """Stops the timer of the parts of a step (`data.timer`), which takes 4 % of a step.

    MuJoCo's Python package starts it with every `MjData`. A timer of the user's own remains.
    """
    mujoco = sys.modules.get("mujoco")
    if mujoco is not None and mujoco.get_mjcb_time() is None:
        mujoco.set_mjcb_time(None)
