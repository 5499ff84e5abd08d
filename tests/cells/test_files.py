import pytest

from brittlestar.cells.files import previous, write_file, write_folder
from brittlestar.errors import UserError


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_whole(tmp_path, durable):
    path = tmp_path / "file"
    write_file(path, "old", durable)
    write_file(path, lambda file: file.write(b"new"), durable)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_file(path, "old")

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match=r"cannot write .*file: No space left on device"):
        write_file(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_replaced_whole(tmp_path):
    folder = tmp_path / "folder"
    for name in ("one", "two"):
        write_folder(folder, lambda fresh, name=name: (fresh / name).touch())
    assert [path.name for path in folder.iterdir()] == ["two"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_cannot_be_filled_leaves_the_old_one(tmp_path):
    folder = tmp_path / "folder"
    write_folder(folder, lambda fresh: (fresh / "one").touch())
    with pytest.raises(ZeroDivisionError):
        write_folder(folder, lambda fresh: 1 / 0)
    assert [path.name for path in folder.iterdir()] == ["one"]
    assert not previous(folder).exists()
