"""Policies from functions, classes and objects of the user."""

import difflib
import functools
import importlib
import inspect
import os
import pkgutil
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.envs.batches import take_row
from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import (
    DelegatingPolicy,
    Observation,
    Policy,
    Prediction,
    Starts,
    StatelessPolicy,
    count_lanes,
    takes_masks,
)
from brittlestar.randomness import LaneDraws


@dataclass
class CallablePolicy(DelegatingPolicy):
    """Acts by a function, a class or an object that it imports by path.

    Example:
        >>> policy = CallablePolicy("numpy:tanh", batched=True)
        >>> policy.predict(np.zeros((2, 1)))[0].tolist()
        [[0.0], [0.0]]
    """

    path: str
    """`package.module:attribute` or `package.module.attribute`."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the class, or more arguments of the function."""
    batched: bool = False
    """Whether a function takes all lanes at once; otherwise it is called lane by lane."""

    def __post_init__(self) -> None:
        self._policy = as_policy(_build(self.path, self.kwargs), self.batched, f"`{self.path}`")


def as_policy(thing: Any, batched: bool = False, name: str = "the policy") -> Policy:
    """Turns a policy, an object with `predict`, or a plain callable into a `Policy`.

    Args:
        thing: the policy, object or callable.
        batched: whether a plain callable takes all lanes at once.
        name: its name in error messages.

    Example:
        >>> policy = as_policy(lambda observation: -observation)
        >>> policy.predict(np.ones((2, 1)))[0].tolist()
        [[-1.0], [-1.0]]
    """
    if isinstance(thing, Policy):
        return thing
    if not isinstance(thing, type):
        if callable(getattr(thing, "predict", None)):
            return _PredictPolicy(thing, name)
        if callable(thing):
            return _FunctionPolicy(thing, name, batched)
    raise UserError(f"{name} must be a function or an object with `predict` or `__call__`, got {thing!r:.80}")


@dataclass
class _ForeignPolicy(Policy):
    """Checks the actions that code of the user returns."""

    thing: Any
    name: str
    space: Space | None = field(default=None, init=False)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self.space = action_space

    def _checked(self, action: Any, *lanes: int) -> np.ndarray:
        array, space = np.asarray(action), self.space
        if space is None:
            return array
        shape = (*lanes, *(space.shape or ()))
        if array.shape != shape:
            raise UserError(f"{self.name} must return actions of shape {shape}, got shape {array.shape}")
        if array.dtype.kind not in "biu" and np.issubdtype(space.dtype, np.integer):
            raise UserError(f"{self.name} must return integers for {describe_space(space)}, got {array.dtype}")
        return array.astype(space.dtype, copy=False)


@dataclass
class _FunctionPolicy(_ForeignPolicy, StatelessPolicy):
    batched: bool

    def act(self, observation: Observation) -> np.ndarray:
        lanes = count_lanes(observation)
        if self.batched:
            return self._checked(self.thing(observation), lanes)
        return np.stack([self._checked(self.thing(take_row(observation, lane))) for lane in range(lanes)])


class _PredictPolicy(_ForeignPolicy):
    @functools.cached_property
    def wants_masks(self) -> bool:
        return takes_masks(self.thing.predict)

    def predict(self, observation: Observation, state: Any = None, episode_start: Starts = None,
                deterministic: bool = True, **kwargs: Any) -> Prediction:  # fmt: skip
        kwargs |= {"state": state, "episode_start": episode_start, "deterministic": deterministic}
        answer = self.thing.predict(observation, **kwargs)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise UserError(f"{self.name}: `predict` must return (actions, state), got {type(answer).__name__}")
        return self._checked(answer[0], count_lanes(observation)), answer[1]


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
        return importlib.import_module(name)
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
