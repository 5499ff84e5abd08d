"""Inert stubs for the objects that a pickle names, and the few harmless functions that it may call."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[tuple[Any, ...]], Any]
"""Takes the arguments of a call in a pickle; a result `NotImplemented` becomes a stub."""

_SCALARS = (str, bytes, int, float, bool, type(None))
_LONGEST_NAME = 1_000


@dataclass(frozen=True)
class Global:
    """The name of a class or function in the file; it is never imported."""

    name: str


@dataclass(eq=False, repr=False)
class Stub:
    """An inert stub of an object whose class is not allowed.

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
        """Returns an attribute from the state of the object."""
        return self.state.get(key, default) if isinstance(self.state, dict) else default


def plain_calls() -> dict[str, Call]:
    """Returns the functions for containers and bytes, by name."""
    calls: dict[str, Call] = {"collections.OrderedDict": _make_dict, "_codecs.encode": _make_bytes}
    for builtins in ("builtins", "__builtin__"):
        calls |= {
            f"{builtins}.set": lambda args: set(map(as_key, expect(args[0], list))) if args else set(),
            f"{builtins}.frozenset": lambda args: frozenset(map(as_key, expect(args[0] if args else [], list))),
            f"{builtins}.list": lambda args: list(expect(args[0], list)) if args else [],
            f"{builtins}.dict": _make_dict,
            f"{builtins}.bytes": lambda args: NotImplemented if args else b"",
        }
    return calls


def _make_dict(arguments: tuple[Any, ...]) -> Any:
    pairs = arguments[0] if arguments else []
    if isinstance(pairs, dict):
        return dict(pairs)
    return {as_key(key): value for key, value in expect(pairs, list)}


def _make_bytes(arguments: tuple[Any, ...]) -> Any:
    text, *encoding = arguments
    return expect(text, str).encode("latin-1") if encoding == ["latin1"] else NotImplemented


def make_global(module: Any, name: Any) -> Global:
    """Returns the name of a class or function; refuses a very long one."""
    if len(expect(module, str)) + len(expect(name, str)) > _LONGEST_NAME:
        raise ValueError("the name of a class is too long")
    return Global(f"{module}.{name}")


def name_of(value: Any) -> str:
    """Returns the name of a value for messages and stubs."""
    return value.name if isinstance(value, (Global, Stub)) else f"a {type(value).__name__}"


def as_key(value: Any) -> Any:
    """Returns a key for a dict or set; values other than scalars become stubs."""
    # The time to hash nested tuples has no bound.
    return value if isinstance(value, _SCALARS) else Stub("key", (value,))


def expect(value: Any, kind: type) -> Any:
    """Returns the value; refuses another type."""
    if type(value) is not kind:
        raise ValueError(f"{name_of(value)} where a {kind.__name__} should be")
    return value
