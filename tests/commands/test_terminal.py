import os
import subprocess
import sys

import pytest

from brittlestar.commands.terminal import CLOSED_PIPE, command, use_one_thread
from brittlestar.errors import UserError


@pytest.mark.parametrize("words", [["zoo"], ["plan", "--rate=0.8", "--margin=0.05"], ["--help"], ["train", "-h"]])
def test_a_closed_pipe_ends_silently(words):
    reader, writer = os.pipe()
    os.close(reader)
    arguments = [sys.executable, "-m", "brittlestar.commands.main", *words]
    done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, b"")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UserError("no such file"), 1, "brittlestar: no such file\n"),
        (KeyboardInterrupt(), 130, "brittlestar: interrupted; finished work is kept, the same command continues\n"),
        (KeyboardInterrupt("stopped after 9 steps"), 130, "brittlestar: stopped after 9 steps; finished work is kept"),
        (SystemExit(7), 7, ""),
    ],
)
def test_errors_have_exit_codes_and_one_line(capsys, error, code, message):
    @command
    def main():
        raise error

    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == code
    assert capsys.readouterr().err.startswith(message)


def test_a_bug_keeps_its_traceback():
    @command
    def main():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main()


def test_the_number_of_threads_of_the_user_wins(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    use_one_thread()
    assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("3", "1")
