"""The plan command: its figures, and one line for a mistake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import brittlestar

SCRIPT = Path(__file__).parents[2] / "scripts" / "plan.py"
SOURCES = str(Path(brittlestar.__file__).parents[1])


def plan(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_plan_prints_both_answers():
    done = plan("--rate", "0.8", "--margin", "0.05")
    assert (done.returncode, done.stderr) == (0, "")
    formula, exact, seeds = done.stdout.splitlines()
    assert re.match(r"formula +246 episodes .*normal approximation", formula)
    assert re.match(r"exact +263 episodes .*half width is at most 0.05", exact)
    assert "3 x 88, 5 x 53, 10 x 27" in seeds


def test_a_higher_level_asks_for_more():
    done = plan("--rate", "0.5", "--margin", "0.1", "--level", "0.99")
    assert re.match(r"formula +166 ", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "80", "--margin", "0.05"], "`rate` must be between 0 and 1, got 80.0"),
        (["--rate", "0.8", "--margin", "5"], "`margin` must be at least 0.001 and below 0.5, got 5.0"),
        (
            ["--rate", "0.8", "--margin", "0.05", "--level", "95"],
            "`level` must be above 0 and below 1, got 95.0",
        ),
        (["--rate", "high", "--margin", "0.05"], "argument --rate: invalid float value: 'high'"),
        (["--rate", "0.8"], "the following arguments are required: --margin"),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    done = plan(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"brittlestar: {message}; see `brittlestar plan --help`\n"
