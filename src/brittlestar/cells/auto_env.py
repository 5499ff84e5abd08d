"""`env=auto`: the environment that a checkpoint was trained in."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, cast

from brittlestar.config import config_folder
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo

AUTO = "auto"
_ATARI = "PongNoFrameskip-v4"
_ANT_CONTACTS = slice(27, 111)
_KEPT: dict[str, Any] = {"kwargs": {}, "max_steps": None, "backend": "auto"}
"""Settings that a user may add to `env=auto`, and what they are if nobody did."""


def resolve(env: dict[str, Any], policy: dict[str, Any]) -> dict[str, Any]:
    """Returns the config of the environment that the policy's file, folder or card names.

    Args:
        env: the option `auto`, with what the user added.
        policy: the policy's config.

    Example:
        >>> resolve({"id": "auto"}, {"path": "agents/CartPole-v1.zip"})["id"]
        'CartPole-v1'
    """
    if policy.get("_target_") == zoo.TARGET:
        return _kept(_known(zoo.read_card(policy["name"])["env"]), env)
    path = policy.get("path")
    if not isinstance(path, str):
        raise UserError("`env=auto` takes the environment from `policy.path`, but this policy has none")
    known = dict(_known(trained_in(path)))
    if known["id"] == "Ant-v3":
        known["kwargs"] = {"post_constraint": _saw_contacts(path)}
    return _kept(known, env)


def _kept(known: dict[str, Any], env: dict[str, Any]) -> dict[str, Any]:
    return known | {key: env[key] for key, unset in _KEPT.items() if env.get(key, unset) != unset}


@functools.cache
def trained_in(path: str) -> str:
    """Returns the id that a folder of rl-zoo, or the name of a zip, says."""
    if Path(path).expanduser().is_dir():
        from brittlestar.checkpoints import read_folder

        return read_folder(path).env_id
    # Agents of the hub are called `ppo-CartPole-v1`.
    name = re.sub(r"^[a-z0-9_]+-(?=[A-Z])", "", Path(path).stem)
    if not re.fullmatch(r"[\w.:/-]+-v\d+", name):
        raise UserError(f"`env=auto`: {path} does not name its environment, as `CartPole-v1.zip` would")
    return name


@functools.cache
def _saw_contacts(path: str) -> bool:
    """Whether the contact forces that Ant shows were alive in training; most versions of MuJoCo left them 0."""
    from brittlestar.checkpoints import find_statistics, read_folder, read_statistics

    folder = Path(path).expanduser().is_dir()
    statistics = read_folder(path).statistics if folder else find_statistics(path)
    return statistics is not None and bool((read_statistics(statistics).var[""][_ANT_CONTACTS] > 1e-6).any())


@functools.cache
def _known(env_id: str) -> dict[str, Any]:
    """Returns the option of the group `env` with this id, that of Pong for other Atari games, or `gym`."""
    from omegaconf import OmegaConf

    nodes = [OmegaConf.to_container(OmegaConf.load(file)) for file in sorted((config_folder() / "env").glob("*.yaml"))]
    options = cast("list[dict[str, Any]]", nodes)
    same = [option for option in options if option["id"] == env_id]
    if same:
        return same[0]
    from brittlestar.envs.atari import is_atari

    like = next(option for option in options if option["id"] == (_ATARI if is_atari(env_id) else "???"))
    unknown = {"id": env_id, "returns": {"random": None, "reference": None}}
    return like | unknown | _of_any_version(env_id, options)


def _of_any_version(env_id: str, options: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns what another version of an environment shares with this one: rewards differ, sensors and goals do not."""
    for option in options:
        if _unversioned(option["id"]) == _unversioned(env_id):
            goals = str((option["success"] or {}).get("_target_")).endswith(".GoalReached")
            shared = ("sensor_groups", "signals", "success") if goals else ("sensor_groups",)
            return {key: option[key] for key in shared}
    return {}


def _unversioned(env_id: str) -> str:
    return env_id.rpartition("-v")[0] or env_id
