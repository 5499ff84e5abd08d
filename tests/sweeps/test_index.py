"""The index of a sweep: every line and every array is checked when it is read."""

import contextlib
import resource
import time

import numpy as np
import pytest

from brittlestar.cells.claims import Claim
from brittlestar.cells.record import DamagedCellError, decode, encode
from brittlestar.errors import UserError
from brittlestar.randomness import generator
from brittlestar.sweeps.index import (
    ARRAYS,
    INDEX,
    find_indexes,
    forget_cells,
    read_header,
    read_index,
)
from brittlestar.sweeps.index_writer import IndexWriter, write_plan


def manifest(number, **values):
    config = {"seed": number, "perturbation": {"sigma": 0.1 * number}}
    return {"cell": f"{number:032}", "number": number, "config": config, "choices": {}, "status": "done"} | values


def write(folder, numbers, first=0, **values):
    with IndexWriter(folder, len(numbers), first) as index:
        for number in numbers:
            arrays = {"episodes": np.full((2, 3), float(number)), "rewards": np.full(4, number, np.float32)}
            record = decode(encode(manifest(number, **values), arrays))
            index.write(record.manifest, record.arrays)


def read(folder):
    return [
        (dict(entry.manifest), *(array(entry, name) for name in ("episodes", "rewards")))
        for entry in read_index(folder)
    ]


def array(entry, name):
    return entry.arrays.read(entry.offset, entry.manifest["files"], name)


def test_cells_are_read_back(tmp_path):
    write(tmp_path, [0, 1, 2])
    for number, (found, episodes, rewards) in enumerate(read(tmp_path)):
        assert {key: found[key] for key in manifest(number)} == manifest(number)
        assert (episodes == number).all() and episodes.shape == (2, 3)
        assert rewards.tolist() == 4 * [number] and rewards.dtype == np.float32
    assert read_header(tmp_path)[0] == 3


@pytest.mark.parametrize("letters", [0, 5_000, 50_000])
def test_rare_values_are_read_again_when_they_are_asked_for(tmp_path, letters):
    with IndexWriter(tmp_path, 2) as index:
        for number in range(2):
            record = decode(encode(manifest(number, overrides=[f"a={number}", "x" * letters]), {}))
            index.write(record.manifest, {})
    for number, entry in enumerate(read_index(tmp_path)):
        assert "overrides" not in entry.manifest.changes and "overrides" in entry.manifest
        assert entry.manifest["overrides"] == [f"a={number}", "x" * letters]


def test_a_line_that_changes_after_it_was_read_is_damage(tmp_path):
    write(tmp_path, [0, 1])
    entries = list(read_index(tmp_path))
    text = (tmp_path / INDEX).read_text()
    (tmp_path / INDEX).write_text(text.replace('"digest": "', '"digest": "0'))
    with pytest.raises(DamagedCellError, match="cells.jsonl is damaged"):
        entries[1].manifest["files"]


def test_a_sweep_in_parts_has_one_index(tmp_path):
    write(tmp_path, [0, 1])
    write(tmp_path, [2, 3], first=2, error="other keys")
    assert [found["number"] for found, *_ in read(tmp_path)] == [0, 1, 2, 3]
    assert [int(episodes[0, 0]) for _, episodes, _ in read(tmp_path)] == [0, 1, 2, 3]
    assert read_header(tmp_path)[0] == 4


def test_a_new_sweep_replaces_the_old_one(tmp_path):
    write(tmp_path, [0, 1, 2])
    write(tmp_path, [5])
    assert [found["number"] for found, *_ in read(tmp_path)] == [5]


def test_lines_are_short(tmp_path):
    write(tmp_path, range(50))
    lines = (tmp_path / INDEX).read_text().splitlines()
    assert len(lines) == 53 and max(map(len, lines[2:])) < 400


def test_every_damaged_bit_is_noticed(tmp_path):
    write(tmp_path, [0, 1])
    for name in (INDEX, ARRAYS):
        data = (tmp_path / name).read_bytes()
        for place in range(0, len(data) - 1, 7):
            damaged = bytearray(data)
            damaged[place] ^= 1 << place % 8
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(DamagedCellError, match="is damaged .*run the command of the sweep again"):
                read(tmp_path)
        (tmp_path / name).write_bytes(data)
    assert len(read(tmp_path)) == 2


def test_a_line_that_was_not_finished_is_a_missing_cell(tmp_path):
    write(tmp_path, [0, 1])
    lines = (tmp_path / INDEX).read_bytes().splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(b"".join(lines[:-1])[:-3])
    assert len(read(tmp_path)) == 1 and read_header(tmp_path)[0] == 2


def test_indexes_are_found_in_the_order_of_their_numbers_and_forgotten(tmp_path):
    for name in ("10", "9", "0"):
        write(tmp_path / name, [int(name)])
    assert [path.name for path in find_indexes(tmp_path)] == ["0", "9", "10"]
    forget_cells(tmp_path)
    assert find_indexes(tmp_path) == [] and read_header(tmp_path) == (None, None)


def test_a_cell_is_on_disk_soon_even_if_no_other_one_follows(tmp_path):
    with IndexWriter(tmp_path, 3) as index:
        for number in (0, 1):
            index.write(manifest(number), {})
        last = time.monotonic() + 10
        while len(list(read_index(tmp_path))) < 2:
            assert time.monotonic() < last
            time.sleep(0.02)
    assert len(list(read_index(tmp_path))) == 2


def test_no_line_is_on_disk_before_its_arrays(tmp_path):
    with IndexWriter(tmp_path, 100) as index:
        for number in range(100):
            arrays = {"episodes": np.full((2, 3), float(number))}
            record = decode(encode(manifest(number, notes="x" * 1000), arrays))
            index.write(record.manifest, record.arrays)
            for entry in read_index(tmp_path):
                array(entry, "episodes")


def test_a_removed_line_or_file_is_noticed(tmp_path):
    write(tmp_path, [0, 1])
    lines = (tmp_path / INDEX).read_text().splitlines(keepends=True)
    (tmp_path / INDEX).write_text("".join(lines[:1] + lines[2:]))
    with pytest.raises(DamagedCellError, match="lacks a line that line 2 needs: run the command of the sweep again"):
        read(tmp_path)
    (tmp_path / INDEX).write_text("".join(lines[1:]))
    with pytest.raises(DamagedCellError, match="lacks its first line: run the command of the sweep again"):
        read(tmp_path)
    (tmp_path / INDEX).write_text("".join(lines))
    (tmp_path / ARRAYS).unlink()
    with pytest.raises(DamagedCellError, match=r"cells.bin cannot be read \(No such file or directory\): run the"):
        read(tmp_path)


def change_lines(folder, change):
    lines = (folder / INDEX).read_bytes().splitlines(keepends=True)
    (folder / INDEX).write_bytes(b"".join(change(lines)))


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:3] + lines[4:],
        lambda lines: [*lines[:3], lines[4], *lines[4:]],
    ],
    ids=["removed", "in the place of another"],
)
def test_a_line_that_a_whole_sweep_lost_is_noticed(tmp_path, change):
    write(tmp_path, [0, 1, 2])
    change_lines(tmp_path, change)
    with pytest.raises(DamagedCellError, match=r"lacks lines that were written, of cell 1: run the command"):
        read(tmp_path)


def test_a_line_that_a_later_part_lost_is_noticed(tmp_path):
    write(tmp_path, [0, 1])
    write(tmp_path, [2, 3], first=2)
    whole = (tmp_path / INDEX).read_bytes()
    assert len(read(tmp_path)) == 4
    for line in range(5, 9):
        (tmp_path / INDEX).write_bytes(whole)
        change_lines(tmp_path, lambda lines, line=line: lines[:line] + lines[line + 1 :])
        with pytest.raises(DamagedCellError, match="lacks"):
            read(tmp_path)


def test_a_later_part_that_is_lost_is_noticed_by_its_arrays(tmp_path):
    write(tmp_path, [0, 1])
    lines = len((tmp_path / INDEX).read_bytes().splitlines())
    write(tmp_path, [2, 3], first=2)
    change_lines(tmp_path, lambda every: every[:lines])
    with pytest.raises(DamagedCellError, match="lacks lines at its end"):
        read(tmp_path)


def test_a_plan_that_lost_its_line_is_noticed(tmp_path):
    write_plan(tmp_path, [["seed=0"], ["seed=1"]])
    assert read(tmp_path) == []
    change_lines(tmp_path, lambda lines: [lines[0], lines[2]])
    with pytest.raises(DamagedCellError, match="lacks lines that were written"):
        read(tmp_path)


def flip(data, rng):
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ 1 << int(rng.integers(8))]) + data[place + 1 :]


def cut(data, rng):
    return data[: int(rng.integers(len(data)))]


def swap(data, rng):
    lines = data.splitlines(keepends=True)
    one, other = rng.choice(range(3, len(lines) - 1), 2, replace=False)
    return b"".join(lines[other] if i == one else line for i, line in enumerate(lines))


def edit(data, rng):
    return data.replace(b'"seed": ', b'"seed": 1', int(rng.integers(1, 5)))


def delete(data, rng):
    lines = data.splitlines(keepends=True)
    gone = int(rng.integers(len(lines)))
    return b"".join(lines[:gone] + lines[gone + 1 :])


@pytest.mark.parametrize("damage", [flip, cut, swap, edit, delete])
@pytest.mark.parametrize("name", [INDEX, ARRAYS])
def test_damages_of_a_sweep_are_noticed_and_none_is_used(tmp_path, name, damage):
    from brittlestar.results.verify import verify

    rng = generator(7, "damage")
    write(tmp_path, range(8))
    whole = (tmp_path / name).read_bytes()
    if name == ARRAYS and damage in (swap, edit, delete):
        pytest.skip("it has no lines")
    for _ in range(40):
        (tmp_path / name).write_bytes(damage(whole, rng))
        assert any(check.problem for check in verify(tmp_path))
        with contextlib.suppress(DamagedCellError):
            # What can be read is what was written.
            for found, episodes, _ in read(tmp_path):
                assert (episodes == found["config"]["seed"]).all()


@contextlib.contextmanager
def full_disk():
    """Lets no file grow beyond 10 bytes, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_line_at_every_step(tmp_path):
    with pytest.raises(UserError, match="cannot write .*: File too large"), full_disk():
        IndexWriter(tmp_path, 1)
    index = IndexWriter(tmp_path, 1)
    index.write_line({"plan": ["x" * 100]})
    with pytest.raises(UserError, match="cannot write .*cells.jsonl: File too large"), full_disk(), index:
        pass


def test_a_folder_on_a_full_disk_is_not_claimed(tmp_path):
    with pytest.raises(UserError, match="cannot write to .*: File too large"), full_disk():
        Claim(tmp_path)
    assert list(tmp_path.iterdir()) == []
