"""Verification: what is damaged or missing in a store or a sweep is named."""

import numpy as np
import pytest

from brittlestar.cells.record import decode, encode
from brittlestar.cells.store import write_record
from brittlestar.commands import verify as command
from brittlestar.results.verify import verify
from brittlestar.sweeps.index import INDEX
from brittlestar.sweeps.index_writer import IndexWriter, write_plan


def write(folder, *numbers):
    with IndexWriter(folder, len(numbers)) as index:
        for number in numbers:
            manifest = {"number": number, "choices": {}, "status": "done", "overrides": [f"seed={number}"]}
            record = decode(encode(manifest, {"episodes": np.full(3, float(number))}))
            index.write(record.manifest, record.arrays)


def problems(folder):
    return [check.problem for check in verify(folder) if check.problem]


def test_whole_sweeps_and_stores_have_no_problem(tmp_path):
    write(tmp_path / "sweep", 0, 1)
    write_record(str(tmp_path / "store"), "ab" * 16, encode({"cell": "ab" * 16}, {}))
    assert problems(tmp_path / "sweep") == problems(tmp_path / "store") == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"sweep": {"cel'])
def test_an_index_without_its_first_line_is_damaged(tmp_path, content):
    write(tmp_path, 0, 1)
    (tmp_path / INDEX).write_bytes(content)
    assert problems(tmp_path) == ["it is empty, or its first line was cut"]


def test_a_missing_cell_of_a_sweep_with_a_folder_for_each_is_named(tmp_path):
    write_plan(tmp_path, [["seed=0"], ["seed=1"]])
    write(tmp_path / "0", 0)
    state = "the sweep was ended; its command computes them"
    assert problems(tmp_path) == [f"1 of 2 cells of {tmp_path} have no record (cell 1): {state}"]


def test_a_lost_line_is_damage(tmp_path):
    write(tmp_path, 0, 1, 2)
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(b"".join(lines[:3] + lines[4:]))
    (problem,) = problems(tmp_path)
    assert "lacks lines that were written, of cell 1" in problem


def test_a_store_with_a_sweep_in_it_is_checked_too(tmp_path):
    write(tmp_path / "sweep", 0)
    write_record(str(tmp_path), "ab" * 16, b"damaged")
    assert problems(tmp_path) == ["its manifest has another digest than it was written with"]


def test_a_damaged_index_is_no_cell(tmp_path, call):
    write(tmp_path, 0, 1)
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(b"".join(lines[:-1]))
    code, _, error = call(command.main, str(tmp_path))
    head = "brittlestar: 1 index damaged; the command of a sweep makes its folder again"
    assert code == 1 and error.splitlines()[0] == head
