"""Trainings and hardenings on a real Ray of two nodes, which share no file system with the driver, under faults too."""

import json
import os
import re
import shlex
import shutil
import signal

import pytest
import ray_bed
from started import RAY, TABLES, networks, scores, wait_until_idle

pytestmark = pytest.mark.cluster
TRAIN = "train", "-m", "seed=0,1", "env=cartpole", "algo=ppo", "episodes=5", "hydra.sweep.dir=sweep"
SHORT, LONG = "steps=2000", "steps=20000"
CLONE = (
    *("train", "-m", "seed=0", "env=cartpole", "algo=bc", "algo.expert=agent/policy.zip", "episodes=5"),
    *("algo.demonstrations=5", "steps=6000", "save_every=500", "hydra.sweep.dir=sweep"),
)
HARDEN = (
    *("harden", "-m", "env=pendulum", "policy=constant", "perturbation=gaussian_action", "levels=[0,0.1]"),
    *("episodes=5", "seeds=[0]", "steps=200", "train_seed=0,1"),
)
CELLS = {f"cells{suffix}" for suffix in (*TABLES, ".jsonl")}
ZOO = ray_bed.ROOT / "src/brittlestar/policies/zoo"


def claims(command) -> list:
    """Returns the claims and archives in the folders of trainings."""
    return list((command.folder / "outputs" / "training").glob("*/.*"))


def wait_until_training(bed, command) -> None:
    """Waits until both nodes have a task, and the one whose files this machine sees trains: its session is open."""
    # A worker that an earlier test killed has left its files.
    start = (command.folder / "far_agents.py").stat().st_mtime

    def is_training() -> bool:
        signs = (bed.folder / "ray").glob("session_*/runtime_resources/*/*/task-*/training/config.json")
        return len(bed.workers()) == 2 and any(path.stat().st_mtime > start for path in signs)

    command.wait_for(is_training, "trainings run")


@pytest.mark.short
def test_trainings_give_the_same_networks_scores_and_lines_as_on_this_machine(ray_command):
    local, on_ray = (ray_command(*TRAIN, SHORT, *more) for more in ((), RAY))
    local.end()
    on_ray.end()
    assert len(networks(local)) == 6
    assert networks(on_ray) == networks(local)
    assert scores(on_ray) == scores(local)
    assert [line for line in on_ray.lines if " steps in " not in line and line[:2] != "| "] == [
        line for line in local.lines if " steps in " not in line and line[:2] != "| "
    ]
    assert claims(on_ray) == []
    again = on_ray.again("hydra.launcher.address=127.0.0.9:1")
    assert again.end().count("done before: ") == 2


def test_trainings_whose_workers_are_killed_start_anew_and_learn_the_same(bed, ray_command):
    local, on_ray = (ray_command(*TRAIN, LONG, *more) for more in ((), RAY))
    wait_until_training(bed, on_ray)
    for pid in bed.workers():
        os.kill(pid, signal.SIGKILL)
    local.end()
    on_ray.end()
    assert networks(on_ray) == networks(local)
    assert scores(on_ray) == scores(local)


@pytest.mark.parametrize("kill", ["kill_node", "worker"])
def test_a_training_that_is_lost_continues_from_the_last_checkpoint_that_came_back(bed, ray_command, tmp_path, kill):
    for number in (0, 1):
        shutil.copytree(ZOO / "cartpole_ppo", tmp_path / str(number) / "agent")
    local, on_ray = (ray_command(*CLONE, *more) for more in ((), (*RAY, "hydra.launcher.checkpoint_minutes=0.001")))
    curves = on_ray.folder / "outputs" / "training"
    on_ray.wait_for(lambda: list(curves.glob("*/curve.jsonl")) and bed.workers(), "a checkpoint is there")
    (curve,) = curves.glob("*/curve.jsonl")
    before = curve.read_text()
    if kill == "worker":
        on_ray.kill_a_worker()
    else:
        # The task is on one of both.
        bed.kill_node(ray_bed.WORKER)
        for pid in bed.workers():
            os.kill(pid, signal.SIGKILL)
    local.end()
    on_ray.end()
    # Its lines have the seconds of the first attempt.
    assert curve.read_text().startswith(before)
    assert networks(on_ray) == networks(local)
    assert scores(on_ray) == scores(local)


def test_a_training_that_fails_on_a_node_is_one_line_and_the_others_go_on(ray_command):
    words = "train", "-m", "env=cartpole,pendulum", "algo=dqn", SHORT, "episodes=5", "hydra.sweep.dir=sweep"
    local, on_ray = (ray_command(*words, *more) for more in ((), RAY))
    local.end(code=1)
    on_ray.end(code=1)
    assert on_ray.errors == local.errors == ["brittlestar: 1 training failed"]
    assert "cannot learn actions of Box" in on_ray.lines[-1]
    assert "Traceback" not in on_ray.output
    assert networks(on_ray) == networks(local)
    assert {path.name for path in (on_ray.folder / "outputs/training").iterdir()} == {
        path.name for path in (local.folder / "outputs/training").iterdir()
    }


def test_a_training_that_ends_its_tasks_fails_after_its_retries(bed, ray_command):
    words = "save_every=2000", "hydra.launcher.checkpoint_minutes=0.001", "hydra.launcher.retries=0"
    on_ray = ray_command(*TRAIN, LONG, *RAY, *words)
    curves = on_ray.folder / "outputs" / "training"
    on_ray.wait_for(lambda: len(list(curves.glob("*/curve.jsonl"))) == 2, "both trainings have sent a checkpoint")
    on_ray.kill_a_worker()
    assert "its task ended 1 time without a result, the last time because the Ray worker died" in on_ray.end(code=1)
    assert on_ray.errors == ["brittlestar: 1 training failed"]
    assert len(list(curves.glob("*/final/policy.zip"))) == len(list(curves.glob("*/metadata.json"))) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_trainings_in_one_line_and_leaves_no_process(bed, ray_command, number, code):
    before = set(bed.processes())
    on_ray = ray_command(*TRAIN, "steps=1000000", *RAY)
    wait_until_training(bed, on_ray)
    on_ray.process.send_signal(number)
    on_ray.end(code=code)
    assert len(on_ray.errors) == 1 and "Traceback" not in on_ray.output
    assert claims(on_ray) == []
    wait_until_idle(bed)
    ray_bed.wait_until(lambda: set(bed.processes()) <= before, "all processes of the command ended")


def test_two_drivers_do_not_share_the_folder_of_a_training(bed, ray_command):
    first = ray_command(*TRAIN, LONG, *RAY)
    wait_until_training(bed, first)
    store = f"store={first.folder}/outputs/training"
    second = ray_command(*TRAIN, LONG, store, *RAY)
    assert second.end(code=1).count(f"is in use by process {first.process.pid}") == 2
    first.end()
    assert len(networks(first)) == 6


@pytest.mark.parametrize("kill", [False, True])
def test_hardenings_give_the_same_tables_as_on_this_machine(bed, ray_command, kill):
    local, on_ray = (ray_command(*HARDEN, *more) for more in ((), RAY))
    if kill:
        on_ray.wait_for(lambda: claims(on_ray) and bed.workers(), "a training runs")
        on_ray.kill_a_worker()
    local.end()
    on_ray.end()
    assert networks(on_ray) == networks(local)
    assert scores(on_ray) == scores(local)
    tables = [command.files("outputs/hardening", *TABLES) for command in (local, on_ray)]
    assert {path.rpartition("/")[2] for path in tables[0]} >= {"gains.csv", "curve.csv", "report.md", "result.json"}
    # The list of cells has hashes, which cover the file of the hardened policy with the time of its training.
    assert {path.rpartition("/")[2] for path in tables[0] if tables[0][path] != tables[1][path]} <= CELLS


def test_a_hardening_that_fails_is_one_line_and_the_other_goes_on(ray_command):
    words = [word for word in HARDEN if not word.startswith(("levels", "train_seed"))]
    on_ray = ray_command(*words, "levels=[0,0.1],[0,-1]", *RAY)
    on_ray.end(code=1)
    assert len(on_ray.errors) == 1 and "must be at least 0" in on_ray.errors[0]
    assert "Traceback" not in on_ray.output
    assert len(list(on_ray.folder.glob("outputs/hardening/*/result.json"))) == 1


def test_the_training_commands_of_the_page_run(ray_command):
    blocks = re.findall(r"```sh\n(.*?)```", (ray_bed.ROOT / "docs" / "ray.md").read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if re.match("brittlestar (train|harden) ", line)]
    assert len(lines) == 2
    for line in lines:
        command = ray_command(*shlex.split(line)[1:])
        command.end()
        facts = [json.loads(text) for text in command.files("outputs/training", ".json").values()]
        assert sum("clean" in each for each in facts) == 2
