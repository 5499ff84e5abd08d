import pytest

from brittlestar.cells.job import Outcome
from brittlestar.sweeps.on_slurm.task_log import BEGIN, END, TaskLogReader, TaskLogWriter

FIRST, SECOND = Outcome("done", 0, "aa", 5, seconds=0.5), Outcome("failed", 1, "bb", error="it broke")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "0.jsonl"


def test_a_reader_gets_every_outcome_once(path):
    reader = TaskLogReader(path)
    assert list(reader.new_outcomes()) == []
    with TaskLogWriter(path) as log:
        log.event(BEGIN)
        log.outcome(FIRST)
        assert list(reader.new_outcomes()) == [FIRST]
        assert reader.has_begun and not reader.has_ended
        log.outcome(SECOND)
        log.event(END)
    assert list(reader.new_outcomes()) == [SECOND]
    assert reader.has_ended
    assert list(reader.new_outcomes()) == []


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_an_incomplete_line_waits_for_its_end(path, cut):
    with TaskLogWriter(path) as log:
        log.outcome(FIRST)
        log.outcome(SECOND)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    reader = TaskLogReader(path)
    assert list(reader.new_outcomes()) == [FIRST]
    path.write_bytes(whole)
    assert list(reader.new_outcomes()) == [SECOND]


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_task_that_runs_again_appends_behind_a_line_that_was_cut(path, cut):
    with TaskLogWriter(path) as log:
        log.outcome(FIRST)
        log.outcome(SECOND)
    path.write_bytes(path.read_bytes()[:-cut])
    with TaskLogWriter(path) as log:
        log.outcome(SECOND)
    assert list(TaskLogReader(path).new_outcomes())[-1] == SECOND


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"[1]\n", b'{"outcome": \n', b"\n"])
def test_a_damaged_line_is_skipped(path, damage):
    with TaskLogWriter(path) as log:
        log.outcome(FIRST)
    path.write_bytes(damage + path.read_bytes())
    assert list(TaskLogReader(path).new_outcomes()) == [FIRST]
