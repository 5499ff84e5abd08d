"""Spaces as text: rebuilds those that Stable-Baselines3 stores as text, and names spaces in messages."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_arrays import checked_shape

Space = spaces.Space[Any]

MAX_SPACE_SIZE = 1 << 23
"""Most numbers in one observation or action."""
MAX_PARTS = 1_000
MAX_TEXT = 1 << 20

_TRUST = "`policy.trust=true` lets Stable-Baselines3 load it"
_NUMBER = re.compile(r"[-+]?(?:inf|nan|[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?|\.[0-9]+)", re.IGNORECASE)
_DTYPE = re.compile(r"\b(float(?:16|32|64)|u?int(?:8|16|32|64)|bool)\b")
_KIND = re.compile(r"<class '(?:gym|gymnasium)\.spaces\.\w+\.(\w+)'>")
_OPENING = re.compile(r"(?:OrderedDict)?[(\[{ ]*")
_KEY = re.compile(r"""\(?(?:'([^'\\]*)'|"([^"\\]*)")(?:, |: )(\w+)\(""")
_SHAPE_AND_DTYPE = re.compile(r", \(([0-9, ]{0,200})\), (\w{1,20})$")


def describe_space(space: Space) -> str:
    """Names a space by kind and shape, short enough for an error message.

    Example:
        >>> describe_space(spaces.Box(-1.0, 1.0, (4,)))
        'Box(4,)'
        >>> describe_space(spaces.Dict({"goal": spaces.Box(-1.0, 1.0, (3,)), "mode": spaces.Discrete(2)}))
        'Dict(goal: Box(3,), mode: Discrete(2))'
    """
    if isinstance(space, spaces.Box):
        return f"Box{space.shape}"
    if isinstance(space, spaces.Dict):
        return f"Dict({', '.join(f'{key}: {describe_space(part)}' for key, part in space.spaces.items())})"
    return " ".join(str(space).split())


def read_space(entry: Any, where: str) -> Space:
    """Returns the space that the JSON of an agent describes, as gym or gymnasium; `where` is its name in messages.

    Example:
        >>> text = {":type:": "<class 'gym.spaces.box.Box'>", "dtype": "float32", "shape": [2]}
        >>> read_space(text | {"low": "[-1. -2.]", "high": "[1. 2.]"}, "a.zip").low.tolist()
        [-1.0, -2.0]
    """
    name = entry.get(":type:") if isinstance(entry, dict) else entry
    kind = _KIND.fullmatch(name) if isinstance(name, str) else None
    if kind is None or not isinstance(entry, dict):
        raise unreadable(where, f"`{printable(name, 60)}` is not a space of gym or gymnasium; {_TRUST}")
    try:
        return _builder(kind[1])(entry)
    # gymnasium raises AssertionError for invalid arguments.
    except (ValueError, AssertionError, TypeError, OverflowError, KeyError, IndexError, RecursionError) as error:
        raise unreadable(where, f"{kind[1]}: {str(error) or type(error).__name__}; {_TRUST}") from None


def _builder(kind: str) -> Callable[[dict[str, Any]], Space]:
    functions = (_box, _discrete, _multi_discrete, _multi_binary, _dict)
    builders = dict(zip(("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict"), functions, strict=True))
    if kind not in builders:
        raise ValueError(f"only {', '.join(builders)} are rebuilt from text")
    return builders[kind]


def _box(entry: dict[str, Any]) -> Space:
    shape = _shape(entry.get("_shape", entry.get("shape")))
    dtype = _dtype(entry.get("dtype"))
    low, high = (_bound(entry, side, shape, dtype) for side in ("low", "high"))
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise ValueError("`low` must not be above `high`")
    return spaces.Box(low, high, shape, dtype.type)


def _bound(entry: dict[str, Any], side: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return _numbers(entry.get(side), shape, dtype, side)
    except ValueError:
        # gymnasium 0.26 to 1.0 also store the text of `repr`: one number if all are equal.
        text = entry.get(f"{side}_repr")
        if isinstance(text, str) and _NUMBER.fullmatch(text.strip()):
            return _numbers(text, shape, dtype, side)
        raise


def _numbers(text: Any, shape: tuple[int, ...], dtype: np.dtype[Any], side: str) -> np.ndarray:
    """Reads the text of an array, or one number for all; numpy omits the middle of more than 1,000 numbers."""
    words = str(text).replace("[", " ").replace("]", " ").replace(",", " ").split()
    elided = "..." in words
    words = [word for word in words if word != "..."]
    if not words or not all(map(_NUMBER.fullmatch, words)) or ("[" not in str(text) and len(words) > 1):
        raise ValueError(f"`{side}` is `{printable(text, 60)}`, not numbers")
    if elided and len(set(words)) > 1:
        raise ValueError(f"`{side}` is incomplete in the text: numpy omitted its middle")
    if elided or "[" not in str(text):
        return np.full(shape, _cast(words[:1], dtype, side)[0])
    if len(words) != math.prod(shape):
        raise ValueError(f"`{side}` has {len(words)} numbers for shape {shape}")
    return _cast(words, dtype, side).reshape(shape)


def _cast(words: list[str], dtype: np.dtype[Any], side: str) -> np.ndarray:
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array([float(word) for word in words]).astype(dtype)
    values = [int(float(word)) for word in words]
    info = np.iinfo(dtype)
    if min(values, default=0) < info.min or max(values, default=0) > info.max:
        raise ValueError(f"`{side}` does not fit {dtype}")
    return np.array(values, dtype)


def _discrete(entry: dict[str, Any]) -> Space:
    return spaces.Discrete(_whole(entry["n"], 1), start=_whole(entry.get("start", 0)))


def _multi_discrete(entry: dict[str, Any]) -> Space:
    counts = _whole_numbers(entry["nvec"])
    starts = _whole_numbers(entry["start"], least=None) if entry.get("start") is not None else [0] * len(counts)
    sizes = entry.get("_shape", entry.get("shape"))
    shape = (len(counts),) if sizes is None else _shape(sizes)
    return spaces.MultiDiscrete(np.reshape(counts, shape), start=np.reshape(starts, shape))


def _multi_binary(entry: dict[str, Any]) -> Space:
    shape = _shape(_whole_numbers(entry["n"]))
    return spaces.MultiBinary(shape if len(shape) != 1 else shape[0])


def _dict(entry: dict[str, Any]) -> Space:
    """Reads `{'key': Box(low, high, shape, dtype), ...}` or the same as an OrderedDict."""
    text = entry["spaces"]
    parts: dict[str, Space] = {}
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError(f"`spaces` is not text of at most {MAX_TEXT} letters")
    opening = _OPENING.match(text)
    place = opening.end() if opening else 0
    while match := _KEY.match(text, place):
        if len(parts) >= MAX_PARTS:
            raise ValueError(f"more than {MAX_PARTS} parts")
        end = _closing(text, match.end())
        parts[match[1] if match[1] is not None else match[2]] = _part(match[3], text[match.end() : end])
        place = end + 1
        while place < len(text) and text[place] in "), \n":
            place += 1
    if not parts or text[place:].strip("]}) \n"):
        raise ValueError(f"`spaces` is `{printable(text[place:], 60)}`, which is not understood")
    # A plain dict would be sorted, but the network has its inputs in the order of the file.
    return spaces.Dict(list(parts.items()))


def _part(kind: str, inside: str) -> Space:
    if kind != "Box":
        keys = {"Discrete": "n", "MultiDiscrete": "nvec", "MultiBinary": "n"}
        if kind not in keys:
            raise ValueError(f"a part is {printable(kind, 30)}; parts of a Dict can be Box, {', '.join(keys)}")
        value, _, start = inside.partition(", start=")
        return _builder(kind)({keys[kind]: value} | ({"start": start} if start else {}))
    match = _SHAPE_AND_DTYPE.search(inside[-300:])
    bounds = inside[: -len(match[0])].split(", ") if match else []
    if match is None or len(bounds) != 2:
        raise ValueError(f"a part is `Box({printable(inside, 60)})`, without bounds, shape and dtype")
    shape = [int(size) for size in match[1].split(",") if size.strip()]
    return _box({"shape": shape, "dtype": match[2], "low": bounds[0], "high": bounds[1]})


def _closing(text: str, place: int) -> int:
    depth = 1
    for end in range(place, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return end
    raise ValueError("`spaces` has a bracket that is not closed")


def _shape(value: Any) -> tuple[int, ...]:
    shape = checked_shape(tuple(value) if isinstance(value, list) else value)
    if math.prod(shape) > MAX_SPACE_SIZE:
        raise ValueError(f"shape {shape} has more than {MAX_SPACE_SIZE} numbers")
    return shape


def _dtype(value: Any) -> np.dtype[Any]:
    match = _DTYPE.search(value) if isinstance(value, str) else None
    if match is None or match[1] == "bool":
        raise ValueError(f"`dtype` is `{printable(value, 60)}`")
    return np.dtype(match[1])


def _whole_numbers(value: Any, least: int | None = 0) -> list[int]:
    if isinstance(value, int):
        return [_whole(value, least)]
    words = value if isinstance(value, list) else re.sub(r"[\[\](),]", " ", str(value)).split()
    if not words or len(words) > MAX_SPACE_SIZE:
        raise ValueError(f"`{printable(value, 60)}` is not a list of whole numbers")
    return [_whole(word, least) for word in words]


def _whole(value: Any, least: int | None = None) -> int:
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if not re.fullmatch(r"-?[0-9]{1,18}", text) or (least is not None and int(text) < least):
        raise ValueError(f"`{printable(value, 60)}` is not a whole number{'' if least is None else f' from {least}'}")
    return int(text)
