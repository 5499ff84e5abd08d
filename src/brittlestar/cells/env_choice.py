"""Which environment a cell runs in: the one that the user names, that of the policy, or that of the experiment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from brittlestar.cells.auto_env import AUTO, env_of_policy, named_by_policy, resolve_env, trained_id
from brittlestar.cells.known_env import (
    BY_HAND,
    complete_env,
    known_env,
    origin,
    shipped_envs,
    user_settings,
    with_settings,
)
from brittlestar.checkpoints.env_names import env_names
from brittlestar.envs.ids import family, first_known, plain_env, versions_of
from brittlestar.envs.refusals import wrong_env
from brittlestar.errors import UserError

_OF_ANY_ENV = ("max_steps", "backend", "lanes")
"""Settings that an experiment states for its environment, and that fit any other."""


class ForeignPolicyError(UserError):
    """A policy is to run in another environment than that of its training."""


class EnvChoice(NamedTuple):
    """The config of an environment, its name in tables, and notes on where they come from."""

    node: dict[str, Any]
    option: str | None
    notes: list[str]


def choose_env(config: dict[str, Any], choices: dict[str, Any], overrides: Sequence[str]) -> EnvChoice:
    """Returns the environment of a composed config; `choices` are the options of its groups.

    - `env=auto` is the environment that the policy was trained in.
    - A policy whose class names its environment, as those of the zoo, brings it in place of that of an experiment,
      unless the command names one.
    - `env=gym env.id=...` has success, returns and signals of the shipped option that knows the id.

    Settings of the user hold.
    """
    env, policy, option = config["env"], config.get("policy") or {}, choices.get("env")
    keys = [re.split("[=@]", text.lstrip("+~"))[0] for text in overrides]
    named = {key.removeprefix("env.") for key in keys if key.startswith("env.")}
    if env.get("id") == AUTO:
        if "policy" not in config:
            raise UserError("`env=auto` is the environment of a policy, and a training has none: add `env=NAME`")
        node, own = resolve_env(env, policy, named), env_of_policy(policy)
        is_variant = own is not None and own[0] != known_env(node["id"])[0]
        notes = [f"the policy was trained in `env={own[0]}`"] if own is not None and is_variant else origin(node, env)
        if node["kwargs"] not in (env.get("kwargs"), known_env(node["id"])[1]["kwargs"]):
            notes.append(f"{node['id']} is made with {node['kwargs']}, as in the training; `env.kwargs` changes that")
        return EnvChoice(node, node["id"], notes)
    if option == BY_HAND:
        node, notes = complete_env(env, named)
        return EnvChoice(node, node["id"], notes)
    if not {"env", "env.id"} & {*keys} and policy.get("adapter") is None:
        own = env_of_policy(policy)
        if own is not None and (own[1]["id"] != env.get("id") or _is_other_variant(own[0], option, env)):
            return _brought(own, env, choices, named)
    return EnvChoice(env, option, [])


def _is_other_variant(own: str, option: str | None, env: dict[str, Any]) -> bool:
    """Whether the environment is a shipped option that differs from that of the policy, say by its cameras."""
    shipped = shipped_envs()
    return own in shipped and option in shipped and own != option and shipped[option]["id"] == env.get("id")


def _brought(
    own_env: tuple[str, dict[str, Any]], env: dict[str, Any], choices: dict[str, Any], named: set[str]
) -> EnvChoice:
    """Returns the environment of a policy, in place of that of an experiment."""
    option = choices.get("env")
    own = user_settings(env, shipped_envs().get(str(option), env), named)
    tops = {key.partition(".")[0] for key in named}
    settings = {key: value for key, value in own.items() if key in (*_OF_ANY_ENV, *tops)}
    name, known = own_env
    place = known["id"] if known["id"] != env.get("id") else f"`env={name}`"
    note = f"{choices.get('policy')} runs in its own environment {place}, not in `env={option}` of the experiment"
    return EnvChoice(with_settings(known, settings), name or known["id"], [note])


def refuse_other_env(policy: Any, env_id: str) -> None:
    """Refuses a loaded policy in another environment than that of its training, unless it has an adapter."""
    trained_in: str | None = getattr(policy, "trained_in", None)
    if trained_in and getattr(policy, "adapter", None) is None:
        _refuse(policy.path, trained_in, env_id)


def notes_on_other_env(policy: Any, env_id: str) -> list[str]:
    """Returns a note on a file or server that names another environment, where no adapter would state it.

    `policy` is the config node of a policy.
    """
    if "adapter" in policy:
        return []
    place, named = policy.get("path"), ""
    if isinstance(place, str) and Path(place).expanduser().is_file():
        named = first_known(env_names(place)) or ""
    elif "url" in policy:
        place, named = policy["url"], named_by_policy(policy)
    if not named or _is_same(named, env_id):
        return []
    return [f"{place} names {named} and runs in {env_id}: another version is another environment"]


def _refuse(path: str, trained_in: str, env_id: str) -> None:
    if not _is_same(trained_in, env_id):
        raise ForeignPolicyError(wrong_env(path, trained_in, env_id))


def _is_same(trained_in: str, env_id: str) -> bool:
    # An id without a version is the newest one.
    newest = versions_of(env_id)[-1:] if family(env_id) == env_id else []
    return trained_in in (env_id, *newest)


def refuse_foreign_policy(config: dict[str, Any]) -> None:
    """Refuses a policy in another environment, before it is loaded, where its class or its files name its own."""
    policy, env_id = config["policy"], str(config["env"].get("id"))
    if policy.get("adapter", "") is not None:
        return
    path, trained_in = str(policy.get("path")), named_by_policy(policy)
    if trained_in:
        _refuse(policy.get("path") or f"zoo/{policy.get('name')}", trained_in, env_id)
    elif Path(path).expanduser().is_dir():
        _refuse(path, plain_env({"id": trained_id(path)})["id"], env_id)
    elif known := first_known(env_names(path)):
        _refuse(path, known, env_id)
