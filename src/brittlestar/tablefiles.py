"""Writes tables as CSV, Parquet, Markdown and JSON, and prints them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
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
_CHUNK_CELLS = 500


def write_tables(tables: Tables, folder: Path) -> None:
    """Writes every table into a folder."""
    make_folder(folder)
    for name in SMALL:
        rows: list[Row] = getattr(tables, name)
        columns = list(dict.fromkeys(key for row in rows for key in row)) or _empty_columns(name)
        _write_small(folder / name, columns, rows)
    _write_episodes(tables, folder / "episodes")


def markdown(rows: list[Row], columns: Iterable[str]) -> str:
    """Formats rows as a Markdown table.

    Example:
        >>> print(markdown([{"sigma": 0.05, "success": 1.0}], ["sigma", "success"]))
        | sigma | success |
        |------:|--------:|
        |  0.05 |       1 |
    """
    columns = list(columns)
    cells = [[text(row.get(name)) for name in columns] for row in rows]
    numeric = [all(_is_number(row.get(name)) for row in rows) and bool(rows) for name in columns]
    widths = [max(len(name), 3, *(len(line[i]) for line in cells)) for i, name in enumerate(columns)]

    def line(parts: list[str]) -> str:
        padded = [p.rjust(w) if n else p.ljust(w) for p, w, n in zip(parts, widths, numeric, strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (w + 1) + (":" if n else "-") for w, n in zip(widths, numeric, strict=True))
    return "\n".join([line(columns), f"|{rule}|", *map(line, cells)])


def text(value: Any) -> str:
    """Formats one value for people: four digits, nothing for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _write_small(path: Path, columns: list[str], rows: list[Row]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    with open(path.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows({key: "" if _missing(value) else value for key, value in row.items()} for row in rows)
    path.with_suffix(".md").write_text(markdown(rows, columns) + "\n")
    path.with_suffix(".json").write_text(json.dumps([_jsonable(row) for row in rows], indent=1) + "\n")
    data = {name: [row.get(name) for row in rows] for name in columns}
    parquet.write_table(pa.table({name: _arrow(values) for name, values in data.items()}), path.with_suffix(".parquet"))


def _write_episodes(tables: Tables, path: Path) -> None:
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    pieces = _episode_pieces(tables)
    first = next(pieces, None)
    if first is None:
        _write_small(path, ["episode"], [])
        return
    with (
        parquet.ParquetWriter(path.with_suffix(".parquet"), first.schema) as as_parquet,
        arrow_csv.CSVWriter(path.with_suffix(".csv"), first.schema, write_options=_plain_csv()) as as_csv,
    ):
        total = 0
        piece: pa.Table | None = first
        while piece is not None:
            as_parquet.write_table(piece)
            as_csv.write_table(piece)
            total += piece.num_rows
            piece = next(pieces, None)
    for suffix in (".md", ".json"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    if total <= READABLE_ROWS:
        rows = parquet.read_table(path.with_suffix(".parquet")).to_pylist()
        path.with_suffix(".md").write_text(markdown(rows, first.column_names) + "\n")
        path.with_suffix(".json").write_text(json.dumps([_jsonable(row) for row in rows]) + "\n")


def _plain_csv() -> Any:
    from pyarrow import csv as arrow_csv

    return arrow_csv.WriteOptions(quoting_style="needed")


def _episode_pieces(tables: Tables) -> Any:
    """Yields the table of episodes in pieces of some hundred cells."""
    batch: list[tuple[Row, Cell, np.ndarray]] = []
    for label, cell in tables.episodes():
        batch.append((label, cell, cell.rows()))
        if len(batch) == _CHUNK_CELLS:
            yield _episode_piece(batch)
            batch = []
    if batch:
        yield _episode_piece(batch)


def _episode_piece(batch: list[tuple[Row, Cell, np.ndarray]]) -> pa.Table:
    import pyarrow as pa

    labels, cells, rows = zip(*batch, strict=True)
    lengths = [len(values) for values in rows]
    arrays = {}
    for key in labels[0]:
        # A label may be a number here and missing in the next piece: text keeps the schema the same.
        kinds = {"strength": pa.float64(), "seed": pa.int64()}
        values = [label[key] if key in kinds else text(label[key]) for label in labels]
        arrays[key] = pa.array(values, kinds.get(key, pa.string())).take(np.repeat(np.arange(len(batch)), lengths))
    numbers = np.concatenate(rows)
    for i, name in enumerate(cells[0].manifest["columns"]):
        arrays[name] = _episode_column(name, numbers[:, i], cells, lengths)
    return pa.table(arrays)


def _episode_column(name: str, values: np.ndarray, cells: tuple[Cell, ...], lengths: list[int]) -> pa.Array:
    import pyarrow as pa

    if name == "phase":
        phases = [cell.manifest["phases"] for cell in cells]
        names = list(dict.fromkeys(name for each in phases for name in each))
        longest = max(map(len, phases))
        place = np.array([[names.index(n) for n in each] + [0] * (longest - len(each)) for each in phases])
        return pa.array(names).take(place[np.repeat(np.arange(len(cells)), lengths), values.astype(np.int64)])
    if name in WHOLE:
        return pa.array(values.astype(np.int64))
    return pa.array(values, from_pandas=True)


def _empty_columns(name: str) -> list[str]:
    return ["strength", "seed", "error", "overrides"] if name == "failures" else ["strength", "seed"]


def _arrow(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    cleaned = [None if _missing(value) else value for value in values]
    kinds = {type(value) for value in cleaned if value is not None}
    if not kinds:
        return pa.array(cleaned, pa.string())
    if kinds <= {int, float}:
        return pa.array(cleaned, pa.int64() if kinds == {int} else pa.float64())
    return pa.array(cleaned) if len(kinds) == 1 else pa.array([v if v is None else str(v) for v in cleaned])


def _jsonable(row: Row) -> Row:
    # JSON knows no infinity; a critical level beyond the sweep is written as text.
    return {key: None if _missing(v) else str(v) if _infinite(v) else v for key, v in row.items()}


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
