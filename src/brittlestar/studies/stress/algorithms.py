"""The algorithm that trained the policy of a cell, from its config and the files that it names."""

import contextlib
import functools
import json
from pathlib import Path

from brittlestar.checkpoints.algorithms import ALGORITHMS
from brittlestar.config import HUB
from brittlestar.errors import UserError
from brittlestar.results.load import Row


def algorithm_of(policy: Row) -> str:
    """Returns the algorithm behind the `policy` of a config in lower case; "" if it is unknown.

    Example:
        >>> algorithm_of({"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "cartpole_ppo"})
        'ppo'
        >>> algorithm_of({"_target_": "brittlestar.policies.RandomPolicy"})
        ''
        >>> algorithm_of({"_target_": "brittlestar.policies.sb3.Sb3Policy", "path": "moved/td3/Ant-v3_1/Ant-v3.zip"})
        'td3'
    """
    return _find(json.dumps(policy, sort_keys=True))


def is_on_policy(algorithm: str) -> bool | None:
    """Returns whether an algorithm learns from its own latest episodes only; None if it is neither, or unknown.

    Example:
        >>> is_on_policy("ppo"), is_on_policy("sac"), is_on_policy("ars")
        (True, False, None)
    """
    return ALGORITHMS[algorithm].on_policy if algorithm in ALGORITHMS else None


@functools.lru_cache(maxsize=1024)
def _find(policy: str) -> str:
    node = json.loads(policy)
    target, path = str(node.get("_target_")).rpartition(".")[2], str(node.get("path") or "")
    # A file may have been removed; its name often holds the algorithm.
    with contextlib.suppress(UserError, OSError, IndexError):
        if target == "ZooPolicy":
            from brittlestar.policies.zoo.cards import read_card

            return str(read_card(node["name"])["algorithm"]).lower()
        if node.get("algorithm"):
            return str(node["algorithm"]).lower()
        if path.startswith(HUB):
            # No download for a label.
            name = path.split("/")[1].partition("-")[0].lower()
            return name if name in ALGORITHMS else ""
        if target in ("Sb3Policy", "ZooFolderPolicy") and (algorithm := _from_files(target, path)):
            return algorithm
    return next((folder for folder in reversed(Path(path.lower()).parts[:-1]) if folder in ALGORITHMS), "")


def _from_files(target: str, path: str) -> str | None:
    from brittlestar.checkpoints import read_checkpoint, read_folder

    if target == "Sb3Policy":
        return read_checkpoint(path).algorithm
    folder = read_folder(path)
    # `her` is an algorithm to rl-zoo; the zip names the one inside.
    name = folder.algorithm.lower()
    return name if name in ALGORITHMS else read_checkpoint(folder.checkpoint).algorithm
