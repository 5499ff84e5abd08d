"""Reads agents of Stable-Baselines3 and rl-zoo as data; no code of their files runs."""

from brittlestar.checkpoints.algorithms import ALGORITHMS
from brittlestar.checkpoints.archive import Checkpoint, read_checkpoint
from brittlestar.checkpoints.describe import actor_weights, describe_path
from brittlestar.checkpoints.rl_zoo import ZooFolder, find_statistics, read_folder
from brittlestar.checkpoints.safe_pickle import read_pickle
from brittlestar.checkpoints.spaces_text import read_space
from brittlestar.checkpoints.statistics import Statistics, read_statistics
from brittlestar.checkpoints.stubs import Global, Stub
from brittlestar.checkpoints.weights import read_weights

__all__ = [
    "ALGORITHMS",
    "Checkpoint",
    "Global",
    "Statistics",
    "Stub",
    "ZooFolder",
    "actor_weights",
    "describe_path",
    "find_statistics",
    "read_checkpoint",
    "read_folder",
    "read_pickle",
    "read_space",
    "read_statistics",
    "read_weights",
]
