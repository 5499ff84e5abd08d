"""The exceptions of a user's mistake, the nearest valid name, and checks of parameters."""

import difflib
import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

_MOST_NAMES, _MOST_FILES = 20, 3
_SHORT = 2
"""A name of so few letters is part of many names."""


class UserError(Exception):
    """A mistake of the user, reported as one line without a traceback."""


class MissingFileError(UserError):
    """A file or folder that the user names does not exist."""


class HarnessError(UserError):
    """An error of a cell that is not a failed episode."""


class Interrupted(KeyboardInterrupt):
    """The user, or a scheduler, ends the program by a signal: `number`."""

    def __init__(self, number: int, text: str = "") -> None:
        super().__init__(*[text] * bool(text))
        self.number = number


def nearest(name: str, valid: Iterable[str]) -> str:
    """Returns a suggestion of the nearest valid name, or a list of all.

    Example:
        >>> nearest("sgima", ["sigma", "keys"])
        'did you mean `sigma`?'
        >>> nearest("kalman", ["kalman_observation", "low_pass"])
        'did you mean `kalman_observation`?'
        >>> nearest("x", ["sigma", "keys"])
        'valid: keys, sigma'
    """
    names = sorted(set(valid))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    longer = [text for text in names if len(name) > _SHORT and name in text]
    if close or len(longer) == 1:
        return f"did you mean `{(close or longer)[0]}`?"
    if longer:
        return f"did you mean one of {', '.join(longer[:_MOST_NAMES])}?"
    cut = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"valid: {', '.join(names[:_MOST_NAMES])}{cut}"


def nearest_file(name: str, present: Iterable[str]) -> str:
    """Returns a suggestion for a missing file, after a semicolon; a folder may hold anything, so it names only a few.

    Example:
        >>> nearest_file("modle.zip", ["model.zip", "notes.txt"])
        '; did you mean `model.zip`?'
        >>> nearest_file("agent.zip", ["notes.txt", *(f"{i}.zip" for i in range(9))])
        '; its folder has 0.zip, 1.zip, 2.zip and 6 more'
    """
    names = sorted(set(present))
    close = difflib.get_close_matches(name, names, n=1) or [
        text for text in names if len(name) > _SHORT and name in text
    ]
    if len(close) == 1:
        return f"; did you mean `{close[0]}`?"
    suffix = name[name.rfind(".") :] if "." in name else ""
    similar = close or [text for text in names if suffix and text.endswith(suffix)]
    more = f" and {len(similar) - _MOST_FILES} more" if len(similar) > _MOST_FILES else ""
    return f"; its folder has {', '.join(similar[:_MOST_FILES])}{more}" if similar else ""


def shortened(line: str, most: int = 500) -> str:
    """Returns a line with its middle left out, if it has more letters than `most`.

    Example:
        >>> shortened("`seed=1111111111111111111111` has too many digits", most=40)
        '`seed=1111111111 (...) s too many digits'
    """
    if len(line) <= most:
        return line
    gap = " (...) "
    start = (most - len(gap)) // 2
    return line[:start] + gap + line[start + len(gap) - most :].lstrip()


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns a number with its noun, in the plural unless it is 1.

    Example:
        >>> counted(1, "cell"), counted(2, "cell"), counted(2, "policy", "policies")
        ('1 cell', '2 cells', '2 policies')
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def listed(noun: str, values: Iterable[object], most: int = 10) -> str:
    """Returns values behind their noun, not too many of them.

    Example:
        >>> listed("cell", [3]), listed("cell", [3, 7]), listed("seed", range(99), most=2)
        ('cell 3', 'cells 3, 7', 'seeds 0, 1 and 97 more')
    """
    texts = [str(value) for value in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{noun if len(texts) == 1 else f'{noun}s'} {', '.join(texts[:most])}{more}"


def require_choice(name: str, value: str, valid: Iterable[str]) -> None:
    """Raises a `UserError` that suggests the nearest valid value, unless `value` is one.

    Example:
        >>> require_choice("fill", "maen", ["zero", "mean"])
        Traceback (most recent call last):
        brittlestar.errors.UserError: `fill` cannot be 'maen'; did you mean `mean`?
    """
    names = list(valid)
    if value not in names:
        raise UserError(f"`{name}` cannot be {value!r}; {nearest(str(value), names)}")


def require(ok: Any, name: str, bound: str, value: object) -> None:
    """Raises a `ValueError` that names parameter, bound and value, unless every entry of `ok` is true.

    Example:
        >>> require(-1 >= 0, "sigma", "at least 0", -1)
        Traceback (most recent call last):
        ValueError: `sigma` must be at least 0, got -1
    """
    if not (ok.all() if hasattr(ok, "all") else ok):
        raise ValueError(f"`{name}` must be {bound}, got {value}")


@dataclass(frozen=True)
class Bound:
    """A check of a dataclass field that is stated in its type, for example `NonNegative`."""

    text: str
    holds: Callable[[Any], bool]


NonNegative = Annotated[float, Bound("at least 0", lambda value: value >= 0)]
Positive = Annotated[float, Bound("above 0", lambda value: value > 0)]
Finite = Annotated[float, Bound("finite", math.isfinite)]
Fraction = Annotated[float, Bound("in [0, 1]", lambda value: 0 <= value <= 1)]
PositiveFraction = Annotated[float, Bound("in (0, 1]", lambda value: 0 < value <= 1)]
NonNegativeInt = Annotated[int, Bound("at least 0", lambda value: value >= 0)]
PositiveInt = Annotated[int, Bound("at least 1", lambda value: value >= 1)]


def check_fields(owner: Any) -> None:
    """Checks every field of a dataclass by its type: a type with a `Bound`, or a `Literal` with the valid names.

    Example:
        >>> @dataclass
        ... class Noise:
        ...     sigma: NonNegative
        >>> check_fields(Noise(sigma=-1.0))
        Traceback (most recent call last):
        ValueError: `sigma` must be at least 0, got -1.0
    """
    kind: Any = type(owner)
    for name, check in _checks(kind):
        value = getattr(owner, name)
        if isinstance(check, Bound):
            require(check.holds(value), name, check.text, value)
        else:
            require_choice(name, value, check)


@functools.cache
def _checks(kind: Any) -> list[tuple[str, Bound | tuple[str, ...]]]:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # A class of the user with types that only type checkers import.
        return []
    literals = [(name, get_args(hint)) for name, hint in hints.items() if get_origin(hint) is Literal]
    bounds = [(name, part) for name, hint in hints.items() for part in getattr(hint, "__metadata__", ())]
    return [*literals, *((name, part) for name, part in bounds if isinstance(part, Bound))]
