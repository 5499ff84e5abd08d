"""Settings of the algorithm on the command line, before those of the environment."""

import copy
from collections.abc import Sequence
from typing import Any

from brittlestar.envs.ids import plain_env


def prefer_explicit(config: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Returns a resolved config in which overrides of `algo` hold in its environment, too.

    `by_env` replaces the defaults of an algorithm in one environment. What the user sets is no default, so it replaces
    the entry of `by_env`.

    Example:
        >>> algo = {"options": {"gamma": 0.5}, "by_env": {"Ant-v5": {"gamma": 0.99, "envs": 1}}}
        >>> prefer_explicit({"env": {"id": "Ant-v5"}, "algo": algo}, ["+algo.options.gamma=0.5"])["algo"]["by_env"]
        {'Ant-v5': {'gamma': 0.5, 'envs': 1}}
    """
    env = plain_env(config["env"]).get("id")
    if not (config["algo"].get("by_env") or {}).get(env):
        return config
    algo = copy.deepcopy(config["algo"])
    for path in _paths(overrides):
        is_option = path[0] == "options"
        _copy_value(algo["options"] if is_option else algo, algo["by_env"][env], path[1:] if is_option else path)
    return config | {"algo": algo}


def _paths(overrides: Sequence[str]) -> list[list[str]]:
    """Returns the keys below `algo` that overrides set."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    paths = []
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        group, *path = override.key_or_group.split(".")
        if group != "algo" or not path or override.is_delete():
            continue
        value = override.value()
        # Hydra merges a dict into the options.
        several = path == ["options"] and isinstance(value, dict)
        paths += [["options", str(key)] for key in value] if several else [path]  # type: ignore[union-attr]
    return paths


def _copy_value(source: Any, target: dict[str, Any], path: Sequence[str]) -> None:
    """Copies the value of a nested key, if the target has its first key."""
    first, *rest = path
    if first not in target:
        return
    if rest and isinstance(source[first], dict) and isinstance(target[first], dict):
        # Below an option, a key that the environment does not set is added.
        target[first].setdefault(rest[0], None)
        _copy_value(source[first], target[first], rest)
    else:
        target[first] = copy.deepcopy(source[first])
