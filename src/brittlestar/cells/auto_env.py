"""`env=auto`: the environment that a checkpoint was trained in."""

import functools
from collections.abc import Collection
from pathlib import Path
from typing import Any

from brittlestar.cells.known_env import known_env, shared_by_versions, shipped_envs, user_settings, with_settings
from brittlestar.checkpoints import find_statistics, read_folder, read_statistics
from brittlestar.checkpoints.env_names import env_arguments, env_names
from brittlestar.config.build import locate
from brittlestar.envs.ids import first_known, import_env_module, plain_env
from brittlestar.errors import UserError

AUTO = "auto"
_ANT_CONTACTS = slice(27, 111)


def resolve_env(env: dict[str, Any], policy: dict[str, Any], named: Collection[str] = ()) -> dict[str, Any]:
    """Returns the config of the environment that a policy was trained in.

    A class of policies may name it by static methods, see `env_of_policy`; otherwise it is read from the file or
    folder `path`. `env` is the option `auto` with the user's settings, and `named` has keys that the user set, even
    if to their defaults.

    Example:
        >>> resolve_env({"id": "auto"}, {"path": "agents/CartPole-v1.zip"})["id"]
        'CartPole-v1'
    """
    settings = user_settings(env, shipped_envs()[AUTO], named)
    own = env_of_policy(policy)
    if own is not None:
        return with_settings(own[1], settings)
    path = policy.get("path")
    if not isinstance(path, str):
        raise UserError("`env=auto` takes the environment from `policy.path`, but this policy has none")
    if env.get("module"):
        import_env_module(env["module"])
    trained_in = plain_env({"id": trained_id(path, env.get("module"))})
    if trained_in.get("module") not in (None, env.get("module")) and not policy.get("trust"):
        _refuse_module(path, trained_in, "trust" in policy)
    option = known_env(trained_in["id"])[1] | trained_in
    arguments = env_arguments(path)
    if arguments:
        # The rewards may be others than those that the success and the reference returns of the option are made for.
        option |= {"success": None, "returns": {"random": None, "reference": None}, "kwargs": arguments}
        option |= shared_by_versions(option | {"success": known_env(option["id"])[1]["success"]})
    if option["id"] == "Ant-v3":
        option["kwargs"] = {"post_constraint": _saw_contacts(path)} | arguments
    return with_settings(option, settings)


def _refuse_module(path: str, env: dict[str, Any], has_switch: bool) -> None:
    """Refuses to import a module that only the files of an agent, or a server, name."""
    switch = "`policy.trust=true` or " * has_switch
    ways = f"if you trust its code, add {switch}`env=gym env.id={env['module']}:{env['id']}`"
    raise UserError(f"{path} names the environment {env['id']} of the module `{env['module']}`: {ways}")


def named_by_policy(policy: dict[str, Any]) -> str:
    """Returns the id of the environment that the class of a policy names; empty for a class that names none."""
    kind: Any = locate(policy["_target_"], "policy") if "_target_" in policy else None
    return str(kind.trained_env(policy)) if hasattr(kind, "trained_env") else ""


def env_of_policy(policy: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Returns the option and the config of the environment that the class of a policy names; None if it names none.

    The static method `trained_env(node) -> str` gives an id. `trained_option(node) -> str` gives an option of the group
    `env`, which may have cameras.
    """
    env_id = named_by_policy(policy)
    if not env_id:
        return None
    kind: Any = locate(policy["_target_"], "policy")
    if ":" in env_id and hasattr(kind, "outside_identity"):
        # Another program names the module, and an import would run its code.
        _refuse_module(str(policy.get("url")), plain_env({"id": env_id}), has_switch=False)
    option = kind.trained_option(policy) if hasattr(kind, "trained_option") else None
    # A server may announce an option of another environment, or one without any, such as `gym`.
    if option and shipped_envs()[option]["id"] == env_id:
        return option, shipped_envs()[option]
    return known_env(env_id)


@functools.cache
def trained_id(path: str, module: str | None = None) -> str:
    """Returns the environment id in the settings of rl-zoo, or in the names of a file and its folders.

    `module` is the one that registers it, already imported: the same names mean another id with another module.
    """
    names = env_names(path)
    if not names:
        layouts = "as `CartPole-v1.zip` or `CartPole-v1/ppo/model.zip` would"
        raise UserError(f"`env=auto`: {path} does not name its environment, {layouts}; choose it by `env=NAME`")
    return first_known(names) or names[0]


@functools.cache
def _saw_contacts(path: str) -> bool:
    """Whether Ant's contact forces varied in training; most versions of MuJoCo left them 0."""
    folder = Path(path).expanduser().is_dir()
    statistics = read_folder(path).statistics if folder else find_statistics(path)
    return statistics is not None and bool((read_statistics(statistics).var[""][_ANT_CONTACTS] > 1e-6).any())
