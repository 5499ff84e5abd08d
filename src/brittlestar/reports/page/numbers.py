"""Values as JSON that a browser reads: no nan, few digits where they are enough, and nothing that ends a script."""

import json
import math
from collections.abc import Iterable
from typing import Any

DIGITS = 6
"""Of the numbers of episodes."""


def safe_json(value: Any) -> str:
    """Writes JSON for a script element: text in it can neither end the element nor start another one.

    Example:
        >>> safe_json({"policy": "</script><script>alert(1)"})
        '{"policy":"\\\\u003c/script\\\\u003e\\\\u003cscript\\\\u003ealert(1)"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def finite(values: Iterable[Any]) -> list[Any]:
    """Replaces numbers that JSON cannot hold by None.

    Example:
        >>> finite([0.5, math.nan, math.inf, "text"])
        [0.5, None, None, 'text']
    """
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in values]


def rounded(values: Iterable[float], digits: int = DIGITS) -> list[float | int | None]:
    """Rounds numbers to some digits; whole numbers have no point, and missing ones are None.

    Example:
        >>> rounded([0.123456789, 50.0, math.nan])
        [0.123457, 50, None]
    """
    short = (float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values)
    return [int(v) if v is not None and v.is_integer() and abs(v) < 1e15 else v for v in short]
