"""A sweep that still grows, read from its folder."""

import pytest

from brittlestar.cells.claims import Claim, holder_of
from brittlestar.cells.record import EPISODES, DamagedCellError, decode, encode
from brittlestar.errors import UserError
from brittlestar.results.follow import SweepFollower
from brittlestar.sweeps.index import INDEX
from brittlestar.sweeps.index_writer import IndexWriter


def write(index, cell, number):
    arrays = {EPISODES: cell.held} if cell.done else {}
    index.write(*decode(encode(dict(cell.manifest) | {"number": number, "overrides": []}, arrays)))
    index._flush()


def test_cells_appear_as_they_end(make_cell, fail_cell, tmp_path):
    claim = Claim(tmp_path)
    follower = SweepFollower(tmp_path)
    assert follower.total is None and follower.holder["pid"], "a sweep that composes has no index yet"
    with IndexWriter(tmp_path, 3) as index:
        assert not follower.poll() and follower.total == 3
        write(index, make_cell((1, 0)), 0)
        assert follower.poll() and follower.missing == 2
        assert follower.cells[0].rows().shape[0] == 2
        assert not follower.poll()
        write(index, fail_cell(make_cell()), 1)
        write(index, make_cell((1, 1, 1), strength=0.1), 2)
        assert follower.poll()
    assert (len(follower.cells), follower.failed, follower.missing) == (3, 1, 0)
    claim.release()
    follower.poll()
    assert follower.holder is None


def test_a_line_is_read_once_and_only_when_it_is_whole(make_cell, save_cells, tmp_path):
    save_cells(tmp_path, [make_cell((1, 0), strength=s) for s in (0, 0.1)])
    path = tmp_path / INDEX
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b'{"end"') - 5])
    follower = SweepFollower(tmp_path)
    assert len(follower.cells) == 1
    # What was read is not read again: damage in it is not noticed.
    path.write_bytes(data[:50] + b"#" + data[51:])
    assert follower.poll() and len(follower.cells) == 2


def test_a_new_sweep_in_the_folder_replaces_the_old_one(make_cell, save_cells, tmp_path):
    save_cells(tmp_path, [make_cell((1, 0), strength=s) for s in (0, 0.1, 0.2)])
    follower = SweepFollower(tmp_path)
    assert len(follower.cells) == 3
    save_cells(tmp_path, [make_cell((1, 0), seed=5)])
    follower.poll()
    assert [cell.seed for cell in follower.cells] == [5] and follower.total == 1
    (tmp_path / INDEX).unlink()
    follower.poll()
    assert follower.cells == [] and follower.total is None


def test_damage_is_an_error_at_the_second_look(make_cell, save_cells, tmp_path):
    save_cells(tmp_path, [make_cell()])
    follower = SweepFollower(tmp_path)
    path = tmp_path / INDEX
    path.write_bytes(path.read_bytes() + b'{"of": "0.0", "sum": "00"}\n')
    follower.poll()
    with pytest.raises(DamagedCellError, match="is damaged"):
        follower.poll()


def test_a_folder_of_no_sweep_is_one_line(tmp_path):
    with pytest.raises(UserError, match="is not the folder of a sweep: it has no cells.jsonl"):
        SweepFollower(tmp_path)
    (tmp_path / "first").mkdir()
    with pytest.raises(UserError, match="no folder at .*frist; did you mean `first`"):
        SweepFollower(tmp_path / "frist")


def test_looking_at_a_claim_writes_nothing(tmp_path):
    claim = Claim(tmp_path)
    (tmp_path / ".in_use").write_text('{"host": "elsewhere", "pid": 7, "since": 0, "command": "x"}')
    tmp_path.chmod(0o500)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path, *tmp_path.iterdir())}
    assert holder_of(tmp_path)["host"] == "elsewhere"
    assert {path: path.stat().st_mtime_ns for path in (tmp_path, *tmp_path.iterdir())} == before
    tmp_path.chmod(0o700)
    claim.release()
