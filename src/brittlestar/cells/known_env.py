"""What the shipped options of the group `env` know about a registered id, and what a user set on top of an option."""

import functools
from collections.abc import Collection
from typing import Any, cast

from brittlestar.config import MISSING, options
from brittlestar.config.yaml_files import read_option
from brittlestar.envs.atari import is_atari
from brittlestar.envs.ids import family

BY_HAND = "gym"
"""The option for any registered id."""
_MEASURING = ("success", "returns", "signals", "default_action", "sensor_groups")
"""Keys that an environment named by hand takes from the shipped option of its id."""
_BY_LEAF = ("returns", "signals")
"""Keys that hold several settings, which a user sets one by one."""
_ATARI = "pong"


@functools.cache
def shipped_envs() -> dict[str, dict[str, Any]]:
    """Returns the config of every shipped option, by its name."""
    from omegaconf import OmegaConf

    nodes = {name: OmegaConf.to_container(read_option("env", name)) for name in options("env")}
    return cast("dict[str, dict[str, Any]]", nodes)


@functools.cache
def known_env(env_id: str) -> tuple[str, dict[str, Any]]:
    """Returns the name of the option that knows an id, and a config for this id.

    The option has the same id, or that of another version; else the name is empty, and the config that of `gym` (that
    of Pong for other Atari games).

    Example:
        >>> known_env("CartPole-v1")[0], known_env("FetchReach-v1")[0], known_env("LunarLander-v3")[0]
        ('cartpole', 'fetch_reach', '')
    """
    same = [(name, node) for name, node in shipped_envs().items() if node["id"] == env_id]
    if same:
        return same[0]
    like = shipped_envs()[_ATARI if is_atari(env_id) else BY_HAND]
    config = like | {"id": env_id, "returns": {"random": None, "reference": None}}
    for name, node in shipped_envs().items():
        if node["id"] != MISSING and family(node["id"]) == family(env_id):
            return name, config | shared_by_versions(node)
    return "", config


def user_settings(env: dict[str, Any], option: dict[str, Any], named: Collection[str] = ()) -> dict[str, Any]:
    """Returns what a user set on top of an option: values that differ from it, and keys that the command names.

    Example:
        >>> user_settings({"id": "Ant-v5", "max_steps": 9, "success": None}, {"max_steps": None, "success": None})
        {'max_steps': 9}
    """
    settings: dict[str, Any] = {}
    for key, value in env.items():
        if key in _BY_LEAF and isinstance(value, dict) and isinstance(option.get(key), dict):
            leaves = {k: v for k, v in value.items() if v != option[key].get(k) or {key, f"{key}.{k}"} & {*named}}
            settings |= {key: leaves} if leaves else {}
        elif key not in ("id", "_target_"):
            is_named = any(name == key or name.startswith(f"{key}.") for name in named)
            settings |= {key: value} if is_named or value != option.get(key) else {}
    return settings


def with_settings(option: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Returns an option with the settings of the user, see `user_settings`."""
    leaves = {key: option[key] | settings[key] for key in _BY_LEAF if isinstance(settings.get(key), dict)}
    return option | settings | leaves


def complete_env(env: dict[str, Any], named: Collection[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """Returns the config of an environment that is named by hand, with what a shipped option knows, and a note on it.

    Settings of the user hold. Where they change the rewards (`kwargs`, `max_steps`), only sensors and goals are taken.

    Example:
        >>> env, notes = complete_env(shipped_envs()["gym"] | {"id": "CartPole-v1"})
        >>> env == shipped_envs()["cartpole"] | {"lanes": 16}, notes[0][:32]
        (True, 'CartPole-v1 has success, returns')
    """
    (name, known), settings = known_env(str(env["id"])), user_settings(env, shipped_envs()[BY_HAND], named)
    if not name:
        return env, []
    is_changed = bool({"kwargs", "max_steps"} & settings.keys())
    source = shared_by_versions(known) if is_changed else known
    # A key that the command deletes is not in the config.
    added = {key: source[key] for key in _MEASURING if key in source and (key in env or key not in named)}
    complete = with_settings(env | added, settings)
    notes = origin(complete, env)
    if is_changed:
        notes = [f"{note}, not its rewards, because `env.kwargs` or `env.max_steps` is set" for note in notes]
    return complete, [f"{note}; a key that you set holds, such as `env.success=null`" for note in notes]


def origin(env: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Returns a note on what a config has of the shipped option that knows its id; `before` is without it.

    Example:
        >>> origin(known_env("Hopper-v3")[1], shipped_envs()["auto"])
        ['Hopper-v3 has sensor_groups of `env=hopper`']
    """
    name, taken = known_env(env["id"])[0], [key for key in _MEASURING if key in env and env[key] != before.get(key)]
    return [f"{env['id']} has {', '.join(taken)} of `env={name}`"] if name and taken else []


def shared_by_versions(option: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings that all versions of an environment share: sensors and goals, but not rewards."""
    goals = str((option["success"] or {}).get("_target_")).endswith(".GoalReached")
    return {key: option[key] for key in (("sensor_groups", "signals", "success") if goals else ("sensor_groups",))}
