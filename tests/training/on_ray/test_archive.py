from pathlib import Path

import pytest

from brittlestar.training.on_ray import archive
from brittlestar.training.on_ray.archive import ARRIVED, add_piece, pack_folder, pieces_of, unpack_folder

FILES = {"last/model.zip": b"model", "last/deep/x": b"", "curve.jsonl": b"{}\n", "metadata.json": b"{}"}


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_arrives_as_it_was_and_hidden_files_do_not_travel(tmp_path):
    source = fill(tmp_path / "source", FILES | {".in_use": b"claim", ".sent": b"archive"})
    assert pack_folder(source, tmp_path / "archive")
    target = fill(tmp_path / "target", {".in_use": b"mine"})
    unpack_folder(tmp_path / "archive", target)
    assert content(target) == FILES | {".in_use": b"mine"}


def test_a_folder_without_results_is_no_archive(tmp_path):
    source = fill(tmp_path / "source", {".in_use": b"claim"})
    assert not pack_folder(source, tmp_path / "archive")
    assert not (tmp_path / "archive").exists()


def test_an_archive_replaces_what_was_there(tmp_path):
    pack_folder(fill(tmp_path / "source", FILES), tmp_path / "archive")
    target = fill(tmp_path / "target", {"last/old": b"", "curve.jsonl": b"old", f"{ARRIVED}/rest": b"of a kill"})
    unpack_folder(tmp_path / "archive", target)
    assert content(target) == FILES


def test_the_sign_of_the_end_comes_last_and_a_checkpoint_before_its_scores(tmp_path, monkeypatch):
    pack_folder(fill(tmp_path / "source", FILES), tmp_path / "archive")
    order = []
    monkeypatch.setattr(archive, "_replace", lambda path, target: order.append(path.name))
    unpack_folder(tmp_path / "archive", fill(tmp_path / "target", {".in_use": b""}))
    assert order == ["last", "curve.jsonl", "metadata.json"]


@pytest.mark.parametrize("size", [1, 4, 10, 11])
def test_pieces_make_the_whole_file(tmp_path, monkeypatch, size):
    monkeypatch.setattr(archive, "PIECE_BYTES", size)
    (tmp_path / "sent").write_bytes(b"0123456789")
    # A task that died has sent some pieces before.
    (tmp_path / "arriving").write_bytes(b"the rest of an earlier, longer file")
    pieces = list(pieces_of(tmp_path / "sent"))
    whole = [add_piece(tmp_path / "arriving", piece) for piece in pieces]
    assert whole == [False] * (len(pieces) - 1) + [True]
    assert (tmp_path / "arriving").read_bytes() == b"0123456789"


def test_a_file_with_a_missing_piece_is_not_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "PIECE_BYTES", 4)
    (tmp_path / "sent").write_bytes(b"0123456789")
    first, _, last = pieces_of(tmp_path / "sent")
    assert [add_piece(tmp_path / "arriving", piece) for piece in (first, last)] == [False, False]
