"""Writes tables as CSV, Parquet, Markdown and JSON."""

import contextlib
import csv
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from brittlestar.cells.files import make_folder
from brittlestar.results.aggregate import Tables
from brittlestar.results.cell_table import CellTable, Columns
from brittlestar.results.format import markdown_columns
from brittlestar.results.load import Cell, Row

SMALL = ("cells", "curve", "summary", "failures")
WHOLE = ("episode", "reset_seed", "length")
READABLE_ROWS = 10_000
"""A longer table is written as CSV and Parquet only."""
_PIECE_ROWS = 20_000
_EMPTY = {
    "episodes": ["seed", "episode"],
    "cells": ["seed", "cell", "episodes"],
    "curve": ["n_seeds", "n_episodes"],
    "summary": ["measure"],
    "failures": ["seed", "error", "overrides"],
}
"""Columns after the label of a table without rows."""


def write_tables(tables: Tables, folder: Path) -> None:
    """Writes every table into a folder."""
    with writing_tables(tables, folder):
        pass


@contextlib.contextmanager
def writing_tables(tables: Tables, folder: Path) -> Iterator[None]:
    """Writes every table into a folder; the long one of episodes on another core, until the block ends."""
    make_folder(folder)
    with ThreadPoolExecutor(1) as other_core:
        episodes = other_core.submit(_write_episodes, tables, folder / "episodes")
        for name in SMALL:
            rows: Sequence[Row] = getattr(tables, name)
            write_rows(rows, folder / name, _empty_columns(name, tables) if not rows else ())
        yield
        episodes.result()


def write_rows(rows: Sequence[Row], path: Path, columns: Iterable[str] = ()) -> None:
    """Writes one table; `columns` are those of a table without rows."""
    if not rows:
        _write_columns(path, {name: [] for name in columns})
    elif isinstance(rows, CellTable):
        _write_columns(path, rows.columns())
    else:
        names = dict.fromkeys(key for row in rows for key in row)
        _write_columns(path, {name: [row.get(name) for row in rows] for name in names})


def _clean(values: list | np.ndarray) -> list:
    # A missing value is empty in every format.
    if not isinstance(values, np.ndarray):
        return [None if v is None or v != v else v for v in values]
    cleaned = values.tolist()
    for place in np.flatnonzero(np.isnan(values)).tolist():
        cleaned[place] = None
    return cleaned


def _write_columns(path: Path, columns: Columns) -> None:
    count = len(next(iter(columns.values()), ()))
    with open(path.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for start in range(0, count, _PIECE_ROWS):
            piece = [_clean(values[start : start + _PIECE_ROWS]) for values in columns.values()]
            writer.writerows(zip(*piece, strict=True))
    for suffix in (".md", ".json"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    if count <= READABLE_ROWS:
        _write_readable(path, {name: _clean(values) for name, values in columns.items()})
    arrays = {name: _arrow(values) for name, values in columns.items()}
    parquet.write_table(pa.table(arrays), path.with_suffix(".parquet"))


def _write_readable(path: Path, columns: dict[str, list]) -> None:
    path.with_suffix(".md").write_text(markdown_columns(columns) + "\n")
    rows = [json.dumps(dict(zip(columns, v, strict=True))) for v in zip(*map(_finite, columns.values()), strict=True)]
    path.with_suffix(".json").write_text("[" + ",\n".join(rows) + "]\n")


def _finite(values: list) -> list:
    # JSON has no infinity, so a critical level beyond the sweep is text.
    if math.inf in values or -math.inf in values:
        return [str(v) if v in (math.inf, -math.inf) else v for v in values]
    return values


def _write_episodes(tables: Tables, path: Path) -> None:
    for suffix in (".md", ".json"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    pieces = _episode_pieces(tables)
    first = next(pieces, None)
    if first is None:
        _write_columns(path, {name: [] for name in _empty_columns("episodes", tables)})
        return
    texts = [field.name for field in first.schema if field.type == "string"]
    total = 0
    readable: list[pa.Table] = []
    with (
        open(path.with_suffix(".csv"), "wb") as as_csv,
        parquet.ParquetWriter(path.with_suffix(".parquet"), first.schema, use_dictionary=texts) as as_parquet,
        ThreadPoolExecutor(2) as pool,
    ):
        for piece in itertools.chain([first], pieces):
            # Formatting numbers takes longest, and releases the interpreter's lock.
            middle = piece.num_rows // 2
            halves = pool.map(_csv_lines, (piece[:middle], piece[middle:]), (total == 0, False))
            as_parquet.write_table(piece)
            as_csv.writelines(halves)
            total += piece.num_rows
            readable = [*readable, piece] if total <= READABLE_ROWS else []
    if readable:
        _write_readable(path, pa.concat_tables(readable).to_pydict())


def _csv_lines(piece: pa.Table, header: bool) -> Any:
    lines = pa.BufferOutputStream()
    arrow_csv.write_csv(piece, lines, arrow_csv.WriteOptions(include_header=header))
    return lines.getvalue()


def _episode_pieces(tables: Tables) -> Iterator[pa.Table]:
    """Yields the table of episodes in pieces of about `_PIECE_ROWS` rows."""
    cells, grouping = tables.finished, tables.grouping
    # Of all cells at once, since a label may be a number in one piece and text in another.
    labels = {key: _arrow([label[i] for label in grouping.labels]) for i, key in enumerate(grouping.columns)}
    labels |= {key: _arrow([getattr(cell, key) for cell in cells]) for key in ("strength_name", "strength", "seed")}
    start, rows, count = 0, list[np.ndarray](), 0
    for stop, cell in enumerate(cells, 1):
        rows.append(cell.rows())
        count += len(rows[-1])
        if count >= _PIECE_ROWS or stop == len(cells):
            piece = {key: values[start:stop] for key, values in labels.items()}
            yield _episode_piece(piece, cells[start:stop], rows)
            start, rows, count = stop, [], 0


def _episode_piece(labels: dict[str, pa.Array], cells: list[Cell], rows: list[np.ndarray]) -> pa.Table:
    lengths = [len(values) for values in rows]
    owner = np.repeat(np.arange(len(cells)), lengths)
    arrays = {key: values.take(_numbers(owner)) for key, values in labels.items()}
    numbers = np.concatenate(rows)
    for i, name in enumerate(cells[0].manifest["columns"]):
        arrays[name] = _episode_column(name, numbers[:, i], [cell.manifest["phases"] for cell in cells], owner)
    return pa.table(arrays)


def _episode_column(name: str, values: np.ndarray, phases: list[list[str]], owner: np.ndarray) -> pa.Array:
    if name == "phase":
        every = list(itertools.chain(*phases))
        names = list(dict.fromkeys(every))
        first = np.cumsum([0, *map(len, phases)])[:-1]
        codes = np.array([names.index(phase) for phase in every])
        return _strings(names).take(_numbers(codes[first[owner] + values.astype(np.int64)]))
    return _numbers(values.astype(np.int64)) if name in WHOLE else _numbers(values, np.isnan(values))


def _empty_columns(name: str, tables: Tables) -> list[str]:
    return [*tables.grouping.columns, "strength_name", "strength", *_EMPTY[name]]


def _arrow(column: list | np.ndarray) -> pa.Array:
    """Returns a column of integers, floats, booleans or, for mixed types, text."""
    if isinstance(column, np.ndarray) and not np.isnan(column).all():
        return _numbers(column, np.isnan(column))
    values = _clean(column)
    kinds = set(map(type, values)) - {type(None)}
    missing = np.array([v is None for v in values], dtype=bool)
    if kinds and kinds <= {int, float}:
        kind = np.int64 if kinds == {int} else np.float64
        return _numbers(np.array([0 if v is None else v for v in values], dtype=kind), missing)
    if kinds == {bool}:
        return _numbers(np.array([bool(v) for v in values]), missing)
    return _strings(["" if v is None else str(v) for v in values], missing)


# They fill buffers, because `pa.array` imports pandas, which takes longer than all tables of a common sweep.
def _numbers(values: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    kind = pa.from_numpy_dtype(values.dtype)
    data = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [_present(missing), pa.py_buffer(data)])


def _strings(values: list[str], missing: np.ndarray | None = None) -> pa.Array:
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [_present(missing), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _present(missing: np.ndarray | None) -> pa.Buffer | None:
    return None if missing is None or not missing.any() else pa.py_buffer(np.packbits(~missing, bitorder="little"))
