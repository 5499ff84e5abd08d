"""Ids of environments: their module, name and version, and the packages that register them."""

import contextlib
import difflib
import importlib
import io
import re
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import gymnasium as gym

from brittlestar.config.imports import import_module_in_place
from brittlestar.errors import UserError

_ALIKE = 0.75
"""Similarity of two names, of at most 1, from which one is suggested for the other."""


class Package(NamedTuple):
    """A package that registers environments: the names of its ids, and those of pip and of Python."""

    ids: str
    pip: str
    module: str


PACKAGES = (
    Package(r"Panda(Reach|Push|Slide|PickAndPlace|Stack|Flip)\w*-v\d+", "panda-gym", "panda_gym"),
    Package(r"\w+BulletEnv-v\d+", "pybullet_envs_gymnasium", "pybullet_envs_gymnasium"),
    Package(r"(Fetch|Hand|Adroit|PointMaze|AntMaze|FrankaKitchen)\w*-v\d+", "gymnasium-robotics", "gymnasium_robotics"),
    Package(r"(MiniGrid|BabyAI)-.+", "minigrid", "minigrid"),
    Package(r"(highway|merge|roundabout|parking|intersection|racetrack)(-\w+)*-v\d+", "highway-env", "highway_env"),
    Package(r"dm_control/.+", "shimmy[dm-control]", "shimmy"),
)
"""Packages beyond Gymnasium whose ids are known; where one is installed, its ids need no `env.module`."""


def split_id(env_id: str) -> tuple[str | None, str]:
    """Returns the module that registers an id, if it names one, and the id itself.

    Example:
        >>> split_id("gymnasium_robotics:FetchReach-v4"), split_id("CartPole-v1")
        (('gymnasium_robotics', 'FetchReach-v4'), (None, 'CartPole-v1'))
    """
    module, _, name = env_id.rpartition(":")
    return module or None, name


def plain_env(node: dict[str, Any]) -> dict[str, Any]:
    """Returns the config node of an environment with the module of `module:Id` in `module`.

    Example:
        >>> plain_env({"id": "mine:Arm-v0", "module": None})
        {'id': 'Arm-v0', 'module': 'mine'}
    """
    module, env_id = split_id(str(node.get("id")))
    return node if module is None else node | {"id": env_id, "module": module}


def family(env_id: str) -> str:
    """Returns an id without its version.

    Example:
        >>> family("LunarLander-v2"), family("CartPole")
        ('LunarLander', 'CartPole')
    """
    return re.sub(r"-v\d+$", "", env_id)


def package_of(env_id: str) -> Package | None:
    """Returns the package that registers an id, if it is a known one.

    Example:
        >>> package_of("PandaReach-v1").pip
        'panda-gym'
    """
    return next((package for package in PACKAGES if re.fullmatch(package.ids, env_id)), None)


def register_id(env_id: str, module: str | None = None) -> None:
    """Imports the module that registers an id: the user's, or an installed package of `PACKAGES`."""
    if module is not None:
        import_env_module(module)
    if env_id in gym.registry:
        return
    if "/" not in env_id:
        _register_package("gymnasium_robotics")
    package = package_of(env_id)
    if package is not None:
        _register_package(package.module)


def _register_package(name: str) -> None:
    # gymnasium-robotics prints advice about Adroit when it is imported.
    with contextlib.suppress(ImportError), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gym.register_envs(importlib.import_module(name))


def import_env_module(module: str) -> None:
    """Imports the module that the user names in `env.module`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module_in_place(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if module != missing and not module.startswith(f"{missing}."):
            raise UserError(f"`env.module`: importing `{module}` failed: {error}") from None
        pip = next((package.pip for package in PACKAGES if package.module == module), None)
        hint = f"`pip install {pip}`" if pip else "install its package, or add its folder to PYTHONPATH"
        raise UserError(f"`env.module`: there is no module `{module}`; {hint}") from None
    except Exception as error:
        line = " ".join(str(error).split())
        raise UserError(f"`env.module`: importing `{module}` failed: {type(error).__name__}: {line}") from None


def is_known(env_id: str) -> bool:
    """Returns whether any version of an id is registered, or belongs to a known package.

    Example:
        >>> is_known("LunarLander-v2"), is_known("model-v2")
        (True, False)
    """
    register_id(env_id)
    return bool(versions_of(env_id)) or package_of(env_id) is not None


def first_known(names: Iterable[str]) -> str | None:
    """Returns the first id that is known, see `is_known`; None without one.

    Example:
        >>> first_known(["model-v2", "Hopper-v3"])
        'Hopper-v3'
    """
    return next((split_id(name)[1] for name in names if is_known(split_id(name)[1])), None)


def versions_of(env_id: str) -> list[str]:
    """Returns the registered ids of all versions of an environment, the newest last.

    Example:
        >>> versions_of("LunarLander-v2")
        ['LunarLander-v3']
    """
    specs = [spec for spec in gym.registry.values() if family(spec.id) == family(env_id)]
    return [spec.id for spec in sorted(specs, key=lambda spec: spec.version or 0)]


def similar_id(env_id: str, ids: Iterable[str]) -> str | None:
    """Returns an id whose name is nearly the same, with the same version if there is one; None if there is none.

    Example:
        >>> similar_id("CartPol-v1", ["CartPole-v0", "CartPole-v1"]), similar_id("PandaReach-v1", ["FetchReach-v1"])
        ('CartPole-v1', None)
    """
    names: dict[str, list[str]] = {}
    for valid in ids:
        names.setdefault(_core(valid), []).append(valid)
    close = difflib.get_close_matches(_core(env_id), names, n=1, cutoff=_ALIKE)
    version = env_id.removeprefix(family(env_id))
    return max(names[close[0]], key=lambda valid: (valid.endswith(version), valid)) if close else None


def registered_limit(env_id: str) -> int | None:
    """Returns the time limit, in steps, that an id is registered with; None for an unknown id or no limit.

    Example:
        >>> registered_limit("CartPole-v1")
        500
    """
    register_id(env_id)
    spec = gym.registry.get(env_id)
    return spec.max_episode_steps if spec else None


def _core(env_id: str) -> str:
    """Returns the part of an id that it does not share with all others of its package."""
    return re.sub(r"(NoFrameskip|Deterministic)$", "", family(env_id))
