"""What a stream can show: whether it is a terminal that draws, how wide it is, and small curves in its characters."""

import os
import shutil
from collections.abc import Iterable
from typing import Any

_BLOCKS, _LETTERS = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_NO_VALUE = ("·", " ")
_MOST_LEVELS = 24


def is_screen(stream: Any) -> bool:
    """Whether a stream is a terminal whose lines can be drawn again; `TERM=dumb` is not."""
    return bool(stream.isatty()) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def terminal_columns(stream: Any) -> int:
    """Returns the width of the terminal behind a stream; `COLUMNS` in the environment wins."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (AttributeError, ValueError, OSError):
        return shutil.get_terminal_size().columns


def cropped(text: str, width: int) -> str:
    """Returns a text that fits into a width; dots replace what is cut off.

    Example:
        >>> cropped("p_controller", 6), cropped("sac", 6)
        ('p_con…', 'sac')
    """
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def draws_blocks(stream: Any) -> bool:
    """Whether the encoding of a stream has the characters of small curves."""
    try:
        f"{_BLOCKS}·…━".encode(getattr(stream, "encoding", None) or "utf-8")
    except (LookupError, UnicodeError):
        return False
    return True


def small_curve(values: Iterable[float], low: float = 0.0, high: float = 1.0, blocks: bool = True) -> str:
    """Writes numbers as one character each, the higher the larger; a missing one is a dot. Many are thinned out.

    Example:
        >>> small_curve([1, 0.6, float("nan"), 0])
        '█▅·▁'
    """
    numbers, characters = list(values), _BLOCKS if blocks else _LETTERS
    if len(numbers) > _MOST_LEVELS:
        numbers = [numbers[round(i * (len(numbers) - 1) / (_MOST_LEVELS - 1))] for i in range(_MOST_LEVELS)]
    scale = (len(characters) - 1) / ((high - low) or 1.0)
    places = [None if n != n else min(max(round((n - low) * scale), 0), len(characters) - 1) for n in numbers]
    return "".join(_NO_VALUE[not blocks] if place is None else characters[place] for place in places)
