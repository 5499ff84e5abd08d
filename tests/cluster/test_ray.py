"""Sweeps on a real Ray of two nodes, which share no file system with the driver, and what happens under faults."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
import ray_bed
from started import RayCommand, wait_until_idle

pytestmark = pytest.mark.cluster
GRID = "env=cartpole", "perturbation.sigma=0,0.05,0.1,0.2,0.4,0.8", "episodes=4"
SLOW = "policy=callable", "policy.path=far_agents:slow", "seed=range(8)"
"""48 cells of about half a second."""
MOMENTS = range(int(os.environ.get("BRITTLESTAR_MOMENTS", "10")))
RAY = "hydra/launcher=ray", f"hydra.launcher.address={ray_bed.ADDRESS}"


@pytest.fixture
def sweep(ray_command) -> Callable[..., RayCommand]:
    """Starts sweeps."""
    return lambda *arguments, **env: ray_command("-m", *arguments, "hydra.sweep.dir=sweep", **env)


@pytest.fixture(scope="module")
def local(bed, tmp_path_factory) -> RayCommand:
    """The slow sweep on this machine, without Ray."""
    words = "-m", *GRID, *SLOW, "hydra.launcher.n_jobs=8", "hydra.sweep.dir=sweep"
    local = RayCommand(tmp_path_factory.mktemp("local"), bed, words)
    local.start().end()
    return local


@pytest.fixture(scope="module")
def undisturbed(local) -> dict[str, bytes]:
    assert local.tables
    return local.tables


@pytest.mark.short
def test_two_nodes_give_the_same_tables_and_lines_as_this_machine(sweep, local):
    on_ray = sweep(*GRID, *SLOW, *RAY)
    on_ray.end()
    assert on_ray.tables == local.tables
    assert on_ray.lines == local.lines


@pytest.mark.short
def test_the_nodes_do_not_see_the_files_of_the_driver(sweep, tmp_path):
    grid = *GRID, "policy=callable", "policy.path=far_agents:Spy", f"+policy.kwargs.file={tmp_path}"
    assert "can be seen" in sweep(*grid).end(code=1)
    sweep(*grid, *RAY).end()


def test_agents_travel_by_relative_and_absolute_path(sweep, tmp_path):
    zoo = ray_bed.ROOT / "src/brittlestar/policies/zoo"
    shutil.copytree(zoo / "cartpole_ppo", tmp_path / "agents" / "ppo")
    shutil.copytree(zoo / "cartpole_dqn", tmp_path / "agents" / "dqn")
    paths = f"policy.path=../agents/ppo/policy.zip,{tmp_path}/agents/dqn/policy.zip"
    local, on_ray = (sweep(*GRID, "policy=sb3", paths, *more) for more in ((), RAY))
    local.end()
    on_ray.end()
    assert on_ray.tables == local.tables


def test_a_new_agent_at_the_old_path_is_a_new_agent_on_the_nodes(sweep, tmp_path):
    zoo = ray_bed.ROOT / "src/brittlestar/policies/zoo"
    results = []
    for name in ("cartpole_ppo", "cartpole_dqn"):
        shutil.copytree(zoo / name, tmp_path / "agent", dirs_exist_ok=True)
        on_ray = sweep(*GRID, "policy=sb3", f"policy.path={tmp_path}/agent/policy.zip", *RAY)
        on_ray.end()
        local = sweep(*GRID, "policy=sb3", f"policy.path={tmp_path}/agent/policy.zip")
        local.end()
        assert on_ray.tables == local.tables
        results.append(on_ray.tables)
    assert results[0] != results[1]


def test_the_commands_of_the_page_run(sweep):
    blocks = re.findall(r"```sh\n(.*?)```", (ray_bed.ROOT / "docs" / "ray.md").read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("brittlestar -m ")]
    assert len(lines) == 2
    for line in lines:
        assert "4 done" in sweep(*shlex.split(line)[2:]).end()


def test_a_finished_sweep_needs_no_cluster(sweep):
    first = sweep(*GRID, *SLOW[:2], *RAY)
    first.end()
    again = first.again("hydra.launcher.address=127.0.0.9:1")
    assert "6 cached" in again.end()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_worker_changes_no_table(bed, sweep, undisturbed, moment):
    chance = random.Random(moment)
    on_ray = sweep(*GRID, *SLOW, *RAY)
    cells = chance.randrange(44)
    on_ray.wait_for(lambda: len(on_ray.stored) >= cells and bed.workers(), f"{cells} cells and a worker are there")
    os.kill(chance.choice(bed.workers()), signal.SIGKILL)
    on_ray.end()
    assert on_ray.tables == undisturbed


@pytest.mark.parametrize("kill", [ray_bed.RayBed.kill_raylet, ray_bed.RayBed.kill_node])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lost_node_changes_no_table(bed, sweep, undisturbed, moment, kill):
    on_ray = sweep(*GRID, *SLOW, *RAY)
    cells = random.Random(moment).randrange(44)
    on_ray.wait_for(lambda: len(on_ray.stored) >= cells and bed.workers(), f"{cells} cells and a worker are there")
    kill(bed, ray_bed.WORKER)
    on_ray.end()
    assert on_ray.tables == undisturbed


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_driver_leaves_nothing_behind_and_continues(bed, sweep, undisturbed, tmp_path, moment):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    first = sweep(*GRID, *SLOW, *RAY, TMPDIR=str(temporary))
    cells = random.Random(moment).randrange(1, 44)
    first.wait_for(lambda: len(first.stored) >= cells, f"{cells} cells are there")
    first.process.kill()
    first.process.wait()
    wait_until_idle(bed)
    assert list(temporary.iterdir()) == []
    again = first.again()
    again.end()
    assert again.tables == undisturbed


def test_a_cell_that_ends_its_process_fails_and_the_others_do_not(sweep):
    grid = *GRID, "policy=callable", "policy.path=far_agents:fatal", "seed=range(4)"
    local, on_ray = (sweep(*grid, *more) for more in ((), RAY))
    local.end(code=1)
    on_ray.end(code=1)
    assert on_ray.tables == local.tables
    assert 0 < len(on_ray.stored) < 24


def test_a_cell_that_ends_its_task_again_and_again_fails_and_the_others_do_not(sweep):
    grid = *GRID, "policy=callable", "policy.path=far_agents:{}", "seed=0,1"
    local = sweep(*(word.format("fatal") for word in grid))
    local.end(code=1)
    on_ray = sweep(*(word.format("treacherous") for word in grid), *RAY, "hydra.launcher.retries=1")
    assert "its task ended 2 times without a result, the last time because the Ray worker died" in on_ray.end(code=1)
    assert len(on_ray.stored) == len(local.stored)


def test_a_cell_that_hangs_fails_after_its_timeout(sweep):
    grid = *GRID, "policy=callable", "policy.path=far_agents:hanging", "timeout_minutes=0.1"
    local, on_ray = (sweep(*grid, *more) for more in ((), RAY))
    assert "timeout_minutes=0.1" in local.end(code=1)
    assert "timeout_minutes=0.1" in on_ray.end(code=1)
    assert on_ray.tables == local.tables


@pytest.mark.parametrize("address", [ray_bed.ADDRESS, "null"])
@pytest.mark.parametrize(("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "")])
def test_a_signal_ends_the_sweep_in_one_line_and_leaves_no_process(bed, sweep, address, number, code, word):
    before = set(bed.processes())
    on_ray = sweep(*GRID, *SLOW, RAY[0], f"hydra.launcher.address={address}")
    on_ray.wait_for(lambda: len(on_ray.stored) >= 2, "2 cells are there")
    on_ray.process.send_signal(number)
    on_ray.end(code=code)
    (line,) = on_ray.errors
    assert word in line
    assert "Traceback" not in on_ray.output
    wait_until_idle(bed)
    ray_bed.wait_until(lambda: set(bed.processes()) <= before, "all processes of the sweep ended", 30)


@pytest.mark.parametrize("seconds", [1, 2, 4, 6, 8])
def test_ctrl_c_while_a_local_ray_starts_leaves_no_process(bed, sweep, seconds):
    before = set(bed.processes())
    on_ray = sweep(*GRID, *SLOW, RAY[0])
    time.sleep(seconds)
    on_ray.process.send_signal(signal.SIGINT)
    (line,) = on_ray.end(code=130).splitlines()[-1:]
    assert line.startswith("brittlestar: interrupted")
    ray_bed.wait_until(lambda: set(bed.processes()) <= before, "all processes of the sweep ended", 30)


def test_a_full_disk_fails_cells_and_the_same_command_continues(bed, sweep, undisturbed, tmp_path):
    disk = tmp_path / "0" / "outputs"
    disk.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], check=True)
    try:
        first = sweep(*GRID, *SLOW, *RAY)
        assert "No space left on device" in first.end(code=1)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        again = first.again()
        again.end()
        assert again.tables == undisturbed
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_address_that_does_not_answer_is_one_line(sweep):
    run = sweep(*GRID, RAY[0], "hydra.launcher.address=127.0.0.9:1", "hydra.launcher.connect_seconds=5")
    run.end(code=1)
    (line,) = run.errors
    assert "`hydra.launcher.address=127.0.0.9:1` does not answer within 5 s" in line


def test_a_missing_token_is_one_line(sweep):
    run = sweep(*GRID, *RAY, RAY_AUTH_MODE="disabled")
    run.end(code=1)
    (line,) = run.errors
    assert "it asks for a token; set RAY_AUTH_MODE=token" in line


def test_nodes_without_the_code_are_one_line(sweep):
    run = sweep(*GRID, *RAY, "hydra.launcher.ship_code=false")
    run.end(code=1)
    (line,) = run.errors
    assert "a node of the cluster cannot run cells: ModuleNotFoundError: No module named 'brittlestar" in line


def test_a_task_that_is_too_large_for_this_machine_is_one_line(sweep):
    run = sweep(*GRID, RAY[0], "hydra.launcher.num_cpus=100000")
    run.end(code=1)
    (line,) = run.errors
    assert "this machine cannot run a task that needs CPU=100000" in line


def test_a_cluster_that_is_lost_is_one_line_and_the_sweep_continues(bed, sweep, undisturbed):
    first = sweep(*GRID, *SLOW, *RAY)
    first.wait_for(lambda: len(first.stored) >= 4, "4 cells are there")
    bed.kill_node(ray_bed.HEAD)
    first.end(code=1)
    (line,) = first.errors
    assert "was lost" in line
    bed.kill_node(ray_bed.WORKER)
    bed.up()
    again = first.again()
    again.end()
    assert again.tables == undisturbed


def test_a_task_uses_its_cores_by_workers_of_the_node(sweep, undisturbed):
    on_ray = sweep(*GRID, *SLOW, RAY[0], "hydra.launcher.address=local", "hydra.launcher.num_cpus=2")
    on_ray.end()
    assert on_ray.tables == undisturbed
