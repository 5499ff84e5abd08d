from __future__ import annotations

import csv
import json
import math
import os

import numpy as np
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from brittlestar.errors import UserError
from brittlestar.results import write as tablefiles
from brittlestar.results.aggregate import aggregate
from brittlestar.results.write import write_tables

NAMES = ("episodes", "cells", "curve", "summary", "failures")
FORMATS = ("csv", "parquet", "md", "json")


@pytest.fixture
def sweep(make_cell, fail_cell):
    """Two curves that differ in a number, one of them with a failure, one that never breaks."""
    cells = []
    for alpha, successes in ((0.123456789, [1, 0, 0]), (1, [1, 1, 1])):
        options = {"choices": {"mitigation": "low_pass"}, "config": {"mitigation": {"alpha": alpha}}}
        for seed in (0, 1):
            cells.append(make_cell([1, 1, 1], seed=seed, time_to_success=[2, 3, np.nan], **options))
            cells.append(make_cell(successes, strength=1 / 3, seed=seed, **options))
    return [*cells, fail_cell(make_cell(strength=0.7, **options), 'it wrote: "no", twice')]


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def same(from_csv: str, value) -> bool:
    if value is None or isinstance(value, str):
        return from_csv == (value or "")
    return from_csv == str(value) if isinstance(value, bool) else float(from_csv) == float(value)


def test_every_table_in_every_format(sweep, tmp_path):
    write_tables(aggregate(sweep), tmp_path / "new" / "folder")
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == sorted(f"{n}.{f}" for n in NAMES for f in FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_csv_parquet_and_json_hold_the_same(sweep, tmp_path, name):
    write_tables(aggregate(sweep), tmp_path)
    rows = parquet.read_table(tmp_path / f"{name}.parquet").to_pylist()
    from_json = json.loads((tmp_path / f"{name}.json").read_text())
    from_csv = read_csv(tmp_path / f"{name}.csv")
    assert len(rows) == len(from_json) == len(from_csv) > 0
    for row, other, texts in zip(rows, from_json, from_csv, strict=True):
        assert list(row) == list(other) == list(texts)
        assert {k: str(v) if v in (math.inf, -math.inf) else v for k, v in row.items()} == other
        assert [k for k in row if not same(texts[k], row[k])] == []
    lines = (tmp_path / f"{name}.md").read_text().splitlines()
    assert len(lines) == len(rows) + 2
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == list(rows[0])


def test_files_hold_what_the_tables_hold(sweep, tmp_path):
    tables = aggregate(sweep)
    write_tables(tables, tmp_path)
    for name in NAMES[1:]:
        for row, stored in zip(getattr(tables, name), json.loads((tmp_path / f"{name}.json").read_text()), strict=True):
            wanted = {k: None if v != v else "inf" if v == math.inf else v for k, v in row.items()}
            assert wanted == stored


def test_episodes_are_the_rows_of_the_cells(sweep, tmp_path):
    write_tables(aggregate(sweep), tmp_path)
    table = parquet.read_table(tmp_path / "episodes.parquet")
    rows = table.to_pylist()
    assert len(rows) == 3 * 8
    assert [row["mitigation.alpha"] for row in rows[::12]] == [0.123456789, 1]
    assert {row["strength"] for row in rows} == {0, 1 / 3}
    assert rows[0] | {"phase": "all", "strength_name": "sigma", "seed": 0, "episode": 0, "length": 50} == rows[0]
    assert [row["time_to_success"] for row in rows[:3]] == [2, 3, None]
    assert str(table.schema.field("reset_seed").type) == "int64"
    assert arrow_csv.read_csv(tmp_path / "episodes.csv").num_rows == len(rows)


@pytest.mark.parametrize("piece", [1, 4, 7])
def test_episodes_in_pieces_are_the_same(sweep, tmp_path, monkeypatch, piece):
    tables = aggregate(sweep)
    write_tables(tables, tmp_path / "whole")
    monkeypatch.setattr(tablefiles, "_PIECE_ROWS", piece)
    write_tables(tables, tmp_path / "pieces")
    for suffix in ("csv", "md", "json"):
        whole, pieces = ((tmp_path / folder / f"episodes.{suffix}").read_bytes() for folder in ("whole", "pieces"))
        assert whole == pieces


def test_phases_have_names(make_cell, tmp_path):
    cells = [make_cell([1, 1], phase=[0, 1]), make_cell([1, 1], seed=1, phase=[1, 0])]
    cells[0].manifest["phases"] = ["pre", "shock"]
    cells[1].manifest["phases"] = ["shock", "post"]
    write_tables(aggregate(cells), tmp_path)
    assert [row["phase"] for row in read_csv(tmp_path / "episodes.csv")] == ["pre", "shock", "shock", "post"]


def test_labels_of_mixed_types_become_text(make_cell, tmp_path):
    keys = [{"config": {"perturbation": {"keys": value}}} for value in (["a"], 3, None)]
    write_tables(aggregate([make_cell(**options) for options in keys]), tmp_path)
    for name in ("episodes", "cells"):
        rows = parquet.read_table(tmp_path / f"{name}.parquet").to_pylist()
        assert [row["perturbation.keys"] for row in rows] == ["3", '["a"]', None]


def test_the_same_cells_give_the_same_bytes(sweep, tmp_path):
    for seed in range(3):
        shuffled = [sweep[i] for i in np.random.default_rng(seed).permutation(len(sweep))]
        write_tables(aggregate(shuffled), tmp_path / str(seed))
    for name in NAMES:
        for suffix in FORMATS:
            first, *others = ((tmp_path / str(seed) / f"{name}.{suffix}").read_bytes() for seed in range(3))
            assert others == [first, first], f"{name}.{suffix}"


def test_missing_is_empty_everywhere(sweep, tmp_path):
    write_tables(aggregate(sweep), tmp_path)
    assert read_csv(tmp_path / "cells.csv")[0]["collision_rate"] == ""
    assert json.loads((tmp_path / "cells.json").read_text())[0]["collision_rate"] is None
    assert parquet.read_table(tmp_path / "cells.parquet")["collision_rate"].null_count == 8
    assert "nan" not in (tmp_path / "cells.md").read_text()


def test_a_strength_beyond_the_sweep_is_infinite(sweep, tmp_path):
    write_tables(aggregate(sweep), tmp_path)
    unbroken = json.loads((tmp_path / "summary.json").read_text())[-1]
    assert (unbroken["critical_interpolated"], unbroken["critical_interpolated_high"]) == (None, "inf")
    assert parquet.read_table(tmp_path / "summary.parquet")["critical_interpolated_high"][3].as_py() == math.inf
    assert read_csv(tmp_path / "summary.csv")[-1]["critical_interpolated_high"] == "inf"


def test_long_tables_of_episodes_have_no_markdown_and_json(sweep, tmp_path, monkeypatch):
    write_tables(aggregate(sweep), tmp_path)
    monkeypatch.setattr(tablefiles, "READABLE_ROWS", 23)
    write_tables(aggregate(sweep), tmp_path)
    assert [f for f in FORMATS if (tmp_path / f"episodes.{f}").exists()] == ["csv", "parquet"]
    assert (tmp_path / "cells.md").exists()


def test_nothing_finished(make_cell, fail_cell, tmp_path):
    write_tables(aggregate([fail_cell(make_cell())]), tmp_path)
    for name in NAMES:
        expected = 1 if name == "failures" else 0
        assert len(read_csv(tmp_path / f"{name}.csv")) == expected
        assert len(json.loads((tmp_path / f"{name}.json").read_text())) == expected
        assert parquet.read_table(tmp_path / f"{name}.parquet").num_rows == expected
        assert (tmp_path / f"{name}.md").read_text().startswith("| env")
    assert read_csv(tmp_path / "failures.csv")[0]["error"] == "it broke"


def test_unwritable_folders_are_named(sweep, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write to .*/file/out"):
        write_tables(aggregate(sweep), tmp_path / "file" / "out")
