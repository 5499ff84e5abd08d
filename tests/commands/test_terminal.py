"""Commands whose reader goes away end without a word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brittlestar.commands.terminal import CLOSED_PIPE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ["scripts/zoo.py"],
        ["scripts/plan.py", "--rate", "0.8", "--margin", "0.05"],
        ["run.py", "--help"],
        ["train.py", "-h"],
    ],
    ids=lambda command: command[0],
)
def test_nobody_reads(command):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, str(ROOT / command[0]), *command[1:]], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, b"")


def test_an_exit_code_stays(tmp_path):
    words = [sys.executable, str(ROOT / "scripts" / "aggregate.py"), str(tmp_path / "nowhere")]
    assert subprocess.run(words, capture_output=True).returncode == 1
