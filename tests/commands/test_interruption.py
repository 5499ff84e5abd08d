"""Ctrl-C and SIGTERM: one line and the exit code of the signal, whatever the program does at that moment."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from brittlestar.commands.interruption import is_own_process

SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
START = """
import os, signal, sys, time
from brittlestar.commands import interruption
interruption.answer_signals()
interruption._CLEANUP_SECONDS = 1.0

def receive():
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(9)
"""
COMMAND = """
from brittlestar.commands.terminal import command

@command
def main():
    try:
        body()
    finally:
        print("cleaned up")

main()
print("went on")
"""
BODIES = {
    "at work": "receive()",
    "in an import that hides it": """
    try:
        receive()
    except KeyboardInterrupt:
        raise ImportError("numpy is broken") from None""",
    "in a library that catches everything": """
    try:
        receive()
    except BaseException:
        time.sleep(60)""",
    "in a destructor": """
    class Thing:
        def __del__(self):
            receive()
    Thing()
    time.sleep(60)""",
    "in a cleanup that takes another signal": """
    try:
        receive()
    finally:
        receive()""",
    "with a thread that never ends": """
    import threading
    threading.Thread(target=time.sleep, args=(60,)).start()
    receive()""",
}


def run(folder: Path, script: str, number: int) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", script, str(int(number))], cwd=folder, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def line(number: int) -> str:
    return f"brittlestar: {SIGNALS[number]}; finished work is kept, the same command continues\n"


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", BODIES)
def test_a_signal_ends_a_command_with_one_line(tmp_path, moment, number):
    done = run(tmp_path, f"{START}\ndef body():\n    {BODIES[moment].strip()}\n{COMMAND}", number)
    assert (done.returncode, done.stderr) == (128 + number, line(number))
    assert "went on" not in done.stdout


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_command_starts_ends_it_with_one_line(tmp_path, number):
    done = run(tmp_path, f"{START}\nreceive()", number)
    assert (done.returncode, done.stderr) == (128 + number, line(number))


@pytest.mark.parametrize("number", SIGNALS)
def test_code_at_work_cleans_up(tmp_path, number):
    done = run(tmp_path, f"{START}\ndef body():\n    receive()\n{COMMAND}", number)
    assert done.stdout == "cleaned up\n"


def test_a_signal_that_the_caller_ignores_remains_ignored(tmp_path):
    script = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + START + "receive.__code__\n"
    done = run(tmp_path, script.replace("time.sleep(9)", "print('went on')") + "receive()", signal.SIGINT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


def test_importing_the_commands_answers_no_signals():
    script = "import signal, brittlestar.commands.main as m; print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def members(group: int) -> list[int]:
    """Returns the living processes of a group."""
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            processes += [int(stat.parent.name)] if int(of) == group and state != "Z" else []
    return processes


SWEEP = ["env=pendulum", "policy=random", "episodes=40", "perturbation.sigma=0,0.1,0.3", "seed=0,1,2,3", "lanes=1"]


@pytest.fixture
def short_folder():
    """A folder whose name is short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="b") as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", ["imports", "cells"])
def test_a_sweep_leaves_no_process_and_no_temporary_file(tmp_path, moment, number, short_folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "brittlestar.commands.main", "-m", *SWEEP, "hydra.sweep.dir=sweep"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"TMPDIR": str(short_folder)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    waits = {"imports": lambda: list(short_folder.iterdir()), "cells": lambda: list(tmp_path.glob("**/*.cell"))}
    while not waits[moment]():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, number)
    error = process.communicate(timeout=60)[1]
    lines = [text for text in error.splitlines() if " cells: " not in text and "runs on EnvPool" not in text]
    assert process.returncode == 128 + number and [f"{text}\n" for text in lines if text] == [line(number)]
    while members(process.pid):
        time.sleep(0.05)
    assert [path.name for path in tmp_path.rglob(".*")] == [] == list(short_folder.iterdir())


STARTS = """
import threading, time
from multiprocessing import forkserver
from brittlestar.sweeps import workers

connect = forkserver.connect_to_new_process

def connect_and_receive(ends):
    answer = connect(ends)
    os.kill(os.getpid(), int(sys.argv[1]))
    for _ in range(100):
        # The signal of another thread does not wake this one.
        time.sleep(0.01)
    return answer

def body():
    # Another thread gets the signals that this one blocks.
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    workers.Worker().end()
    forkserver.connect_to_new_process = connect_and_receive
    workers.Worker()
"""


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="needs a process to fork from")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_the_middle_of_the_start_of_a_worker_prints_one_line(tmp_path, number):
    program = COMMAND.replace('main()\nprint("went on")', 'if __name__ == "__main__":\n    main()')
    (tmp_path / "program.py").write_text(START + STARTS + program)
    done = subprocess.run(
        [sys.executable, "program.py", str(int(number))], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (128 + number, line(number))


@pytest.mark.parametrize(
    ("words", "is_own"),
    [
        (["brittlestar", "-m"], True),
        (["python", "-B", "-c", "from multiprocessing.forkserver import main; main(14, 17)"], False),
        (["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()"], False),
    ],
)
def test_a_worker_that_imports_the_program_does_not_answer_for_it(monkeypatch, words, is_own):
    """A worker takes over `sys.argv` before it knows its parent."""
    monkeypatch.setattr(sys, "orig_argv", words)
    assert is_own_process("/usr/bin/brittlestar") is is_own


FIRST = """
import sys

import _signal
before, answer = set(sys.modules), _signal.signal

def first(number, handler):
    _signal.signal = answer
    print(*sorted(set(sys.modules) - before))
    return answer(number, handler)

_signal.signal = first
sys.argv = ["brittlestar"]
sys.orig_argv = ["brittlestar"]
import brittlestar.commands
"""


def test_nothing_is_imported_before_signals_are_answered():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True)
    assert done.stdout.split() == ["brittlestar", "brittlestar.commands", "brittlestar.commands.interruption"]


# Before the first module of brittlestar, Python itself answers: it starts, and the installed script imports `re`.
OWN_SECONDS = 0.3
LONGEST = 3.0
LONG = {
    "sweep": ["-m", "env=cartpole", "policy=random", "perturbation.sigma=0,0.1", "seed=0,1,2", "episodes=20000"],
    "single": ["env=cartpole", "policy=random", "episodes=100000"],
    "train": ["train", "env=cartpole", "algo=ppo", "steps=1000000"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moments"), [("sweep", 40), ("single", 20), ("train", 20)])
def test_moments_of_the_first_seconds_in_a_terminal_end_with_one_line(terminal, tmp_path, short_folder, name, moments):
    for turn in range(moments):
        number, seconds = list(SIGNALS)[turn % 2], 0.05 + turn / (moments - 1) * (LONGEST - 0.05)
        screen = terminal("-m", "brittlestar.commands.main", *LONG[name], columns=120, TMPDIR=str(short_folder))
        time.sleep(seconds)
        if number == signal.SIGINT:
            screen.press(b"\x03")
        else:
            screen.process.send_signal(number)
        code = screen.end()
        if seconds >= OWN_SECONDS:
            assert (code, screen.text.count(line(number).rstrip())) == (128 + number, 1), (seconds, screen.text)
            assert "Traceback" not in screen.text
        ended = time.monotonic()
        while members(screen.process.pid):
            assert time.monotonic() < ended + 5
            time.sleep(0.01)
        hidden = [path for path in tmp_path.rglob(".*") if path.name != ".hydra"]
        assert hidden == [] == list(short_folder.iterdir()), (number, seconds)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_line_of_an_interruption_does_not_continue_that_of_the_progress(terminal, number):
    screen = terminal("-m", "brittlestar.commands.main", *LONG["single"])
    screen.wait_for(" episodes, ")
    screen.process.send_signal(number)
    assert screen.end() == 128 + number
    assert line(number).rstrip() in screen.text.splitlines()
