"""The live bar, on the screen of a real terminal."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from brittlestar.sweeps.bar_lines import BarState, bar_lines
from brittlestar.sweeps.live_bar import bar_line

SWEEP = """
import sys, time
from brittlestar.sweeps import progress as p
from brittlestar.sweeps.workers import pool, stop

p.REDRAW_SECONDS = 0.05

def work(number):
    print(f"worker says {number}", flush=True)
    sys.stderr.write(f"first {number}\\nsecond {number}\\n")
    return number

if __name__ == "__main__":
    with p.Progress(4) as progress:
        progress.running = 2
        progress.add("cached", 10)
        BODY
    print("after", flush=True)
"""
WAIT = "time.sleep({seconds})"


@pytest.fixture
def bar(terminal, tmp_path):
    """Starts a program with a bar; its body is code."""

    def start(body: str, **options):
        (tmp_path / "sweep.py").write_text(
            SWEEP.replace("BODY", textwrap.indent(textwrap.dedent(body), " " * 8).strip())
        )
        return terminal("sweep.py", **options)

    return start


def test_the_bar_is_below_what_workers_and_the_program_print(bar):
    screen = bar(
        """
        time.sleep(0.5)
        for number, _ in pool(2).run(work, [1, 2, 3]):
            progress.add("done", 10, 0.1)
            print("main prints", number)
        stop()
        progress.note("a note")
        progress.show_failure("seed=1", "the arm fell off")
        progress.show_failure("seed=2", "the arm fell off")
        time.sleep(0.3)
        """
    )
    shown = screen.wait_for("4/4 cells")
    assert screen.end() == 0
    lines = screen.text.splitlines()
    for text in [f"{word} {i}" for word in ("worker says", "first", "second", "main prints") for i in (1, 2, 3)]:
        assert lines.count(text) == 1, (text, screen.text)
    assert lines.count("failed: seed=1: the arm fell off") == 1 and "seed=2" not in screen.text
    assert lines.count("brittlestar: a note") == 1
    assert "━━━" in shown and "━" not in screen.text
    assert lines[-2].startswith("4/4 cells: 3 done, 0 failed, 1 cached, 0 running") and lines[-1] == "after"
    assert not screen.screen.cursor.hidden and screen.screen.cursor.x == 0


def test_a_question_is_not_drawn_over(bar):
    screen = bar(
        """
        time.sleep(0.4)
        progress.end_bar()
        sys.stderr.write("Cancel? [y/N] ")
        sys.stderr.flush()
        print("answer", sys.stdin.readline())
        """
    )
    screen.wait_for("Cancel? [y/N]")
    time.sleep(0.2)
    screen.press(b"yes\r")
    assert screen.end() == 0
    assert screen.text.startswith("Cancel? [y/N] yes\nanswer yes\n\n1/4 cells: 0 done") and "━" not in screen.text


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (20, 4)])
def test_no_line_of_a_narrow_terminal_is_wrapped(bar, columns, rows):
    screen = bar("progress.add('done', 10); time.sleep(0.4)", columns=columns, rows=rows)
    screen.wait_for("2/4")
    assert screen.end() == 0
    lines = [line for line in screen.text.splitlines() if line]
    assert lines[-1] == "after" and "".join(lines[:-1]).startswith("2/4 cells: 1 done, 0 failed, 1 cached")


def test_the_bar_follows_the_size_of_the_terminal(bar):
    screen = bar("time.sleep(1.0)", columns=100)
    wide = screen.wait_for("1/4 cells")
    screen.resize(40, 24)
    time.sleep(0.3)
    narrow = screen.wait_for("━")
    assert screen.end() == 0
    assert max(map(len, narrow.splitlines())) <= 40 < max(len(line) for line in wide.splitlines())


@pytest.mark.parametrize(("settings", "codes"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_only_where_they_are_wanted(bar, settings, codes):
    screen = bar("time.sleep(0.5)", **settings)
    assert screen.end() == 0
    assert (b"\x1b[32m" in screen.written) == codes
    assert (b"\x1b[" in screen.written) == (settings.get("TERM") != "dumb")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_whole_line_and_the_cursor(terminal, tmp_path, number):
    (tmp_path / "sweep.py").write_text(
        "import time\nfrom brittlestar.commands.interruption import answer_signals\n"
        "from brittlestar.commands.terminal import command\n"
        "from brittlestar.sweeps import progress as p\np.REDRAW_SECONDS = 0.05\n"
        "@command\ndef main():\n    with p.Progress(4):\n        time.sleep(60)\n"
        "answer_signals()\nmain()\n"
    )
    screen = terminal("sweep.py")
    screen.wait_for("0/4 cells")
    screen.press(b"\x03") if number == signal.SIGINT else screen.process.send_signal(number)
    assert screen.end() == 128 + number
    lines = screen.text.splitlines()
    assert lines[-1].startswith("brittlestar: ") and lines[-2].startswith("0/4 cells: 0 done")
    assert "━" not in screen.text and "Traceback" not in screen.text
    assert not screen.screen.cursor.hidden and screen.screen.cursor.x == 0


def test_a_killed_program_leaves_the_cursor(bar):
    screen = bar("time.sleep(60)")
    screen.wait_for("1/4 cells")
    screen.process.kill()
    screen.end()
    assert not screen.screen.cursor.hidden


@pytest.mark.parametrize("width", range(8, 120, 7))
def test_bar_and_texts_fit_any_width(width):
    state = BarState(0.4, ["40/100 cells", "1:05 left", "", "1234.5 episodes/s"], "40 done, 2 failed", 2)
    assert len(bar_line(0.4, ["40/100 cells", "1:05 left"], width).plain) <= max(width, len("40/100 cells"))
    assert "2 failed" in bar_lines(state, (width, 24), True)[1].plain


PACKETS = """
import os, sys
from types import SimpleNamespace
from brittlestar.sweeps.worker_output import OutputEnd

reader, writer = os.pipe2(os.O_DIRECT)
OutputEnd(SimpleNamespace(fileno=lambda: writer), (1,)).take()
print("worker says", 1)
sys.stderr.write(os.read(reader, 100).decode())
"""


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="no pipes here that keep writes apart")
def test_a_worker_prints_a_line_in_one_write_also_unbuffered():
    done = subprocess.run([sys.executable, "-u", "-c", PACKETS], capture_output=True, text=True, check=True)
    assert done.stderr == "worker says 1\n"
