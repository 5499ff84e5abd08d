"""Critical levels of real policies by `hydra/sweeper=critical`: the same bytes, resumed, and on any launcher."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PPO = (
    "hydra/sweeper=critical",
    "env=cartpole",
    "env.max_steps=120",
    "env.success.threshold=110",
    "policy=zoo/cartpole_ppo",
)
SMALL = ("episodes=20", "study.width=0.4", "study.budget=400")


def result(folder):
    return json.loads((folder / "critical.json").read_text())


def test_two_policies_are_searched_on_the_same_episodes(shell):
    words = (*PPO[:-1], "policy=zoo/cartpole_ppo,constant", *SMALL)
    done, folder = shell.sweep(*words, "hydra.launcher.n_jobs=2")
    (ppo, constant), curve = result(folder)["critical"], result(folder)["critical"][0]
    assert ppo["status"] == "reached" and ppo["critical_low"] < ppo["critical"] < ppo["critical_high"]
    assert ppo["surely_above"] <= ppo["critical"] <= ppo["surely_below"] and ppo["episodes"] <= 400
    assert ppo["critical_high"] - ppo["critical_low"] <= 0.4 * ppo["critical"]
    assert constant["status"] == "incapable" and constant["critical"] is None
    assert "below a success rate of 0.5 already at 0" in constant["statement"] and "incapable" in done.stdout
    rates = {level["level"]: level["mean"] for level in curve["levels"]}
    assert rates[0.0] > 0.5 > rates[max(rates)]
    cells = shell.table("sweep", "cells")
    seeds = [[row["seed"] for row in cells if row["policy"] == policy] for policy in ("zoo/cartpole_ppo", "constant")]
    assert len(set(seeds[0])) == len(seeds[0]) and set(seeds[1]) <= set(seeds[0])
    assert "Where the episodes went" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bytes(shell):
    words = (*PPO[:-1], "policy=zoo/cartpole_ppo,constant", *SMALL)
    _, folder = shell.sweep(*words, "hydra.launcher.n_jobs=2")
    shell.sweep(*words, "hydra.launcher.n_jobs=1", "store=other", name="again")
    for name in ("critical.json", "critical.csv"):
        assert (folder / name).read_bytes() == (shell.folder / "again" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["study.budget=0"], "`budget` must be at least 1, got 0"),
        (["study.budget=20", "episodes=25"], "`study.budget` must be at least the 25 episodes of one cell, got 20"),
        (["episodes=0"], "`episodes` must be at least 1, got 0"),
        (["study.width=0"], "`width` must be above 0, got 0"),
        (["perturbation.sigma=0.1,0.2"], "chooses the values of `perturbation.sigma` by itself"),
        (["seed=0,1"], "a critical search takes one seed"),
    ],
)
def test_a_mistake_is_one_line(shell, words, message):
    done, _ = shell.sweep(*PPO, *words, check=False)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_two_policies_differ_by_a_paired_interval(shell):
    _, folder = shell.sweep(*PPO[:-1], "policy=zoo/cartpole_ppo,zoo/cartpole_a2c", "episodes=25", "study.width=0.1")
    (row,) = result(folder)["differences"]
    assert row["difference_low"] < row["difference"] < row["difference_high"] and row["shared_episodes"] >= 100


@pytest.mark.slow
def test_the_basic_launcher_of_hydra_finds_the_same(shell):
    words = (*PPO, *SMALL)
    _, folder = shell.sweep(*words)
    _, other = shell.sweep(*words, "hydra/launcher=basic", "store=other", name="basic")
    assert result(folder) == result(other)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 7, 12])
def test_a_killed_search_continues_to_the_same_result(shell, cells):
    words = (*PPO, "episodes=20", "study.width=0.1", "study.budget=1500")
    _, folder = shell.sweep(*words)
    command = [sys.executable, str(ROOT / "run.py"), "-m", *words, "store=other", "hydra.sweep.dir=killed"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=shell.folder, start_new_session=True, **quiet)
    while len(list((shell.folder / "other").glob("*/*.cell"))) < cells and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _, again = shell.sweep(*words, "store=other", name="killed")
    assert result(folder) == result(again)


@pytest.mark.slow
def test_a_share_of_the_clean_return_is_searched_where_there_is_no_success(shell):
    words = ("hydra/sweeper=critical", "env=pendulum", "policy=zoo/pendulum_sac", "study.width=0.3", "study.budget=800")
    _, folder = shell.sweep(*words)
    (curve,) = result(folder)["critical"]
    assert curve["metric"] == "share of the clean return" and 0.2 < curve["critical"] < 0.5
    done, _ = shell.sweep(*words, "study.metric=success", check=False, name="refused")
    assert "`study.metric=success` needs `env.success`" in done.stderr and done.stderr.count("\n") == 1
