import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brittlestar.studies.stress.page.tables import read_tables

ROOT = Path(__file__).parents[2]
SCRIPT = "scripts/stress_benchmark.py"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies=cartpole_pop"], "the zoo has no `cartpole_pop`; did you mean `cartpole_ppo`?"),
        (["--seeds=0,0"], "`--seeds` must be different whole numbers"),
        (["--episodes=5"], "`--episodes` must be at least 6, got 5"),
        (["--reference=100"], "needs at least 230 reference episodes"),
    ],
)
def test_mistakes_end_in_one_line(shell, arguments, message):
    done = shell(*arguments, "--page=page/stress.md", script=SCRIPT, check=False)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert not (shell.folder / "page").exists()


@pytest.mark.slow
def test_one_command_makes_all_of_it(shell, page_table):
    few = ["--policies=cartpole_ppo,mountain_car_trpo", "--episodes=9", "--reference=230", "--seeds=0", "--page=p/s.md"]
    done = shell(*few, script=SCRIPT)
    text, folder = (shell.folder / "p/s.md").read_text(), shell.folder / "multirun/stress_benchmark"
    assert "2 policies x 8 stressors x 1 seed x 2 modes = 32 cells, and 4 reference passes" in done.stdout
    written = read_tables(folder)
    assert len(written.agents()) == 4 and len(written.leaderboard) == 4 and not written.failures
    rates = {tuple(row[:3]): row for row in page_table(text, "Collapse rates")[1:]}
    for (env, policy, mode), rows in written.agents().items():
        row = rates[env, policy, mode]
        assert row[3] == f"{rows['baseline']['rate_shock']:.3g}"
        drift = rows["concept_drift"]
        assert row[4].strip("*") in (f"{drift['rate_shock']:.3g}", "–")
    # A stressor of rewards changes nothing that a policy does.
    assert {"reward_noise", "valence_inversion"} <= written.silent
    assert (folder / "leaderboard.tex").is_file() and len(list((folder / "figures").glob("*.pdf"))) >= 10
    assert (shell.folder / "p/s/collapse_map.png").is_file()
    again = shell(*few, script=SCRIPT)
    assert re.findall(r"(\d+) done, 0 failed, (\d+) cached", again.stderr) == [("0", "36")]
    assert (shell.folder / "p/s.md").read_text() == text
    assert json.loads((folder / "leaderboard.json").read_text()) == written.leaderboard


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_nothing_runs_on_when_it_is_stopped(shell, number):
    few = ["--policies=cartpole_ppo,hopper_ppo", "--page=p/s.md"]
    process = subprocess.Popen(
        [sys.executable, str(ROOT / SCRIPT), *few],
        cwd=shell.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while not list(shell.folder.glob("outputs/store/*")):
        assert process.poll() is None
        time.sleep(0.1)
    # A terminal signals the whole group, a cluster only the process that it started.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number and "Traceback" not in error
    assert error.count("ed; finished work is kept") == 1
    deadline = time.monotonic() + 30
    while is_alive(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_alive(session: int) -> bool:
    try:
        os.killpg(session, 0)
    except ProcessLookupError:
        return False
    return True
