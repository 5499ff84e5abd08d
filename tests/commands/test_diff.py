from __future__ import annotations

import csv
import json

import pytest

from brittlestar.commands.diff import main


@pytest.fixture
def sweeps(make_cell, save_cells, tmp_path):
    for folder, counts in {"old": [50, 40, 20], "new": [50, 20, 20]}.items():
        pairs = zip((0, 0.1, 0.2), counts, strict=True)
        cells = [make_cell([1.0] * k + [0.0] * (50 - k), strength=s, seed=seed) for s, k in pairs for seed in (0, 1)]
        save_cells(tmp_path / folder, cells)


def test_a_regression_ends_with_code_3(call, sweeps, page_table):
    code, out, _ = call(main, "old", "new")
    assert code == 3
    assert out.startswith("# 2 regressions, 2 same\n\nOld: old\nNew: new\n")
    row = next(line for line in out.splitlines() if line.startswith("| 0.1 "))
    assert [word.strip() for word in row.strip("|").split("|")][:3] == ["0.1", "0.8", "0.4"]
    assert row.endswith("| regression |")


def test_no_regression_ends_with_code_0(call, sweeps):
    assert call(main, "new", "old")[0] == 0
    code, out, _ = call(main, "old", "old")
    assert (code, out.partition("\n")[0]) == (0, "# the same results in every episode")


def test_files_hold_every_comparison(call, sweeps, tmp_path):
    code, out, _ = call(main, "old", "new", "--out", "diff", "--measure", "success_any", "--measure", "dwell", "--json")
    record = json.loads(out)
    assert code == 3 and json.loads((tmp_path / "diff" / "diff.json").read_text()) == record
    with open(tmp_path / "diff" / "diff.csv") as file:
        rows = list(csv.DictReader(file))
    assert [(row["measure"], row["level"], row["verdict"]) for row in rows] == [
        (row["measure"], str(row["level"]), row["verdict"]) for row in record["rows"]
    ]
    assert len(rows) == 8
    assert (tmp_path / "diff" / "diff.md").read_text().startswith("# 4 regressions, 4 same\n")


def test_mistakes_are_one_line(call, sweeps):
    assert call(main, "old", "nowhere") == (1, "", "brittlestar: no folder at nowhere\n")
    code, _, error = call(main, "old", "new", "--measure", "retrun")
    assert (code, error) == (1, "brittlestar: `--measure retrun` is not a metric; did you mean `return`?\n")
