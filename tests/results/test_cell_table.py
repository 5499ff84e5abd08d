"""The table of cells: columns that read as rows."""

import numpy as np
import pytest

from brittlestar.results.cell_table import CellTable
from brittlestar.results.write import write_rows

PIECES = [
    {"policy": ["b", "b"], "seed": [0, 1], "return": np.array([1.5, np.nan])},
    {"policy": ["a"], "seed": [0], "return": np.array([2.0]), "baseline_check": ["ok"]},
]


def test_rows_are_those_of_the_columns():
    table = CellTable(PIECES)
    assert len(table) == 3 and table[2] == {"policy": "a", "seed": 0, "return": 2.0, "baseline_check": "ok"}
    assert [row["seed"] for row in table[:2]] == [0, 1] and type(table[0]["return"]) is float
    assert CellTable() == [] and len(CellTable()) == 0


def test_pieces_are_ordered_by_their_labels():
    table = CellTable(PIECES).in_order(lambda row: row["policy"])
    assert [row["policy"] for row in table] == ["a", "b", "b"]


def test_a_column_that_some_cells_lack_is_empty_there():
    assert CellTable(PIECES).columns()["baseline_check"] == [None, None, "ok"]


@pytest.mark.parametrize("suffix", [".csv", ".md", ".json", ".parquet"])
def test_columns_and_rows_are_written_alike(tmp_path, suffix):
    table = CellTable(PIECES)
    write_rows(table, tmp_path / "columns")
    write_rows(list(table), tmp_path / "rows")
    columns, rows = ((tmp_path / name).with_suffix(suffix) for name in ("columns", "rows"))
    if suffix == ".parquet":
        from pyarrow import parquet

        assert parquet.read_table(columns).equals(parquet.read_table(rows))
    else:
        assert columns.read_text() == rows.read_text()


def test_a_column_without_any_number_is_written_as_that_of_rows(tmp_path):
    table = CellTable([{"seed": [0], "return": np.array([np.nan])}])
    write_rows(table, tmp_path / "columns")
    assert (tmp_path / "columns.csv").read_text() == "seed,return\n0,\n"
