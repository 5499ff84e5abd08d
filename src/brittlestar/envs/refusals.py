"""Why an environment cannot be made, or is not that of an agent: one line with what to do."""

import importlib.util
import warnings
from collections.abc import Iterable

import gymnasium as gym

from brittlestar.envs.backends import INSTALL_ENVPOOL, envpool_available, is_old
from brittlestar.envs.ids import package_of, register_id, similar_id, versions_of
from brittlestar.errors import UserError

_EXTRAS = {"gymnasium.envs.box2d.": "box2d", "gymnasium.envs.mujoco.": "mujoco"}
"""Start of the entry point of an environment, to the extra of Gymnasium that it needs."""
_MISSING_PACKAGE = gym.error.DependencyNotInstalled | ModuleNotFoundError
"""Any other `ImportError` is raised by an environment that refuses the installed versions."""
_ADAPTERS = "`policy.adapter=same` if both have the same observations (or `pad`, `ant_v3`)"


def refusal(env_id: str, error: Exception) -> UserError:
    """Returns the error of an id that `gymnasium.make` refused with `error`."""
    others, package = versions_of(env_id), package_of(env_id)
    if is_old(env_id):
        envpool = f"evaluate it with EnvPool ({INSTALL_ENVPOOL})"
        return UserError(f"`env.id` {env_id!r} cannot be made by Gymnasium any more: {envpool}, or {_newest(others)}")
    if env_id in gym.registry:
        reason = _reason(env_id, error)
        has_newer = others[-1] != env_id and not reason.startswith("needs")
        return UserError(f"`env.id` {env_id!r} {reason}" + (f"; {_newest(others)}" if has_newer else ""))
    if others:
        return UserError(f"`env.id` {env_id!r} does not exist: {_newest(others)}")
    if package is not None and importlib.util.find_spec(package.module.partition(".")[0]) is None:
        return UserError(f"`env.id` {env_id!r} needs {package.pip}: `pip install {package.pip}`")
    return UserError(f"`env.id` {env_id!r} does not exist; {suggestion(env_id, gym.registry)}")


def suggestion(env_id: str, ids: Iterable[str]) -> str:
    """Returns the id that the user may mean, or how to register one of another package.

    Example:
        >>> suggestion("CartPol-v1", ["CartPole-v1"])
        'did you mean `CartPole-v1`?'
    """
    similar = similar_id(env_id, ids)
    module = "if a package of yours registers it, name its module: `env.module=my_package`"
    return f"did you mean `{similar}`?" if similar else module


def wrong_env(path: str, trained_in: str, env_id: str) -> str:
    """Returns the message about an agent in another environment than that of its training."""
    ways = f"take `env=auto`, or set {_ADAPTERS}"
    if is_old(trained_in) and not envpool_available():
        ways = f"set {_ADAPTERS}; {trained_in} itself needs EnvPool ({INSTALL_ENVPOOL})"
    elif not is_old(trained_in) and _try(trained_in) is not None:
        ways = f"set {_ADAPTERS}; {trained_in} itself cannot be made here"
    error = None if is_old(env_id) or env_id not in gym.registry else _try(env_id)
    ways += f"; {env_id} {_reason(env_id, error)}" if error else ""
    return f"{path} was trained in {trained_in}, not in {env_id}: {ways}"


def one_line(error: Exception) -> str:
    """Returns the text of an error without line breaks."""
    return " ".join(str(error).split())


def _newest(others: list[str]) -> str:
    """Returns the advice to take the newest version, and what else an agent then needs."""
    newest = others[-1]
    error = _try(newest)
    agents = f"an agent of another version then needs {_ADAPTERS}"
    next_refusal = f"; {newest} {_reason(newest, error)}" if error else ""
    return f"take the newest version `{newest}`, which is not the same environment: {agents}{next_refusal}"


def _reason(env_id: str, error: Exception) -> str:
    """Returns which package a registered environment lacks, or why else it cannot be made."""
    if not isinstance(error, _MISSING_PACKAGE):
        return f"cannot be made: {one_line(error)}"
    entry, package = str(gym.registry[env_id].entry_point), package_of(env_id)
    extra = next((extra for start, extra in _EXTRAS.items() if entry.startswith(start)), None)
    pip = f"gymnasium[{extra}]" if extra else package.pip if package else None
    return f"needs {extra or pip}: `pip install {pip}`" if pip else f"cannot be made: {one_line(error)}"


def _try(env_id: str) -> Exception | None:
    """Makes an environment, and returns the error if that fails."""
    register_id(env_id)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gym.make(env_id, disable_env_checker=True).close()
    except Exception as error:
        # An environment of any package may fail in its own way.
        return error
    return None
