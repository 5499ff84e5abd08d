"""Policies without weights: random, constant, and any function or object of the user's own."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import Observation, Policy
from brittlestar.randomness import LaneDraws

Space = spaces.Space[Any]


def describe(space: Space) -> str:
    """Names a space by kind and shape, short enough for an error message.

    Example:
        >>> describe(spaces.Box(-1.0, 1.0, (4,)))
        'Box(4,)'
        >>> describe(spaces.Dict({"goal": spaces.Box(-1.0, 1.0, (3,)), "mode": spaces.Discrete(2)}))
        'Dict(goal: Box(3,), mode: Discrete(2))'
    """
    if isinstance(space, spaces.Box):
        return f"Box{space.shape}"
    if isinstance(space, spaces.Dict):
        return f"Dict({', '.join(f'{key}: {describe(part)}' for key, part in space.spaces.items())})"
    return " ".join(str(space).split())


def count_lanes(observation: Observation) -> int:
    """Returns the length of the lane axis of an observation.

    Example:
        >>> count_lanes({"observation": np.zeros((5, 10)), "desired_goal": np.zeros((5, 3))})
        5
    """
    return len(next(iter(observation.values())) if isinstance(observation, dict) else observation)


class StatelessPolicy(Policy):
    """A policy that keeps nothing from step to step; a subclass writes `act`.

    Example:
        >>> class Halve(StatelessPolicy):
        ...     def act(self, observation):
        ...         return observation / 2
        >>> Halve().predict(np.ones((2, 1)))[0].tolist()
        [[0.5], [0.5]]
    """

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Returns the actions and the state as it came."""
        return self.act(observation), state

    def act(self, observation: Observation) -> np.ndarray:
        """Returns the actions, lane axis first."""
        raise NotImplementedError


class RandomPolicy(StatelessPolicy):
    """Draws every action uniformly from the action space; a number without bounds is standard normal.

    Example:
        >>> policy = RandomPolicy()
        >>> draws = LaneDraws(seed=0, stream="policy", lanes=3)
        >>> policy.bind(spaces.Box(-1.0, 1.0, (4,)), spaces.Discrete(2), draws)
        >>> policy.predict(np.zeros((3, 4)))[0].shape
        (3,)
    """

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Chooses how to draw from this kind of action space."""
        self._draws, self._dtype = draws, action_space.dtype
        self._sample = self._sampler(action_space)

    def act(self, observation: Observation) -> np.ndarray:
        """Draws one action per lane."""
        return self._sample().astype(self._dtype)

    def _sampler(self, space: Space) -> Callable[[], np.ndarray]:
        if isinstance(space, spaces.Box):
            return functools.partial(self._number, space)
        if isinstance(space, spaces.Discrete):
            return functools.partial(self._integer, (), space.start, space.n)
        if isinstance(space, spaces.MultiDiscrete):
            return functools.partial(self._integer, space.shape, space.start, space.nvec)
        if isinstance(space, spaces.MultiBinary):
            return functools.partial(self._integer, space.shape, 0, 2)
        raise UserError(f"random_policy cannot draw actions from {describe(space)}")

    def _integer(self, shape: tuple[int, ...], start: Any, count: Any) -> np.ndarray:
        return np.asarray(start + np.floor(self._draws.uniform(shape) * count))

    def _number(self, space: spaces.Box) -> np.ndarray:
        has_low, has_high = np.isfinite(space.low), np.isfinite(space.high)
        low = np.where(has_low, space.low, 0.0).astype(np.float64)
        high = np.where(has_high, space.high, 0.0).astype(np.float64)
        if np.issubdtype(self._dtype, np.integer):
            return self._integer(space.shape, low, high - low + 1.0)
        between = low + self._draws.uniform(space.shape) * (high - low)
        if (has_low & has_high).all():
            return np.asarray(between)
        normal = self._draws.normal(space.shape)
        inward = np.where(has_low, np.abs(normal), np.where(has_high, -np.abs(normal), normal))
        return np.where(has_low & has_high, between, low + high + inward)


@dataclass
class ConstantPolicy(StatelessPolicy):
    """Takes the same `action` at every step; one number stands for all components.

    Example:
        >>> policy = ConstantPolicy(0.5)
        >>> policy.bind(spaces.Box(-1.0, 1.0, (3,)), spaces.Box(-1.0, 1.0, (2,)), LaneDraws(0, "policy", 2))
        >>> policy.predict(np.zeros((2, 3)))[0].tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """

    action: float | list[float] = 0.0

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Spreads the action over the action space, and refuses one that does not fit."""
        wanted, shape = np.asarray(self.action), action_space.shape
        if shape is None or wanted.shape not in ((), shape):
            raise UserError(f"`action` must be one number or fit {describe(action_space)}, got {self.action}")
        wanted = np.broadcast_to(wanted, shape)
        # A value that the type cannot hold is reported below.
        with np.errstate(invalid="ignore"):
            self._value = wanted.astype(action_space.dtype)
        cut = np.issubdtype(self._value.dtype, np.integer) and not np.array_equal(self._value, wanted)
        if cut or not action_space.contains(self._value):
            raise UserError(f"`action` must lie in {' '.join(str(action_space).split())}, got {self.action}")

    def act(self, observation: Observation) -> np.ndarray:
        """Repeats the action for every lane."""
        return np.repeat(self._value[None], count_lanes(observation), axis=0)


@dataclass
class CallablePolicy(Policy):
    """Acts by a function, a class or an object that is found by its import path.

    Example:
        >>> policy = CallablePolicy("numpy:tanh", batched=True)
        >>> policy.predict(np.zeros((2, 1)))[0].tolist()
        [[0.0], [0.0]]
    """

    path: str
    """`package.module:attribute` or `package.module.attribute`."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the class, or further arguments of the function."""
    batched: bool = False
    """Whether a plain function takes all lanes at once; otherwise it is called lane by lane."""

    def __post_init__(self) -> None:
        self._policy = as_policy(_build(self.path, self.kwargs), self.batched, f"`{self.path}`")

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Passes the spaces on."""
        self._policy.bind(observation_space, action_space, draws)

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Returns what the function or object answers."""
        return self._policy.predict(observation, state, episode_start, deterministic)


def as_policy(thing: Any, batched: bool = False, name: str = "the policy") -> Policy:
    """Turns a policy, an object with `predict`, or a plain callable into a `Policy`.

    Args:
        thing: what acts.
        batched: whether a plain callable takes all lanes at once.
        name: what error messages call it.

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


class _ForeignPolicy(Policy):
    """Checks the actions that somebody else's code returns."""

    def __init__(self, thing: Any, name: str) -> None:
        self._thing, self._name = thing, name
        self._space: Space | None = None

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._space = action_space

    def _checked(self, action: Any, *lanes: int) -> np.ndarray:
        array, space = np.asarray(action), self._space
        if space is None:
            return array
        shape = (*lanes, *(space.shape or ()))
        if array.shape != shape:
            raise UserError(f"{self._name} must return actions of shape {shape}, got shape {array.shape}")
        if array.dtype.kind not in "biu" and np.issubdtype(space.dtype, np.integer):
            raise UserError(f"{self._name} must return integers for {describe(space)}, got {array.dtype}")
        return array.astype(space.dtype, copy=False)


class _FunctionPolicy(_ForeignPolicy, StatelessPolicy):
    def __init__(self, function: Callable[[Observation], Any], name: str, batched: bool) -> None:
        super().__init__(function, name)
        self._batched = batched

    def act(self, observation: Observation) -> np.ndarray:
        lanes = count_lanes(observation)
        if self._batched:
            return self._checked(self._thing(observation), lanes)
        return np.stack([self._checked(self._thing(_row(observation, lane))) for lane in range(lanes)])


class _PredictPolicy(_ForeignPolicy):
    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        answer = self._thing.predict(
            observation, state=state, episode_start=episode_start, deterministic=deterministic
        )
        if not isinstance(answer, tuple) or len(answer) != 2:
            got = type(answer).__name__
            raise UserError(f"{self._name}: `predict` must return (actions, state), got {got}")
        return self._checked(answer[0], count_lanes(observation)), answer[1]


def _row(observation: Observation, lane: int) -> Observation:
    if isinstance(observation, dict):
        return {key: array[lane] for key, array in observation.items()}
    return observation[lane]


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
    got = type(thing).__name__
    raise UserError(f"`kwargs` are for a class or a function, but `{path}` is an object of type {got}")


def _find(path: str) -> Any:
    module_name, colon, attributes = path.partition(":")
    if not colon:
        module_name, _, attributes = path.rpartition(".")
    if not module_name or not attributes:
        raise UserError(f"`path` must look like `package.module:attribute`, got `{path}`")
    thing = _import(module_name)
    for attribute in attributes.split("."):
        if not hasattr(thing, attribute):
            names = [name for name in dir(thing) if not name.startswith("_")]
            raise UserError(f"`{module_name}` has no `{attributes}`; {_hint(attribute, names)}")
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
        siblings = [info.name for info in pkgutil.iter_modules(folders)]
        raise UserError(f"there is no module `{missing}`; {_hint(module, siblings)}") from None


def _hint(name: str, valid: Iterable[str]) -> str:
    # A list of everything that can be imported would hide the message.
    hint = nearest(name, list(valid))
    return hint if len(hint) < 200 else "check the spelling and that its folder is on PYTHONPATH"
