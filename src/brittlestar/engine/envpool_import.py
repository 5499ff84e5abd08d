"""Imports the part of EnvPool that has an id, because all of it takes seconds.

EnvPool has no public way to do so: its `__init__` imports every suite. Here a package that runs `__init__` on first use
takes its place in `sys.modules`, and suites are imported by `envpool.SUITE.registration`. Where the installed EnvPool
has no such modules, or no `registration.registry.specs`, all of it is imported.
"""

import importlib
import importlib.util
import sys
import types
from typing import Any

from brittlestar.envs.backends import INSTALL_ENVPOOL, envpool_available
from brittlestar.envs.ids import similar_id
from brittlestar.errors import UserError

_SUITES = ("classic_control", "toy_text", "mujoco.gym", "mujoco.robotics")
"""Suites that import in a moment."""


def load_envpool(env_id: str) -> tuple[Any, str]:
    """Returns EnvPool's functions, and the suite that has an id; an empty suite where EnvPool does not name it."""
    if not envpool_available():
        raise UserError(f"`env.backend=envpool` needs EnvPool: {INSTALL_ENVPOOL}")
    try:
        envpool, suite = _load_suite(env_id)
    except (ImportError, AttributeError):
        # The package of this module runs EnvPool's `__init__` as soon as a function is looked up in it.
        envpool, suite = importlib.import_module("envpool"), ""
    if env_id not in envpool.list_all_envs():
        similar = similar_id(env_id, envpool.list_all_envs())
        hint = f"did you mean `{similar}`?" if similar else "take `env.backend=gymnasium`"
        raise UserError(f"`env.id` {env_id!r}: EnvPool has no such id; {hint}")
    return envpool, suite


def _load_suite(env_id: str) -> tuple[Any, str]:
    if "envpool" not in sys.modules:
        sys.modules["envpool"] = _lazy_package()
    registration = importlib.import_module("envpool.registration")
    specs = registration.registry.specs
    for module in (*(f"{suite}.registration" for suite in _SUITES), "entry"):
        if env_id in specs:
            break
        importlib.import_module(f"envpool.{module}")
    return registration, str(specs[env_id][0]).removeprefix("envpool.") if env_id in specs else ""


def _lazy_package() -> types.ModuleType:
    """Returns a package with EnvPool's modules that runs EnvPool's `__init__` when one of its attributes is used."""
    spec = importlib.util.find_spec("envpool")
    assert spec is not None
    package = types.ModuleType("envpool")
    package.__spec__, package.__file__ = spec, spec.origin
    package.__path__ = list(spec.submodule_search_locations or ())

    def load(name: str) -> Any:
        if name.startswith("__") or spec.loader is None:
            raise AttributeError(f"module 'envpool' has no attribute {name!r}")
        del package.__getattr__
        spec.loader.exec_module(package)
        return getattr(package, name)

    package.__getattr__ = load  # type: ignore[method-assign]
    return package
