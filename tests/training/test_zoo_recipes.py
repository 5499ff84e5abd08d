"""Trains the zoo by its recipes."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.config import options
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo
from brittlestar.training.schema import compose_training
from brittlestar.training.zoo_adoption import adopt
from brittlestar.training.zoo_recipes import experts_first, train_recipe, train_side_by_side

SMALL = ["steps=256", "episodes=5", "env.max_steps=3"]
SIDE_BY_SIDE = """
import sys
from pathlib import Path
from brittlestar.commands.interruption import answer_signals
from brittlestar.commands.terminal import command
answer_signals()

@command
def main():
    from brittlestar.training.zoo_recipes import train_side_by_side
    train_side_by_side(["cartpole_ppo", "cartpole_a2c"], 2, "store", ["steps=100000000", "threads=1"], Path("home"))

main()
"""


@pytest.mark.parametrize("name", zoo.recipes())
def test_every_recipe_composes(name):
    config = compose_training(zoo.recipe(name))
    assert zoo.choice(name, "env") in options("env")
    assert name.startswith(zoo.choice(name, "env"))
    assert ("robust" in name) == (config["perturbation"].get("sigma", 0) > 0)


def test_a_finished_training_is_done_once_and_adopted_to_the_same_bytes(tiny):
    home, training = tiny("cartpole_ppo")
    before = zoo.read_card("cartpole_ppo", home)
    assert not train_recipe("cartpole_ppo", [*SMALL, f"store={training.parent}"], home)
    (home / "cartpole_ppo" / zoo.CARD).unlink()
    adopt("cartpole_ppo", training, home, SMALL)
    assert zoo.read_card("cartpole_ppo", home) == before


@pytest.mark.slow
def test_trainings_run_side_by_side(tmp_path):
    names, home = ["cartpole_ppo", "pendulum_ddpg", "cartpole_a2c"], tmp_path / "policies"
    # DDPG has no such argument.
    overrides = [*SMALL, "+algo.options.vf_coef=0.5"]
    assert train_side_by_side(names, 2, str(tmp_path / "store"), overrides, home) == ["pendulum_ddpg"]
    assert [name for name in names if zoo.is_shipped(name, home)] == ["cartpole_ppo", "cartpole_a2c"]
    assert "do not fit DDPG" in (tmp_path / "store" / "pendulum_ddpg.log").read_text()


def test_a_recipe_is_trained_behind_its_expert():
    assert experts_first(["fetch_push_sac_robust_0", "cartpole_ppo", "fetch_push_sac_0"]) == [
        "fetch_push_sac_0", "fetch_push_sac_robust_0", "cartpole_ppo",
    ]  # fmt: skip


def test_a_folder_that_cannot_be_written_is_refused_in_one_line():
    with pytest.raises(UserError, match="cannot write to /proc/nope"):
        train_side_by_side(["cartpole_ppo", "cartpole_a2c"], 1, "/proc/nope")


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="lists processes by /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_training_outlives_the_process_that_started_it(number, tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", SIDE_BY_SIDE],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0,
    )  # fmt: skip
    wait_until(lambda: len(list(tmp_path.glob("store/*/config.json"))) == 2)
    assert len(living(parent.pid)) >= 3
    parent.send_signal(number)
    error = parent.communicate(timeout=60)[1]
    wait_until(lambda: not living(parent.pid))
    logs = [path.read_text() for path in tmp_path.glob("store/*.log")]
    assert all("stopped after" in log and "Traceback" not in log for log in logs)
    assert len(list(tmp_path.glob("store/*/last/model.zip"))) == 2
    if number == signal.SIGTERM:
        assert parent.returncode == 128 + number
        assert error == "brittlestar: terminated; finished work is kept, the same command continues\n"


def wait_until(is_so, seconds=120):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def living(group):
    """Returns the states of the processes of a group, without those that have ended."""
    states = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state not in "ZX":
            states.append(state)
    return states
