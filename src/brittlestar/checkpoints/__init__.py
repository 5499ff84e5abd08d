"""Reads agents of Stable-Baselines3 and rl-zoo as data; no code of their files runs."""

from brittlestar.checkpoints.archive import Checkpoint, read_checkpoint
from brittlestar.checkpoints.describe import describe_path
from brittlestar.checkpoints.rl_zoo import find_statistics, read_folder
from brittlestar.checkpoints.statistics import read_statistics

__all__ = ["Checkpoint", "describe_path", "find_statistics", "read_checkpoint", "read_folder", "read_statistics"]
