"""`env=auto`: the environment that a checkpoint was trained in."""

import functools
import re
from pathlib import Path
from typing import Any, cast

from brittlestar.checkpoints import find_statistics, read_folder, read_statistics
from brittlestar.config import MISSING, options
from brittlestar.config.build import locate
from brittlestar.envs.atari import is_atari
from brittlestar.errors import UserError

AUTO = "auto"
_ATARI = "PongNoFrameskip-v4"
_ANT_CONTACTS = slice(27, 111)
_SETTINGS: dict[str, Any] = {"kwargs": {}, "max_steps": None, "backend": "auto"}
"""Settings that a user may add to `env=auto`, and their defaults."""


def resolve_env(env: dict[str, Any], policy: dict[str, Any]) -> dict[str, Any]:
    """Returns the config of the environment that a policy was trained in.

    A class of policies may name it by a static method `trained_env(node) -> str`; otherwise it is read from the file
    or folder `path`. `env` is the option `auto`, with the user's settings.

    Example:
        >>> resolve_env({"id": "auto"}, {"path": "agents/CartPole-v1.zip"})["id"]
        'CartPole-v1'
    """
    settings = {key: env[key] for key, default in _SETTINGS.items() if env.get(key, default) != default}
    kind: Any = locate(policy["_target_"], "policy") if "_target_" in policy else None
    if hasattr(kind, "trained_env"):
        return _option(kind.trained_env(policy)) | settings
    path = policy.get("path")
    if not isinstance(path, str):
        raise UserError("`env=auto` takes the environment from `policy.path`, but this policy has none")
    option = dict(_option(trained_id(path)))
    if option["id"] == "Ant-v3":
        option["kwargs"] = {"post_constraint": _saw_contacts(path)}
    return option | settings


@functools.cache
def trained_id(path: str) -> str:
    """Returns the environment id in a folder of rl-zoo, or in the name of a zip."""
    if Path(path).expanduser().is_dir():
        return read_folder(path).env_id
    # Agents of the hub are called `ppo-CartPole-v1`.
    name = re.sub(r"^[a-z0-9_]+-(?=[A-Z])", "", Path(path).stem)
    if not re.fullmatch(r"[\w.:/-]+-v\d+", name):
        raise UserError(f"`env=auto`: {path} does not name its environment, as `CartPole-v1.zip` would")
    return name


@functools.cache
def _saw_contacts(path: str) -> bool:
    """Whether Ant's contact forces varied in training; most versions of MuJoCo left them 0."""
    folder = Path(path).expanduser().is_dir()
    statistics = read_folder(path).statistics if folder else find_statistics(path)
    return statistics is not None and bool((read_statistics(statistics).var[""][_ANT_CONTACTS] > 1e-6).any())


@functools.cache
def _option(env_id: str) -> dict[str, Any]:
    """Returns the option of the group `env` with this id, that of Pong for other Atari games, or `gym`."""
    from omegaconf import OmegaConf

    nodes = [OmegaConf.to_container(OmegaConf.load(file)) for file in options("env").values()]
    configs = cast("list[dict[str, Any]]", nodes)
    same = [config for config in configs if config["id"] == env_id]
    if same:
        return same[0]
    like = next(config for config in configs if config["id"] == (_ATARI if is_atari(env_id) else MISSING))
    unknown = {"id": env_id, "returns": {"random": None, "reference": None}}
    return like | unknown | _shared_by_versions(env_id, configs)


def _shared_by_versions(env_id: str, configs: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the settings that all versions of an environment share: sensors and goals, but not rewards."""
    for option in configs:
        if _unversioned(option["id"]) == _unversioned(env_id):
            goals = str((option["success"] or {}).get("_target_")).endswith(".GoalReached")
            shared = ("sensor_groups", "signals", "success") if goals else ("sensor_groups",)
            return {key: option[key] for key in shared}
    return {}


def _unversioned(env_id: str) -> str:
    return env_id.rpartition("-v")[0] or env_id
