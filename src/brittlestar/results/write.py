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
from brittlestar.results.arrow_memory import system_memory
from brittlestar.results.cell_table import CellTable, column_of, row_count
from brittlestar.results.format import markdown_columns
from brittlestar.results.load import Cell, Row

SMALL = ("cells", "curve", "summary", "failures")
WHOLE = ("episode", "reset_seed", "length")
READABLE_ROWS = 10_000
"""A longer table is written as CSV and Parquet only."""
_PIECE_ROWS = 20_000
_LINES = 2000
"""Rows of a piece that are Python numbers at one time."""
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
    with system_memory(), ThreadPoolExecutor(1) as other_core:
        episodes = other_core.submit(_write_episodes, tables, folder / "episodes")
        for name in SMALL:
            rows: Sequence[Row] = getattr(tables, name)
            write_rows(rows, folder / name, _empty_columns(name, tables) if not rows else ())
        yield
        episodes.result()


def write_rows(rows: Sequence[Row], path: Path, columns: Iterable[str] = ()) -> None:
    """Writes one table; `columns` are those of a table without rows."""
    if not rows:
        _write_table(path, CellTable([{name: [] for name in columns}]))
    elif isinstance(rows, CellTable):
        _write_table(path, rows)
    else:
        names = dict.fromkeys(key for row in rows for key in row)
        _write_table(path, CellTable([{name: [row.get(name) for row in rows] for name in names}]))


def _clean(values: list | np.ndarray) -> list:
    # A missing value is empty in every format.
    if not isinstance(values, np.ndarray):
        return [None if v is None or v != v else v for v in values]
    cleaned = values.tolist()
    for place in np.flatnonzero(np.isnan(values)).tolist():
        cleaned[place] = None
    return cleaned


def _write_table(path: Path, table: CellTable) -> None:
    names, count = table.names(), len(table)
    with open(path.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for piece in table.pieces:
            columns = [column_of(piece, name) for name in names]
            for start in range(0, row_count(piece), _LINES):
                values = [_clean(column[start : start + _LINES]) for column in columns]
                writer.writerows(zip(*values, strict=True))
    for suffix in (".md", ".json"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    if count <= READABLE_ROWS:
        _write_readable(path, {name: _clean(table.column(name)) for name in names})
    parquet.write_table(pa.table({name: _arrow_column(table, name) for name in names}), path.with_suffix(".parquet"))


def _arrow_column(table: CellTable, name: str) -> pa.Array | pa.ChunkedArray:
    """Returns a column of a table; one of numbers shares the memory of its pieces."""
    parts = [column_of(piece, name) for piece in table.pieces]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts) and not all(np.isnan(part).all() for part in arrays):
        return pa.chunked_array([_numbers(part, np.isnan(part)) for part in arrays])
    return _arrow(table.column(name))


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
        write_rows((), path, _empty_columns("episodes", tables))
        return
    schema, total = first.schema, 0
    texts = [field.name for field in schema if field.type == "string"]
    readable: list[pa.Table] = []
    with (
        open(path.with_suffix(".csv"), "wb") as as_csv,
        parquet.ParquetWriter(path.with_suffix(".parquet"), schema, use_dictionary=texts) as as_parquet,
        ThreadPoolExecutor(2) as pool,
    ):
        pieces = itertools.chain([first], pieces)
        del first
        for piece in pieces:
            # Formatting numbers takes longest, and releases the interpreter's lock.
            middle = piece.num_rows // 2
            halves = pool.map(_csv_lines, (piece[:middle], piece[middle:]), (total == 0, False))
            as_parquet.write_table(piece)
            as_csv.writelines(halves)
            total += piece.num_rows
            readable = [*readable, piece] if total <= READABLE_ROWS else []
            # The next piece is made before it takes this name.
            del piece
    if readable:
        _write_readable(path, pa.concat_tables(readable).to_pydict())


def _csv_lines(piece: pa.Table, header: bool) -> Any:
    lines = pa.BufferOutputStream()
    arrow_csv.write_csv(piece, lines, arrow_csv.WriteOptions(include_header=header))
    return lines.getvalue()


def _episode_pieces(tables: Tables) -> Iterator[pa.Table]:
    """Yields the table of episodes in pieces of about `_PIECE_ROWS` rows."""
    labels, cells, rows, count = _episode_labels(tables), list[Cell](), list[np.ndarray](), 0
    for stop, cell in enumerate(tables.finished, 1):
        cells.append(cell)
        rows.append(cell.rows())
        count += len(rows[-1])
        if count >= _PIECE_ROWS or stop == len(tables.finished):
            places = slice(stop - len(cells), stop)
            yield _episode_piece({key: (values, of[places]) for key, (values, of) in labels.items()}, cells, rows)
            cells, rows, count = [], [], 0


_Labels = dict[str, tuple[pa.Array, np.ndarray]]
"""Values by column, and which of them each cell has."""


def _episode_labels(tables: Tables) -> _Labels:
    # Of all cells at once, since a label may be a number in one piece and text in another.
    cells, grouping = tables.finished, tables.grouping
    distinct = {id(label): label for label in grouping.labels}
    numbers = {key: number for number, key in enumerate(distinct)}
    of_label = np.fromiter((numbers[id(label)] for label in grouping.labels), dtype=np.int32, count=len(cells))
    columns = enumerate(grouping.columns)
    labels = {key: (_arrow([label[i] for label in distinct.values()]), of_label) for i, key in columns}
    kinds, (_, of_kind) = [*cells.kinds()], cells.firsts()
    labels |= {key: (_arrow([getattr(kind, key) for kind in kinds]), of_kind) for key in ("strength_name", "strength")}
    return labels | {"seed": (_arrow([cell.seed for cell in cells]), np.arange(len(cells), dtype=np.int32))}


def _episode_piece(labels: _Labels, cells: list[Cell], rows: list[np.ndarray]) -> pa.Table:
    lengths = [len(values) for values in rows]
    owner = np.repeat(np.arange(len(cells)), lengths)
    arrays = {key: values.take(_numbers(of[owner])) for key, (values, of) in labels.items()}
    numbers = np.concatenate(rows)
    # The caller has them too, until the piece is written.
    rows.clear()
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
