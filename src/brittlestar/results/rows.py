"""Rows of finished tables: grouped by columns, and the measures that they show."""

import functools
from collections.abc import Iterable, Sequence

from brittlestar.results.load import Row


def group_rows(rows: Iterable[Row], columns: Sequence[str]) -> dict[tuple, list[Row]]:
    """Returns rows by their values in some columns, in the order in which these appear.

    Example:
        >>> group_rows([{"a": 1, "b": 2}, {"a": 1, "b": 3}], ["a"])
        {(1,): [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}]}
    """
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def measures(row: Row) -> list[str]:
    """Returns the measures that a row of the curve table shows.

    Example:
        >>> measures({"success_any": 1.0, "success_any_method": "Wilson"})
        ['success_any']
    """
    return _measures(tuple(row))


@functools.lru_cache(maxsize=64)
def _measures(columns: tuple[str, ...]) -> list[str]:
    return [name.removesuffix("_method") for name in columns if name.endswith("_method")]
