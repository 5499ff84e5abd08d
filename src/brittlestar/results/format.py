"""Writes numbers, intervals and Markdown tables for people."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from brittlestar.results.load import Row


def is_missing(value: Any) -> bool:
    """Returns whether a value is None or nan."""
    return value is None or value != value


def text(value: Any) -> str:
    """Writes one value: four digits of a number, and nothing for a missing one."""
    return _texts([value])[0]


def bounded(
    value: Any, low: Any, high: Any, style: str | Callable[[Any], str] = ".4g", missing: str = "", unit: str = ""
) -> str:
    """Writes `value [low, high]`, without the interval if a bound is missing or the interval starts at infinity.

    `style` is a format specification or a function that writes one number. `missing` replaces a missing value, and
    `unit` follows the value.

    Example:
        >>> bounded(0.88, 0.79, 0.97), bounded(1.0, None, None, ".2f"), bounded(25.0, 12.5, 40.0, ".1f", unit=" %")
        ('0.88 [0.79, 0.97]', '1.00', '25.0 % [12.5, 40.0]')
    """
    head = missing if is_missing(value) else _write(value, style) + unit
    return head if is_missing(low) or is_missing(high) or low == math.inf else f"{head} {brackets(low, high, style)}"


def brackets(low: Any, high: Any, style: str | Callable[[Any], str] = ".4g") -> str:
    """Writes `[low, high]`.

    Example:
        >>> brackets(0.79, 0.97, ".1f")
        '[0.8, 1.0]'
    """
    return f"[{_write(low, style)}, {_write(high, style)}]"


def _write(value: Any, style: str | Callable[[Any], str]) -> str:
    return style(value) if callable(style) else format(value, style)


def bounded_column(row: Row, name: str, style: str | Callable[[Any], str] = ".4g", missing: str = "") -> str:
    """Writes a column with its interval, from the columns `name`, `name_low` and `name_high`."""
    return bounded(row.get(name), row.get(f"{name}_low"), row.get(f"{name}_high"), style, missing)


def critical_text(row: Row, levels: Iterable[float]) -> str:
    """Writes where a curve breaks; a curve that never breaks may do so beyond the last level."""
    value, low, high = (row[f"critical_interpolated{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value) and math.isnan(low):
        # A raw return has no threshold at which it counts as broken.
        return "none"
    last = float(max(map(abs, levels)))
    beyond = f"> {text(last)}"
    return beyond if low == last else bounded(value, low, high, missing=beyond)


def markdown(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Writes rows as a Markdown table.

    Example:
        >>> print(markdown([{"sigma": 0.05, "success": 1.0}], ["sigma", "success"]))
        | sigma | success |
        |------:|--------:|
        |  0.05 |       1 |
    """
    return markdown_columns({name: [row.get(name) for row in rows] for name in columns})


def markdown_columns(columns: dict[str, list]) -> str:
    """Writes columns as a Markdown table; numbers are aligned to the right."""
    padded, rules = [], []
    for name, values in columns.items():
        cells = [name, *_texts(values)]
        right = bool(values) and set(map(type, values)) <= {int, float, type(None)}
        width = max(3, *map(len, cells))
        padded.append([cell.rjust(width) if right else cell.ljust(width) for cell in cells])
        rules.append("-" * (width + 1) + (":" if right else "-"))
    head, *body = [f"| {' | '.join(cells)} |" for cells in zip(*padded, strict=True)]
    return "\n".join([head, f"|{'|'.join(rules)}|", *body])


def _texts(values: list) -> list[str]:
    # Without a call per value: a table of episodes has hundreds of thousands.
    return [
        "" if v is None or v != v else f"{v:.4g}" if isinstance(v, float) else str(v).replace("|", "\\|")
        for v in values
    ]
