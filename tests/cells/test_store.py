"""The store: one file per cell, whole or not at all, and never used when damaged."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from brittlestar.cells import store
from brittlestar.cells.record import DamagedCellError, encode
from brittlestar.errors import UserError

NAME, OTHER = "ab" + 30 * "0", "cd" + 30 * "0"


def record(cell=NAME, value=1.0) -> bytes:
    return encode({"cell": cell, "status": "done"}, {"episodes": np.full((2, 2), value)})


def test_a_written_cell_is_read_back(tmp_path):
    store.write_record(str(tmp_path), NAME, record())
    assert store.read_record(str(tmp_path), NAME) == record()
    assert store.load_cell(str(tmp_path), NAME).arrays["episodes"].tolist() == [[1, 1], [1, 1]]
    assert store.load_cell(str(tmp_path), OTHER) is None and store.read_record(str(tmp_path), OTHER) is None


def test_a_cell_is_one_file_and_leaves_no_other(tmp_path):
    for name in (NAME, OTHER):
        store.write_record(str(tmp_path), name, record(name))
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(map(str, files)) == [f"ab/{NAME}.cell", f"cd/{OTHER}.cell"]
    assert [name for name, _ in store.stored_cells(tmp_path)] == [NAME, OTHER]


def test_a_damaged_cell_is_not_used(tmp_path):
    store.write_record(str(tmp_path), NAME, record())
    path = store.cell_file(str(tmp_path), NAME)
    path.write_bytes(path.read_bytes()[:-1])
    assert store.read_record(str(tmp_path), NAME) is None
    with pytest.raises(DamagedCellError, match="`episodes` has another digest"):
        store.load_cell(str(tmp_path), NAME)


def test_a_cell_under_the_name_of_another_is_not_used(tmp_path):
    store.write_record(str(tmp_path), NAME, record(OTHER))
    assert store.read_record(str(tmp_path), NAME) is None
    with pytest.raises(DamagedCellError, match=f"it is the cell {OTHER}"):
        store.load_cell(str(tmp_path), NAME)


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write_record(str(tmp_path), NAME, record())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_store_that_cannot_be_written_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write to .*/file/store/unfinished: Not a directory"):
        store.check_store(str(tmp_path / "file" / "store"))
    with pytest.raises(UserError, match=r"cannot write to .*/file/ab: Not a directory"):
        store.write_record(str(tmp_path / "file"), NAME, record())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_refused(tmp_path, monkeypatch):
    from brittlestar.cells import files

    monkeypatch.setattr(files, "temporary_path", lambda folder, name: tmp_path / "full")
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(UserError, match="No space left on device"):
        store.check_store(str(tmp_path))


def test_files_that_were_never_finished_are_removed_after_a_day(tmp_path):
    store.check_store(str(tmp_path))
    old, new = tmp_path / "unfinished" / ".a", tmp_path / "unfinished" / ".b"
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - 90_000,) * 2)
    store.check_store(str(tmp_path))
    assert list((tmp_path / "unfinished").iterdir()) == [new]


def test_an_empty_folder_in_the_place_of_a_cell_is_replaced(tmp_path):
    cell = "ab" * 16
    store.cell_file(str(tmp_path), cell).mkdir(parents=True)
    with pytest.raises(DamagedCellError, match="Is a directory"):
        store.load_cell(str(tmp_path), cell)
    store.write_record(str(tmp_path), cell, encode({"cell": cell}, {}))
    assert store.load_cell(str(tmp_path), cell).manifest["cell"] == cell
