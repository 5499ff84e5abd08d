"""Cells in little memory: what comes out is what went in."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import numpy as np
import pytest

from brittlestar.results.load import load_packed
from brittlestar.results.packed_cells import pack_cells

SMALL, LARGE = 50, 500
MOST_KILOBYTES = 1.0
"""Of a cell in the memory of `brittlestar aggregate`; it took 1.5 when every cell was an object, and takes 0.6."""


@pytest.fixture
def sweep(make_cell):
    return [make_cell([1.0, seed % 2], strength=level, seed=seed) for level in (0.0, 0.1, 0.2) for seed in range(4)]


def test_packed_cells_are_those_that_were_read(sweep, save_cells, tmp_path):
    packed = load_packed([save_cells(tmp_path, sweep)])
    assert len(packed) == len(sweep) and len(packed.kinds()) == 3
    for cell, original in zip(packed, sweep, strict=True):
        assert (cell.seed, cell.strength, cell.done, cell.flat) == (
            original.seed, original.strength, original.done, original.flat,
        )  # fmt: skip
        np.testing.assert_array_equal(cell.rows(), original.rows())


def test_cells_in_memory_remain_the_same_objects(sweep):
    packed = pack_cells(sweep)
    assert all(cell is original for cell, original in zip(packed, sweep, strict=True))
    assert packed[-1] is sweep[-1] and packed[2:4] == sweep[2:4] and packed.choose([5, 1])[0] is sweep[5]


def test_cells_are_grouped_in_the_order_in_which_values_appear(sweep, save_cells, tmp_path):
    packed = load_packed([save_cells(tmp_path, sweep)]).choose([11, 0, 5, 10, 4])
    groups = packed.groups(lambda cell: cell.strength)
    assert {level: [cell.seed for cell in cells] for level, cells in groups.items()} == {
        0.2: [3, 2],
        0: [0],
        0.1: [1, 0],
    }
    assert list(groups) == [0.2, 0, 0.1]
    assert [cell.seed for cell in packed.where(lambda cell: cell.strength > 0.15)] == [3, 2]
    assert pack_cells([]).groups(lambda cell: cell.strength) == {}


def test_phases_are_kinds_of_their_own(make_cell, save_cells, tmp_path):
    cells = [make_cell([1.0, 0.0], seed=seed) for seed in (0, 1)]
    for number, cell in enumerate(cells):
        cell.manifest = copy.deepcopy(cell.manifest) | {"phases": ["calm", "shock"], "number": number}
        cell.held[:, list(cell.manifest["columns"]).index("phase")] = [0, 1]
    split = load_packed([save_cells(tmp_path, cells)]).split(lambda cell: cell.by_phase())
    assert [(cell.seed, cell.phase, len(cell.rows())) for cell in split] == [
        (0, "calm", 1), (0, "shock", 1), (1, "calm", 1), (1, "shock", 1),
    ]  # fmt: skip


WRITE = """
import sys
from pathlib import Path
from brittlestar.studies.speed.sweeps import write_cells
write_cells(Path(sys.argv[1]) / "sweep", int(sys.argv[2]), 20)
"""


def aggregate_kilobytes(folder, seeds):
    folder.mkdir()
    subprocess.run([sys.executable, "-c", WRITE, str(folder), str(seeds)], check=True, capture_output=True)
    command = [sys.executable, "-m", "brittlestar.commands.main", "aggregate", "sweep"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


@pytest.mark.slow
def test_the_memory_of_aggregate_hardly_grows_with_the_cells(tmp_path):
    small, large = (aggregate_kilobytes(tmp_path / str(seeds), seeds) for seeds in (SMALL, LARGE))
    assert (large - small) / (200 * (LARGE - SMALL)) < MOST_KILOBYTES
