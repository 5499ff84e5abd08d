"""Writes tables as CSV, Parquet, Markdown and JSON, and prints them."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.cells import Cell
from brittlestar.records import make_folder
from brittlestar.tables import Row, Tables

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = ("cells", "curve", "summary", "failures")
WHOLE = ("episode", "reset_seed", "length")
READABLE_ROWS = 10_000
"""A table of episodes longer than this comes as CSV and Parquet only."""
_PIECE_ROWS = 50_000
_EMPTY = {
    "episodes": ["seed", "episode"],
    "cells": ["seed", "cell", "episodes"],
    "curve": ["n_seeds", "n_episodes"],
    "summary": ["measure"],
    "failures": ["seed", "error", "overrides"],
}
"""Columns after the label of a table without rows."""
_INFINITE = {math.inf: "inf", -math.inf: "-inf"}


def write_tables(tables: Tables, folder: Path) -> None:
    """Writes every table into a folder."""
    make_folder(folder)
    for name in SMALL:
        rows: list[Row] = getattr(tables, name)
        columns = list(dict.fromkeys(key for row in rows for key in row)) or _empty_columns(name, tables)
        _write_small(folder / name, {column: [row.get(column) for row in rows] for column in columns})
    _write_episodes(tables, folder / "episodes")


def markdown(rows: list[Row], columns: Iterable[str]) -> str:
    """Formats rows as a Markdown table.

    Example:
        >>> print(markdown([{"sigma": 0.05, "success": 1.0}], ["sigma", "success"]))
        | sigma | success |
        |------:|--------:|
        |  0.05 |       1 |
    """
    return _markdown({name: [row.get(name) for row in rows] for name in columns})


def text(value: Any) -> str:
    """Formats one value for people: four digits, nothing for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _markdown(columns: dict[str, list]) -> str:
    lines = [[name, *map(text, values)] for name, values in columns.items()]
    numeric = [bool(values) and all(map(_is_number, values)) for values in columns.values()]
    widths = [max(3, *map(len, column)) for column in lines]
    padded = [
        [cell.rjust(width) if right else cell.ljust(width) for cell in column]
        for column, width, right in zip(lines, widths, numeric, strict=True)
    ]
    head, *body = [f"| {' | '.join(cells)} |" for cells in zip(*padded, strict=True)]
    rule = "|".join("-" * (w + 1) + (":" if right else "-") for w, right in zip(widths, numeric, strict=True))
    return "\n".join([head, f"|{rule}|", *body])


def _write_small(path: Path, columns: dict[str, list]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: [None if _missing(value) else value for value in values] for name, values in columns.items()}
    with open(path.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    _write_readable(path, columns)
    arrays = {name: _arrow(values) for name, values in columns.items()}
    parquet.write_table(pa.table(arrays), path.with_suffix(".parquet"))


def _write_readable(path: Path, columns: dict[str, list]) -> None:
    path.with_suffix(".md").write_text(_markdown(columns) + "\n")
    # JSON knows no infinity; a critical level beyond the sweep is written as text.
    finite = [[_INFINITE.get(v, v) if isinstance(v, float) else v for v in values] for values in columns.values()]
    rows = [json.dumps(dict(zip(columns, values, strict=True))) for values in zip(*finite, strict=True)]
    path.with_suffix(".json").write_text("[" + ",\n".join(rows) + "]\n")


def _write_episodes(tables: Tables, path: Path) -> None:
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    for suffix in (".md", ".json"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    pieces = _episode_pieces(tables)
    first = next(pieces, None)
    if first is None:
        _write_small(path, {name: [] for name in _empty_columns("episodes", tables)})
        return
    texts = [field.name for field in first.schema if field.type == "string"]
    total = 0
    with (
        ThreadPoolExecutor(1) as other_core,
        parquet.ParquetWriter(path.with_suffix(".parquet"), first.schema, use_dictionary=texts) as as_parquet,
        arrow_csv.CSVWriter(path.with_suffix(".csv"), first.schema) as as_csv,
    ):
        for piece in itertools.chain([first], pieces):
            written = other_core.submit(as_parquet.write_table, piece)
            as_csv.write_table(piece)
            written.result()
            total += piece.num_rows
    if total <= READABLE_ROWS:
        _write_readable(path, parquet.read_table(path.with_suffix(".parquet")).to_pydict())


def _episode_pieces(tables: Tables) -> Iterator[pa.Table]:
    """Yields the table of episodes in pieces of some ten thousand rows."""
    entries = list(tables.episodes())
    # Over all cells at once: a label may be a number here and text or missing in another piece.
    labels = {key: _arrow([label[key] for label, _ in entries]) for key in entries[0][0]} if entries else {}
    start, rows = 0, []
    for stop, (_, cell) in enumerate(entries, 1):
        rows.append(cell.rows())
        if sum(map(len, rows)) >= _PIECE_ROWS or stop == len(entries):
            piece = {key: values[start:stop] for key, values in labels.items()}
            yield _episode_piece(piece, [cell for _, cell in entries[start:stop]], rows)
            start, rows = stop, []


def _episode_piece(labels: dict[str, pa.Array], cells: list[Cell], rows: list[np.ndarray]) -> pa.Table:
    import pyarrow as pa

    lengths = [len(values) for values in rows]
    owner = np.repeat(np.arange(len(cells)), lengths)
    arrays = {key: values.take(pa.array(owner)) for key, values in labels.items()}
    numbers = np.concatenate(rows)
    for i, name in enumerate(cells[0].manifest["columns"]):
        arrays[name] = _episode_column(name, numbers[:, i], [cell.manifest["phases"] for cell in cells], owner)
    return pa.table(arrays)


def _episode_column(name: str, values: np.ndarray, phases: list[list[str]], owner: np.ndarray) -> pa.Array:
    import pyarrow as pa

    if name == "phase":
        names = list(dict.fromkeys(phase for each in phases for phase in each))
        first = np.cumsum([0, *map(len, phases)])[:-1]
        codes = np.array([names.index(phase) for each in phases for phase in each])
        return pa.array(names).take(pa.array(codes[first[owner] + values.astype(np.int64)]))
    if name in WHOLE:
        return pa.array(values.astype(np.int64))
    return pa.array(values, from_pandas=True)


def _empty_columns(name: str, tables: Tables) -> list[str]:
    return [*tables.grouping.columns, "strength_name", "strength", *_EMPTY[name]]


def _arrow(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    cleaned = [None if _missing(value) else value for value in values]
    kinds = {type(value) for value in cleaned if value is not None}
    if not kinds:
        return pa.array(cleaned, pa.string())
    if kinds <= {int, float}:
        return pa.array(cleaned, pa.int64() if kinds == {int} else pa.float64())
    return pa.array(cleaned) if len(kinds) == 1 else pa.array([v if v is None else str(v) for v in cleaned])


def _missing(value: Any) -> bool:
    return value is None or value != value


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
