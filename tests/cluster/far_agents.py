"""Policies that a user has next to the sweep: a slow one, fatal ones, and one that looks for the driver's files."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def slow(observation):
    """Takes 3 ms a step, most of it asleep."""
    time.sleep(0.003)
    return _right(observation)


def fatal(observation):
    """Ends its process when the cart is far to the left."""
    if np.ravel(observation)[0] < -0.5:
        os._exit(3)
    return _right(observation)


def hanging(observation):
    """Never ends when the cart is far to the left."""
    while np.ravel(observation)[0] < -0.5:
        time.sleep(1)
    return _right(observation)


def treacherous(observation):
    """Kills the process of Ray that its own process belongs to, when the cart is far to the left."""
    if np.ravel(observation)[0] < -0.5:
        pid = os.getpid()
        while "ray::" not in Path(f"/proc/{pid}/cmdline").read_text():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(pid, signal.SIGKILL)
        time.sleep(60)
    return _right(observation)


class Spy:
    """Refuses to act where a file can be seen."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __call__(self, observation):
        if Path(self.file).exists():
            raise RuntimeError(f"{self.file} can be seen")
        return _right(observation)


def _right(observation):
    return int(np.ravel(observation)[2] > 0)
