"""Rebuilds numpy arrays, scalars and dtypes of a pickle from bytes that are already in memory."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

MAX_ITEMS = 1 << 28
"""Most entries of one array."""
MAX_DIMENSIONS = 32

_NUMBERS = re.compile(r"[<>=|]?(?:b1|[iu][1248]|f[248]|c8|c16|[SU][1-9][0-9]{0,4})")
_ORDERS = ("<", ">", "=", "|")


@dataclass(eq=False)
class Pending:
    """An array or dtype whose state follows in a later opcode; `memo` lists its keys in the memo."""

    kind: str
    build: Callable[[Any], Any]
    memo: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class OtherType:
    """A dtype that is not supported, such as `object`; its arrays have no content."""

    name: str


DataType = np.dtype[Any] | OtherType


def array_calls() -> dict[str, Callable[[tuple[Any, ...]], Any]]:
    """Returns numpy's unpickling functions by their names in old and new versions."""
    calls: dict[str, Callable[[tuple[Any, ...]], Any]] = {"numpy.dtype": _dtype}
    for core in ("numpy.core", "numpy._core"):
        calls[f"{core}.multiarray._reconstruct"] = _reconstruct
        calls[f"{core}.multiarray.scalar"] = _scalar
        calls[f"{core}.numeric._frombuffer"] = _frombuffer
    return calls


def checked_shape(shape: Any) -> tuple[int, ...]:
    """Returns the shape of an array; refuses sizes that are negative, fractional or too large.

    Example:
        >>> checked_shape((2, 3))
        (2, 3)
        >>> checked_shape((-1,))
        Traceback (most recent call last):
        ValueError: shape (-1,) of an array
    """
    if isinstance(shape, int) and not isinstance(shape, bool):
        shape = (shape,)
    valid = isinstance(shape, (tuple, list)) and len(shape) <= MAX_DIMENSIONS
    if not valid or not all(type(size) is int and 0 <= size <= MAX_ITEMS for size in shape):
        raise ValueError(f"shape {str(shape)[:80] if valid else type(shape).__name__} of an array")
    if math.prod(shape) > MAX_ITEMS:
        raise ValueError(f"shape {tuple(shape)} has more than {MAX_ITEMS} entries")
    return tuple(shape)


def _dtype(arguments: tuple[Any, ...]) -> Any:
    name = arguments[0] if arguments else None
    if not isinstance(name, str):
        return NotImplemented
    kind: DataType = np.dtype(name) if _NUMBERS.fullmatch(name) else OtherType(name)
    return Pending("a dtype", lambda state: _ordered(kind, state))


def _ordered(kind: DataType, state: Any) -> DataType:
    order = state[1]
    if order not in _ORDERS:
        raise ValueError(f"byte order {str(order)[:20]} of a dtype")
    return kind if isinstance(kind, OtherType) or order == "|" else kind.newbyteorder(order)


def _reconstruct(arguments: tuple[Any, ...]) -> Any:
    if getattr(arguments[0], "name", None) != "numpy.ndarray":
        return NotImplemented
    return Pending("an array", _from_state)


def _from_state(state: Any) -> Any:
    if not isinstance(state, tuple) or len(state) not in (4, 5):
        raise ValueError("state of an array")
    shape, kind, fortran, content = state[-4:]
    return _array(content, kind, shape, "F" if fortran else "C")


def _frombuffer(arguments: tuple[Any, ...]) -> Any:
    content, kind, shape, order = arguments
    if order not in ("C", "F"):
        raise ValueError("order of an array")
    return _array(content, kind, shape, order)


def _scalar(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != 2:
        raise ValueError("state of a scalar")
    value = _array(arguments[1], arguments[0], (), "C")
    return value[()] if isinstance(value, np.ndarray) else value


def _array(content: Any, kind: Any, shape: Any, order: Literal["C", "F"]) -> Any:
    sizes = checked_shape(shape)
    if isinstance(kind, OtherType):
        return kind
    if not isinstance(kind, np.dtype):
        raise ValueError("dtype of an array")
    if not isinstance(content, (bytes, bytearray)):
        raise ValueError("content of an array")
    if len(content) != math.prod(sizes) * kind.itemsize:
        raise ValueError(f"{len(content)} bytes for an array of {sizes} {kind}")
    # A view of the bytes needs no more memory.
    return np.frombuffer(content, kind).reshape(sizes, order=order)
