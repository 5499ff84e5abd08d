"""Inert stand-ins for what a pickle names, and the few harmless functions that it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[tuple[Any, ...]], Any]
"""Takes the arguments of a call in a pickle; `NotImplemented` leaves a stub in its place."""

_SCALARS = (str, bytes, int, float, bool, type(None))
_LONGEST_NAME = 1_000


@dataclass(frozen=True)
class Global:
    """The name of a class or function that the file mentions; it is never looked up."""

    name: str


@dataclass(eq=False, repr=False)
class Stub:
    """An inert stand-in for an object of a class that is not admitted.

    Example:
        >>> Stub("gymnasium.spaces.box.Box", state={"_shape": (3,)}).get("_shape")
        (3,)
    """

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = None
    items: list[Any] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def get(self, key: str, default: Any = None) -> Any:
        """Returns an attribute that the file gave the object."""
        return self.state.get(key, default) if isinstance(self.state, dict) else default


def plain_calls() -> dict[str, Call]:
    """Returns the functions for containers and bytes, by name."""
    calls: dict[str, Call] = {"collections.OrderedDict": _make_dict, "_codecs.encode": _make_bytes}
    for builtins in ("builtins", "__builtin__"):
        calls |= {
            f"{builtins}.set": lambda given: set(map(as_key, expect(given[0], list))) if given else set(),
            f"{builtins}.frozenset": lambda given: (
                frozenset(map(as_key, expect(given[0], list))) if given else frozenset()
            ),
            f"{builtins}.list": lambda given: list(expect(given[0], list)) if given else [],
            f"{builtins}.dict": _make_dict,
            f"{builtins}.bytes": lambda given: NotImplemented if given else b"",
        }
    return calls


def _make_dict(given: tuple[Any, ...]) -> Any:
    pairs = given[0] if given else []
    if isinstance(pairs, dict):
        return dict(pairs)
    return {as_key(key): value for key, value in expect(pairs, list)}


def _make_bytes(given: tuple[Any, ...]) -> Any:
    text, *encoding = given
    return expect(text, str).encode("latin-1") if encoding == ["latin1"] else NotImplemented


def make_global(module: str, name: str) -> Global:
    """Returns the name of a class or function, if it is not absurdly long."""
    if len(module) + len(name) > _LONGEST_NAME:
        raise ValueError("the name of a class is too long")
    return Global(f"{module}.{name}")


def name_of(value: Any) -> str:
    """Names a value for messages and stubs."""
    return value.name if isinstance(value, (Global, Stub)) else f"a {type(value).__name__}"


def as_key(value: Any) -> Any:
    """Returns a key for a dict or set."""
    # The hash of nested tuples takes time without bound, so only plain values are keys.
    return value if isinstance(value, _SCALARS) else Stub("key", (value,))


def expect(value: Any, kind: type) -> Any:
    """Returns the value if it is exactly of this type."""
    if type(value) is not kind:
        raise ValueError(f"{name_of(value)} where a {kind.__name__} should be")
    return value
