"""Frames of policy servers: msgpack with arrays, checked before any array is made. Nothing is ever unpickled."""

import math
import re
from typing import Any

import numpy as np

from brittlestar.errors import UserError, shortened

MEGABYTE = 10**6
_ARRAY, _SCALAR = b"__ndarray__", b"__npgeneric__"
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])")
"""Numbers and booleans: what `dtype.str` of NumPy writes for them."""
_MOST_AXES, _LONGEST_AXIS = 16, 2**16
"""Limits of a shape; an axis may be longer where the array has as many bytes."""
_MOST_ITEMS = 10**6
"""Entries of all lists and maps of one frame: a small frame can hold many empty lists, each an object in memory."""
_MOST_LEVELS = 32
"""Lists and maps within each other: JSON, pickle and comparisons call themselves for each level."""


class FrameError(UserError):
    """A frame is not what the protocol allows."""


def encode_frame(message: Any) -> bytes:
    """Returns a message as msgpack; arrays must hold numbers or booleans.

    Example:
        >>> frame = encode_frame({"state": np.array([1.0, 2.0])})
        >>> decode_frame(frame)["state"].tolist()
        [1.0, 2.0]
    """
    import msgpack

    return bytes(msgpack.packb(message, default=_pack_array))


def decode_frame(frame: bytes) -> Any:
    """Returns the message of a frame; raises a `FrameError` for anything that is no plain data or array of numbers.

    Example:
        >>> decode_frame(b"no msgpack")
        Traceback (most recent call last):
        brittlestar.policies.server.codec.FrameError: the frame of 10 bytes is no msgpack message: extra bytes behind it
    """
    import msgpack

    hooks = _Hooks()
    try:
        message = msgpack.unpackb(
            frame, object_hook=hooks.read_map, list_hook=hooks.read_list, ext_hook=_refuse_extension,
            max_array_len=_MOST_ITEMS, max_map_len=_MOST_ITEMS, timestamp=1,
        )  # fmt: skip
        _refuse_depth(message)
        return message
    except FrameError:
        raise
    except msgpack.ExtraData:
        reason = "extra bytes behind it"
    except Exception as error:  # The library raises many kinds of them for broken input.
        reason = shortened(" ".join(f"{type(error).__name__} {error}".split()), 120)
    raise FrameError(f"the frame of {len(frame):,} bytes is no msgpack message: {reason}")


class _Hooks:
    """Reads the maps of one frame, and counts what it holds."""

    def __init__(self) -> None:
        self._items = 0

    def read_map(self, entries: dict) -> Any:
        self._count(len(entries))
        if _ARRAY in entries:
            return _read_array(entries)
        return _read_scalar(entries) if _SCALAR in entries else entries

    def read_list(self, items: list) -> list:
        self._count(len(items))
        return items

    def _count(self, items: int) -> None:
        # An empty list is an object, too.
        self._items += items + 1
        if self._items > _MOST_ITEMS:
            raise FrameError(f"the frame has more than {_MOST_ITEMS:,} entries outside of arrays")


def _refuse_depth(message: Any) -> None:
    level = [message]
    for _ in range(_MOST_LEVELS):
        level = [part for value in level for part in _parts(value) if isinstance(part, dict | list)]
        if not level:
            return
    raise FrameError(f"the frame has more than {_MOST_LEVELS} levels of lists and maps within each other")


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _pack_array(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        if not _DTYPE.fullmatch(value.dtype.str):
            raise FrameError(f"an array of dtype {value.dtype} cannot be sent: only numbers and booleans can")
        head = {b"dtype": value.dtype.str}
        if isinstance(value, np.ndarray):
            return {_ARRAY: True, b"data": value.tobytes(), b"shape": value.shape} | head
        return {_SCALAR: True, b"data": value.item()} | head
    raise FrameError(f"a value of type {type(value).__name__} cannot be sent")


def _read_array(entries: dict) -> np.ndarray:
    dtype, data, shape = _read_dtype(entries), entries.get(b"data"), entries.get(b"shape")
    if not isinstance(data, bytes):
        raise FrameError(f"an array has data of type {type(data).__name__}, expected bytes")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise FrameError(f"an array has the shape {shape!r:.60}, expected a list of whole numbers")
    if len(shape) > _MOST_AXES or max(shape, default=0) > max(len(data), _LONGEST_AXIS):
        raise FrameError(f"an array of {len(data):,} bytes cannot have the shape {shape!r:.60}")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise FrameError(f"an array of shape {shape!r:.60} and dtype {dtype.str} cannot have {len(data):,} bytes")
    array = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
    return array.reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _read_scalar(entries: dict) -> Any:
    dtype, value = _read_dtype(entries), entries.get(b"data")
    if not isinstance(value, bool | int | float):
        raise FrameError(f"a NumPy scalar has data of type {type(value).__name__}, expected a number")
    try:
        return dtype.type(value)
    except (OverflowError, ValueError):
        raise FrameError(f"the number {value!r:.60} does not fit dtype {dtype.str}") from None


def _read_dtype(entries: dict) -> np.dtype:
    text = entries.get(b"dtype")
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise FrameError(f"an array has the dtype {text!r:.60}: only numbers and booleans are read")
    return np.dtype(text)


def _refuse_extension(code: int, data: bytes) -> Any:
    raise FrameError(f"the frame has a msgpack extension of type {code}: only plain data and arrays are read")
