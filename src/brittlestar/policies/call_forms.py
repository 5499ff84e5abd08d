"""Forms of a policy that the user writes: its arguments, one observation or a batch, with or without a state."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import numpy as np

from brittlestar.envs.batches import as_batch, copy_batch
from brittlestar.errors import UserError

SB3_ARGUMENTS = ("state", "episode_start", "deterministic")
MASK_ARGUMENT = "action_masks"
_OLD_NAMES = {"mask": "episode_start"}
"""Names of arguments in old versions of Stable-Baselines3."""
_METHODS = ("predict", "act")
"""Methods that choose actions, in the order in which they are taken; any other object is called."""


@dataclass(frozen=True)
class CallForm:
    """How to call a policy of the user, and what it returns."""

    arguments: tuple[str, ...] = ()
    """Names of the arguments behind the observation."""
    batch: bool = False
    """Whether it takes and returns a batch."""
    tensors: bool = False
    """Whether it takes tensors of torch."""
    returns_state: bool = False
    """Whether it returns `(action, state)`."""

    def call(self, function: Callable[..., Any], observation: Any, values: dict[str, Any]) -> Any:
        """Calls the policy for one lane, with an observation that it may change."""
        row = as_batch(observation) if self.batch else observation
        if self.batch and values[MASK_ARGUMENT] is not None:
            values = values | {MASK_ARGUMENT: values[MASK_ARGUMENT][None]}
        return self.call_with(function, copy_batch(row), values)

    def call_with(self, function: Callable[..., Any], observation: Any, values: dict[str, Any]) -> Any:
        """Calls the policy with an observation as it is; `values` has the other arguments, those of one lane."""
        arguments = {name: values.get(_OLD_NAMES.get(name, name)) for name in self.arguments}
        return function(_tensors(observation) if self.tensors else observation, **arguments)

    def describe(self, label: str, given: str) -> str:
        """Returns the form in words; `label` is the name of the function, `given` is what it is called with."""
        call = f"{label}({', '.join(['observation', *self.arguments])})"
        return f"called as {call} with {given}, it returns {'(action, state)' if self.returns_state else 'an action'}"


def entry_point(thing: Any) -> tuple[str, Callable[..., Any]]:
    """Returns the name and the function by which an object acts.

    Example:
        >>> entry_point(abs)
        ('abs', <built-in function abs>)
    """
    for name in _METHODS:
        method = getattr(thing, name, None)
        if callable(method):
            return name, method
    return getattr(thing, "__name__", type(thing).__name__), thing


def argument_choices(function: Callable[..., Any], name: str) -> list[tuple[str, ...]]:
    """Returns which arguments may follow the observation, by the signature, the likeliest choice first.

    Example:
        >>> argument_choices(lambda observation, deterministic=True: None, "it")
        [('deterministic',)]
        >>> argument_choices(lambda state: None, "it")
        [()]
    """
    try:
        # A network of torch passes everything on to `forward`.
        parameters = list(inspect.signature(getattr(function, "forward", function)).parameters.values())
    except (TypeError, ValueError):  # Some callables in C have no signature.
        return [(), SB3_ARGUMENTS]
    # The first one is the observation, whatever its name.
    if not parameters or parameters[0].kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
        raise UserError(f"{name} must take an observation as its first argument")
    rest = [p for p in parameters[1:] if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    named = [p.name for p in rest if p.kind is not Parameter.POSITIONAL_ONLY and _is_known(p.name, rest)]
    for parameter in rest:
        if parameter.default is Parameter.empty and parameter.name not in named:
            valid = ", ".join((*SB3_ARGUMENTS, MASK_ARGUMENT))
            raise UserError(f"{name} needs the argument `{parameter.name}`; behind the observation it may take {valid}")
    if parameters[-1].kind is Parameter.VAR_KEYWORD:
        return [tuple(dict.fromkeys([*named, *SB3_ARGUMENTS])), tuple(named)]
    return [tuple(named)]


def _is_known(name: str, parameters: list[Parameter]) -> bool:
    # A mask next to a state is that of old versions; any other may be one of actions.
    return name in (*SB3_ARGUMENTS, MASK_ARGUMENT) or (
        name in _OLD_NAMES and any(p.name == "state" for p in parameters)
    )


def possible_forms(function: Callable[..., Any], choices: list[tuple[str, ...]], batch: bool) -> list[CallForm]:
    """Returns the forms of a function with these arguments, see `argument_choices`, the likeliest first."""
    kinds = [False]
    if _is_network(function):
        kinds = [True]
    elif _is_network(getattr(function, "__self__", None)):
        kinds = [False, True]
    return [CallForm(arguments, batch, tensors) for tensors in kinds for arguments in choices]


def read_answer(
    answer: Any, shape: tuple[int, ...], exact: bool, returns_state: bool = False
) -> tuple[np.ndarray, Any, bool] | None:
    """Returns the action of shape `shape`, the state, and whether there was one; None if no action has that shape.

    Axes of length 1 do not matter, unless `exact`: a single number is an action of shape `(1,)`. `returns_state` is
    known from an earlier answer.

    Example:
        >>> read_answer((0.5, None), (1,), exact=False)
        (array([0.5]), None, True)
        >>> read_answer((0.5, -0.5), (2,), exact=False)
        (array([ 0.5, -0.5]), None, False)
    """
    whole = None if returns_state else _fitted(to_array(answer), shape, exact)
    if whole is not None:
        return whole, None, False
    if isinstance(answer, tuple) and len(answer) == 2:
        action = _fitted(to_array(answer[0]), shape, exact)
        return None if action is None else (action, answer[1], True)
    return None


def to_array(value: Any) -> np.ndarray | None:
    """Returns numbers, or a tensor of torch, as an array; None for anything else."""
    try:
        array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except (ValueError, TypeError, RuntimeError):
        return None
    return array if array.dtype.kind in "biuf" else None


def shape_text(answer: Any) -> str:
    """Describes what was returned in place of an action: its shape, or its type.

    Example:
        >>> shape_text((np.zeros(3), None)), shape_text("left")
        ('(shape (3,), NoneType)', 'str')
    """
    array = to_array(answer)
    if array is None and isinstance(answer, tuple):
        return f"({', '.join(shape_text(part) for part in answer)})"
    return type(answer).__name__ if array is None else f"shape {array.shape}"


def _fitted(array: np.ndarray | None, shape: tuple[int, ...], exact: bool) -> np.ndarray | None:
    if array is None or array.shape == shape:
        return array
    same = not exact and [size for size in array.shape if size != 1] == [size for size in shape if size != 1]
    return array.reshape(shape) if same else None


def _is_network(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


def _tensors(row: Any) -> Any:
    import torch

    if isinstance(row, dict):
        return {key: _tensors(part) for key, part in row.items()}
    return torch.as_tensor(np.array(row), dtype=torch.float32)
