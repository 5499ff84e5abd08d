"""`watch`, and `aggregate` of a sweep that runs, with a real sweep in another process."""

import json
import subprocess
import sys
import time

import pytest

from brittlestar.commands import aggregate, watch

MAIN = ("-m", "brittlestar.commands.main")
POLICY = """
import os, time
calls = 0
def slow(observation):
    global calls
    calls += 1
    # An episode in which the cart is always pushed to one side has about ten steps.
    while calls > 15 and not os.path.exists("go"):
        time.sleep(0.02)
    return 0
"""
SWEEP = (
    *("env=cartpole", "env.backend=gymnasium", "policy=callable", "policy.path=mine:slow", "episodes=1"),
    *("perturbation.sigma=0,0.1", "seed=0", "hydra.sweep.dir=sweep", "hydra.launcher.n_jobs=1"),
)


@pytest.fixture
def running(tmp_path):
    """A sweep with one finished cell of two; the other one ends when there is a file `go`."""
    (tmp_path / "mine.py").write_text(POLICY)
    words = [sys.executable, *MAIN, "-m", *SWEEP]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    index = tmp_path / "sweep" / "cells.jsonl"
    last = time.monotonic() + 60
    try:
        while not (index.is_file() and '{"of"' in index.read_text()):
            assert time.monotonic() < last and process.poll() is None
            time.sleep(0.05)
        yield process
    finally:
        (tmp_path / "go").touch()
        process.wait(60)


def test_a_running_sweep_is_watched_and_aggregated_until_it_ends(running, tmp_path, terminal, call):
    screen = terminal(*MAIN, "watch", "sweep", columns=70)
    screen.wait_for("partial: 1 of 2 cells")
    assert "━" in screen.text and f"process {running.pid} on" in screen.text and "success_final" in screen.text
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "sweep").iterdir()}
    code, out, error = call(watch.main, "sweep", "--once")
    assert (code, error) == (0, "") and out.startswith("sweep, partial: 1 of 2 cells: 1 done, 0 failed; process")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "sweep").iterdir()} == before
    code, out, error = call(aggregate.main, "sweep", "--out", "tables")
    assert (code, error) == (0, "")
    partial = "partial tables: 1 of 2 cells of sweep have no record (cell 1); the sweep runs"
    assert out.startswith(f"note: {partial}\n") and f"**{partial}**" in (tmp_path / "tables" / "report.md").read_text()
    assert len(json.loads((tmp_path / "tables" / "cells.json").read_text())) == 1
    (tmp_path / "go").touch()
    assert screen.end() == 0
    lines = screen.text.splitlines()
    assert lines[0].startswith("sweep, all 2 cells: 2 done, 0 failed; ended") and "━" not in screen.text
    assert not screen.screen.cursor.hidden


def curve(make_cell, count=2):
    return [make_cell((1, 0), strength=s) for s in (0, 0.1, 0.2)[:count]]


def test_a_finished_sweep_shows_its_end(make_cell, save_cells, tmp_path, call):
    save_cells(tmp_path / "a", curve(make_cell))
    code, out, error = call(watch.main, "a")
    assert (code, error) == (0, "") and out.startswith("a, all 2 cells: 2 done, 0 failed; ended\n\n| sigma | n_seeds")


def test_a_sweep_with_failed_cells_ends_non_zero(make_cell, fail_cell, save_cells, tmp_path, call):
    save_cells(tmp_path / "a", [*curve(make_cell), fail_cell(make_cell(strength=0.3), "the arm fell off")])
    code, out, error = call(watch.main, "a")
    assert (code, error) == (1, "brittlestar: 1 cell of 3 failed, see a/failures.csv\n")
    assert "1 cell failed: the arm fell off" in out


def test_a_stopped_sweep_is_no_whole_one(make_cell, save_cells, tmp_path, call):
    save_cells(tmp_path / "a", curve(make_cell, 3))
    path = tmp_path / "a" / "cells.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))
    code, out, error = call(watch.main, "a")
    assert code == 1 and "a, partial: 2 of 3 cells: 2 done, 0 failed; stopped" in out
    assert error.startswith("brittlestar: a was stopped with 2 of 3 cells; the same command continues it")
    assert call(watch.main, "a", "--once")[0] == 0
    code, out, error = call(aggregate.main, "a")
    assert (code, error) == (0, "")
    missing = "1 of 3 cells of a have no record (cell 2)"
    assert out.startswith(f"note: partial tables: {missing}; the command of the sweep computes them\n")


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["a"], 1, "no folder at a"),
        (["."], 1, ". is not the folder of a sweep: it has no cells.jsonl, and no process uses it"),
        ([], 2, "the following arguments are required: DIR; see `brittlestar watch --help`"),
    ],
)
def test_a_mistake_is_one_line(call, words, code, line):
    assert call(watch.main, *words) == (code, "", f"brittlestar: {line}\n")


@pytest.mark.slow
def test_a_watch_that_is_stopped_leaves_the_sweep_alone(running, terminal, tmp_path):
    screen = terminal(*MAIN, "watch", "sweep")
    screen.wait_for("partial: 1 of 2 cells")
    screen.press(b"\x03")
    assert screen.end() == 130 and running.poll() is None
    assert "━" not in screen.text and not screen.screen.cursor.hidden and screen.screen.cursor.x == 0
    (tmp_path / "go").touch()
    assert running.wait(60) == 0
