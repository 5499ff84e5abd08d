import os

import numpy as np
import pytest

from brittlestar.cells import store as records
from brittlestar.errors import UserError


def test_a_written_cell_is_read_back(tmp_path):
    rows = np.array([[0.0, np.nan], [1.0, 2.0]])
    records.write_cell(tmp_path / "cell", {"status": "done", "x": float("nan")}, {records.ROWS: rows})
    assert records.read_manifest(tmp_path / "cell")["status"] == "done"
    assert np.array_equal(records.read_rows(tmp_path / "cell"), rows, equal_nan=True)


@pytest.mark.parametrize("content", [None, b"", b'{"status": "do', b"\xff\xfe"])
def test_an_incomplete_manifest_is_no_cell(tmp_path, content):
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    assert records.read_manifest(tmp_path) is None


def test_the_manifest_comes_last(tmp_path, monkeypatch):
    def torn(folder, manifest, durable=False):
        raise KeyboardInterrupt

    monkeypatch.setattr(records, "write_manifest", torn)
    with pytest.raises(KeyboardInterrupt):
        records.write_cell(tmp_path, {}, {records.ROWS: np.zeros((1, 1))})
    assert records.read_manifest(tmp_path) is None


def test_an_error_of_damaged_rows_names_the_remedy(tmp_path):
    (tmp_path / "episodes.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(UserError, match=r"episodes.npy cannot be read .*remove .* and run again"):
        records.read_rows(tmp_path)


def test_rows_are_linked_repeatedly(tmp_path):
    for value in (1.0, 2.0, 2.0):
        records.write_cell(tmp_path / "store", {}, {records.ROWS: np.full((1, 1), value)})
        records.link_rows(tmp_path / "store", tmp_path / "job")
        records.link_rows(tmp_path / "store", tmp_path / "job")
        assert records.read_rows(tmp_path / "job")[0, 0] == value
    assert sorted(os.listdir(tmp_path / "job")) == ["episodes.npy"]


def test_rows_are_copied_across_file_systems(tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError("cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    records.write_cell(tmp_path / "store", {}, {records.ROWS: np.ones((1, 1))})
    records.link_rows(tmp_path / "store", tmp_path / "job")
    assert records.read_rows(tmp_path / "job")[0, 0] == 1


def test_cells_are_listed_in_the_order_of_their_numbers(tmp_path):
    for name in ("10", "9", "0"):
        records.write_manifest(tmp_path / name, {})
    assert [path.name for path in records.find_cells(tmp_path)] == ["0", "9", "10"]
    records.forget_cells(tmp_path)
    assert records.find_cells(tmp_path) == []


def test_unwritable_folders_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write to .*/file/store: Not a directory"):
        records.write_cell(tmp_path / "file" / "store", {}, {records.ROWS: np.zeros((1, 1))})
