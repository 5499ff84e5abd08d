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
    for name in ("MKL_NUM_THREADS", "LP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    use_one_thread()
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "LP_NUM_THREADS")
    assert [os.environ[name] for name in names] == ["3", "1", "0"]


_PRINT_DIGEST = """
import contextlib, hashlib
import gymnasium as gym
from brittlestar.envs.camera_env import CameraEnv
from brittlestar.envs.pixels import Pixels

with contextlib.closing(CameraEnv(gym.make("Hopper-v5"), Pixels(camera="track", size=48))) as env:
    print(hashlib.sha256(env.reset(seed=0)[0].tobytes()).hexdigest())
"""


def test_pictures_do_not_depend_on_the_number_of_threads():
    digests = set()
    for threads in ("0", "1", "3"):
        command_line, settings = [sys.executable, "-c", _PRINT_DIGEST], os.environ | {"LP_NUM_THREADS": threads}
        done = subprocess.run(command_line, env=settings, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1
