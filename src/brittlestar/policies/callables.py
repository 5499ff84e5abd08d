"""Policies from functions, classes and objects of the user."""

import difflib
import functools
import importlib
import inspect
import os
import pkgutil
from dataclasses import dataclass, field
from typing import Any

from brittlestar.config.imports import import_module_in_place
from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import DelegatingPolicy, Policy
from brittlestar.policies.call_forms import entry_point
from brittlestar.policies.sb3_loader import is_sb3_model, wrap_model
from brittlestar.policies.user_policy import BatchUserPolicy, UserPolicy


@dataclass
class CallablePolicy(DelegatingPolicy):
    """Acts by a function, a class or an object that it imports by path.

    Example:
        >>> import numpy as np
        >>> policy = CallablePolicy("numpy:tanh", batched=True)
        >>> policy.predict(np.zeros((2, 1)))[0].tolist()
        [[0.0], [0.0]]
    """

    path: str
    """`package.module:attribute` or `package.module.attribute`."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the class, or more arguments of the function."""
    batched: bool | None = None
    """False calls it with one observation, true with those of all lanes at once; null finds out whether it takes one
    observation or a batch, and calls it lane by lane."""

    def __post_init__(self) -> None:
        self._policy = as_policy(_build(self.path, self.kwargs), self.batched, f"`{self.path}`")


def as_policy(thing: Any, batched: bool | None = None, name: str = "the policy") -> Policy:
    """Turns a policy, a model of Stable-Baselines3, an object with `predict` or `act`, or a callable into a `Policy`.

    All common forms are accepted, see `UserPolicy`.

    Args:
        thing: the policy, object or callable.
        batched: False calls it with one observation, True with those of all lanes at once, None finds out.
        name: its name in error messages.

    Example:
        >>> import numpy as np
        >>> policy = as_policy(lambda observation: -observation)
        >>> policy.predict(np.ones((2, 1)))[0].tolist()
        [[-1.0], [-1.0]]
    """
    if isinstance(thing, Policy):
        return thing
    if is_sb3_model(thing):
        return wrap_model(thing, name)
    if not isinstance(thing, type) and callable(entry_point(thing)[1]):
        return BatchUserPolicy(thing, name) if batched else UserPolicy(thing, name, batched)
    hint = f": pass an object of it, such as `{thing.__name__}()`" if isinstance(thing, type) else ""
    kinds = "a function or an object with `predict`, `act` or `__call__`"
    raise UserError(f"{name} must be {kinds}, got {thing!r:.80}{hint}")


def _build(path: str, kwargs: dict[str, Any]) -> Any:
    thing = _find(path)
    if isinstance(thing, type):
        try:
            return thing(**kwargs)
        except TypeError as error:
            raise UserError(f"`kwargs` do not fit `{path}`: {error}") from error
    if not kwargs:
        return thing
    if inspect.isroutine(thing):
        return functools.partial(thing, **kwargs)
    kind = type(thing).__name__
    raise UserError(f"`kwargs` are for a class or a function, but `{path}` is an object of type {kind}")


def _find(path: str) -> Any:
    if os.sep in path:
        where = os.path.abspath(path)
        raise UserError(f"`path` must look like `package.module:attribute`, got the file name `{path}` ({where})")
    module_name, colon, attributes = path.partition(":")
    if not colon:
        module_name, _, attributes = path.rpartition(".")
    if not module_name or not attributes:
        raise UserError(f"`path` must look like `package.module:attribute`, got `{path}`")
    thing = _import(module_name)
    for attribute in attributes.split("."):
        if not hasattr(thing, attribute):
            names = [name for name in dir(thing) if not name.startswith("_")]
            raise UserError(f"`{module_name}` has no `{attributes}`; {nearest(attribute, names)}")
        thing = getattr(thing, attribute)
    return thing


def _import(name: str) -> Any:
    try:
        return import_module_in_place(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name != missing and not name.startswith(f"{missing}."):
            raise UserError(f"importing `{name}` failed: {error}") from error
        package, _, module = missing.rpartition(".")
        folders = getattr(importlib.import_module(package), "__path__", []) if package else None
        # A list of all importable modules would hide the message.
        close = difflib.get_close_matches(module, [info.name for info in pkgutil.iter_modules(folders)])
        hint = nearest(module, close) if close else "check the spelling and that its folder is on PYTHONPATH"
        raise UserError(f"there is no module `{missing}`; {hint}") from None
