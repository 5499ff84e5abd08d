"""The process that draws: its results are those of this process, also when it fails or dies."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from brittlestar.reports import drawer


@pytest.fixture(autouse=True)
def ended():
    yield
    drawer.end_drawer()


def process_of(number: int) -> tuple[int, int]:
    return number, os.getpid()


def fail_elsewhere(parent: int) -> str:
    if os.getpid() != parent:
        raise RuntimeError("no")
    return "drawn here"


def die_elsewhere(parent: int) -> str:
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return "drawn here"


def sleep_elsewhere(parent: int) -> str:
    if os.getpid() != parent:
        time.sleep(600)
    return "drawn here"


@pytest.mark.parametrize("forked", [False, True])
def test_a_picture_is_drawn_in_the_other_process(forked, monkeypatch):
    monkeypatch.setattr(drawer, "has_fork_server", lambda: forked)
    drawer.start_drawer()
    number, process = drawer.draw_apart(process_of, 3)()
    assert number == 3 and process != os.getpid()
    assert drawer._drawer is None, "the process has ended"


def test_without_the_process_it_is_drawn_here():
    assert drawer.draw_apart(process_of, 3)() == (3, os.getpid())


@pytest.mark.parametrize("function", [fail_elsewhere, die_elsewhere])
def test_what_fails_there_is_drawn_here(function):
    drawer.start_drawer()
    assert drawer.draw_apart(function, os.getpid())() == "drawn here"


def test_a_result_that_nobody_took_does_not_pass_for_the_next_one():
    drawer.start_drawer()
    drawer.draw_apart(process_of, 3)
    assert drawer.draw_apart(process_of, 4)()[0] == 4


def test_a_process_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(drawer, "_PATIENCE_SECONDS", 0.2)
    drawer.start_drawer()
    assert drawer.draw_apart(sleep_elsewhere, os.getpid())() == "drawn here"


def test_the_process_can_be_used_as_soon_as_it_is_there():
    """It is started by another thread, so nothing may be sent to it before its first task."""
    thread = threading.Thread(target=drawer.start_drawer)
    thread.start()
    while drawer._drawer is None:
        time.sleep(0)
    number, process = drawer.draw_apart(process_of, 3)()
    thread.join()
    assert number == 3 and process != os.getpid()


def test_without_a_fork_server_the_process_leaves_no_temporary_file(tmp_path):
    code = "from brittlestar.reports.drawer import start_drawer\nstart_drawer()\nimport os; os.kill(os.getpid(), 9)"
    env = os.environ | {"TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=env, timeout=60, check=False)
    assert list(tmp_path.iterdir()) == []


# The thread is still at work when the program ends.
ENDING = """
import threading
from brittlestar.reports.drawer import start_drawer

threading.Thread(target=start_drawer, daemon=True).start()
"""


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2, 0.5, 1.0, 1.5])
def test_a_program_that_ends_while_the_process_starts_does_not_wait_for_it(seconds):
    code = f"{ENDING}\nimport time\ntime.sleep({seconds})\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
