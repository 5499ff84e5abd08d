"""The one exception for a user's mistake, and the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake of the user: shown as one line, without a traceback."""


class HarnessError(UserError):
    """Something in a cell went wrong that is not a failed episode."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """Says which valid name is meant, or lists them all.

    Example:
        >>> nearest("sgima", ["sigma", "keys"])
        'did you mean `sigma`?'
        >>> nearest("x", ["sigma", "keys"])
        'valid: keys, sigma'
    """
    names = sorted(set(valid))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"valid: {', '.join(names)}"
