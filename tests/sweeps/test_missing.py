"""Cells without a record are counted and named, whatever launcher was to compute them."""

import numpy as np
import pytest

from brittlestar.cells.claims import Claim
from brittlestar.cells.record import DamagedCellError, decode, encode
from brittlestar.sweeps.index import INDEX
from brittlestar.sweeps.index_writer import IndexWriter, write_plan
from brittlestar.sweeps.missing import missing_cells


def write(folder, numbers, cells, first=0):
    with IndexWriter(folder, cells, first) as index:
        for number in numbers:
            manifest = {"number": number, "choices": {}, "status": "done", "overrides": [f"seed={number}"]}
            index.write(*decode(encode(manifest, {"episodes": np.full(3, float(number))})))


def missing(folder):
    return [(sweep.folder.name, sweep.numbers, sweep.total) for sweep in missing_cells(folder)]


def test_a_whole_sweep_lacks_nothing(tmp_path):
    write(tmp_path / "a", [0, 1], 2)
    write(tmp_path / "a", [3, 2], 2, first=2)
    assert missing(tmp_path / "a") == missing(tmp_path) == []


def test_every_sweep_below_a_folder_states_what_it_lacks(tmp_path):
    write(tmp_path / "a", [0, 2], 4)
    write(tmp_path / "b", [0], 1)
    write_plan(tmp_path / "c", [["seed=0"], ["seed=1"], ["seed=2"]])
    write(tmp_path / "c" / "1", [1], 1)
    assert missing(tmp_path) == [("a", [1, 3], 4), ("c", [0, 2], 3)]
    assert str(missing_cells(tmp_path)[0]) == f"2 of 4 cells of {tmp_path / 'a'} have no record (cells 1, 3)"


def test_the_cell_of_an_earlier_sweep_does_not_count(tmp_path):
    write_plan(tmp_path, [["seed=5"], ["seed=1"]])
    for number in (0, 1):
        write(tmp_path / str(number), [number], 1)
    assert missing(tmp_path) == [(tmp_path.name, [0], 2)]


def test_a_line_that_is_cut_or_there_twice_is_no_other_record(tmp_path):
    write(tmp_path, [0, 1, 2], 4)
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(b"".join([*lines[:-1], lines[-2], lines[-1][:-3]]))
    assert missing(tmp_path) == [(tmp_path.name, [2, 3], 4)]


def test_lost_lines_of_a_whole_sweep_are_damage(tmp_path):
    write(tmp_path, [0, 1, 2], 3)
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(DamagedCellError, match="of cell 1"):
        missing_cells(tmp_path)


def test_a_sweep_runs_while_its_folder_is_claimed(tmp_path):
    write(tmp_path, [0], 2)
    (sweep,) = missing_cells(tmp_path)
    assert not sweep.runs
    claim = Claim(tmp_path)
    assert sweep.runs
    claim.release()
