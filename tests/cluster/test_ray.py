"""Sweeps on a real Ray of two nodes, which share no file system with the driver."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import time

import pytest
import ray_bed
from started import GRID, RAY, SLOW, wait_until_idle

pytestmark = pytest.mark.cluster


@pytest.mark.short
def test_two_nodes_give_the_same_tables_and_lines_as_this_machine(ray_sweep, ray_local):
    on_ray = ray_sweep(*GRID, *SLOW, *RAY)
    on_ray.end()
    assert on_ray.tables == ray_local.tables
    assert on_ray.lines == ray_local.lines


@pytest.mark.short
def test_the_nodes_do_not_see_the_files_of_the_driver(ray_sweep, tmp_path):
    grid = *GRID, "policy=callable", "policy.path=far_agents:Spy", f"+policy.kwargs.file={tmp_path}"
    assert "can be seen" in ray_sweep(*grid).end(code=1)
    ray_sweep(*grid, *RAY).end()


def test_agents_travel_by_relative_and_absolute_path(ray_sweep, tmp_path):
    zoo = ray_bed.ROOT / "src/brittlestar/policies/zoo"
    shutil.copytree(zoo / "cartpole_ppo", tmp_path / "agents" / "ppo")
    shutil.copytree(zoo / "cartpole_dqn", tmp_path / "agents" / "dqn")
    paths = f"policy.path=../agents/ppo/policy.zip,{tmp_path}/agents/dqn/policy.zip"
    local, on_ray = (ray_sweep(*GRID, "policy=sb3", paths, *more) for more in ((), RAY))
    local.end()
    on_ray.end()
    assert on_ray.tables == local.tables


def test_a_new_agent_at_the_old_path_is_a_new_agent_on_the_nodes(ray_sweep, tmp_path):
    zoo = ray_bed.ROOT / "src/brittlestar/policies/zoo"
    results = []
    for name in ("cartpole_ppo", "cartpole_dqn"):
        shutil.copytree(zoo / name, tmp_path / "agent", dirs_exist_ok=True)
        on_ray = ray_sweep(*GRID, "policy=sb3", f"policy.path={tmp_path}/agent/policy.zip", *RAY)
        on_ray.end()
        local = ray_sweep(*GRID, "policy=sb3", f"policy.path={tmp_path}/agent/policy.zip")
        local.end()
        assert on_ray.tables == local.tables
        results.append(on_ray.tables)
    assert results[0] != results[1]


def test_the_commands_of_the_page_run(ray_sweep):
    blocks = re.findall(r"```sh\n(.*?)```", (ray_bed.ROOT / "docs" / "ray.md").read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("brittlestar -m ")]
    assert len(lines) == 2
    for line in lines:
        assert "4 done" in ray_sweep(*shlex.split(line)[2:]).end()


def test_a_finished_sweep_needs_no_cluster(ray_sweep):
    first = ray_sweep(*GRID, *SLOW[:2], *RAY)
    first.end()
    again = first.again("hydra.launcher.address=127.0.0.9:1")
    assert "6 cached" in again.end()


def test_a_cell_that_ends_its_process_fails_and_the_others_do_not(ray_sweep):
    grid = *GRID, "policy=callable", "policy.path=far_agents:fatal", "seed=range(4)"
    local, on_ray = (ray_sweep(*grid, *more) for more in ((), RAY))
    local.end(code=1)
    on_ray.end(code=1)
    assert on_ray.tables == local.tables
    assert 0 < len(on_ray.stored) < 24


def test_a_cell_that_ends_its_task_again_and_again_fails_and_the_others_do_not(ray_sweep):
    grid = *GRID, "policy=callable", "policy.path=far_agents:{}", "seed=0,1"
    local = ray_sweep(*(word.format("fatal") for word in grid))
    local.end(code=1)
    on_ray = ray_sweep(*(word.format("treacherous") for word in grid), *RAY, "hydra.launcher.retries=1")
    assert "its task ended 2 times without a result, the last time because the Ray worker died" in on_ray.end(code=1)
    assert len(on_ray.stored) == len(local.stored)


def test_a_cell_that_hangs_fails_after_its_timeout(ray_sweep):
    grid = *GRID, "policy=callable", "policy.path=far_agents:hanging", "timeout_minutes=0.5"
    local, on_ray = (ray_sweep(*grid, *more) for more in ((), RAY))
    assert "timeout_minutes=0.5" in local.end(code=1)
    assert "timeout_minutes=0.5" in on_ray.end(code=1)
    assert on_ray.tables == local.tables


@pytest.mark.parametrize("address", [ray_bed.ADDRESS, "null"])
@pytest.mark.parametrize(("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "")])
def test_a_signal_ends_the_sweep_in_one_line_and_leaves_no_process(bed, ray_sweep, address, number, code, word):
    before = set(bed.processes())
    on_ray = ray_sweep(*GRID, *SLOW, RAY[0], f"hydra.launcher.address={address}")
    on_ray.wait_for(lambda: len(on_ray.stored) >= 2, "2 cells are there")
    on_ray.process.send_signal(number)
    on_ray.end(code=code)
    (line,) = on_ray.errors
    assert word in line
    assert "Traceback" not in on_ray.output
    wait_until_idle(bed)
    ray_bed.wait_until(lambda: set(bed.processes()) <= before, "all processes of the sweep ended")


@pytest.mark.parametrize("seconds", [1, 2, 4, 6, 8])
def test_ctrl_c_while_a_local_ray_starts_leaves_no_process(bed, ray_sweep, seconds):
    before = set(bed.processes())
    on_ray = ray_sweep(*GRID, *SLOW, RAY[0])
    time.sleep(seconds)
    on_ray.process.send_signal(signal.SIGINT)
    (line,) = on_ray.end(code=130).splitlines()[-1:]
    assert line.startswith("brittlestar: interrupted")
    ray_bed.wait_until(lambda: set(bed.processes()) <= before, "all processes of the sweep ended")


def test_an_address_that_does_not_answer_is_one_line(ray_sweep):
    run = ray_sweep(*GRID, RAY[0], "hydra.launcher.address=127.0.0.9:1", "hydra.launcher.connect_seconds=5")
    run.end(code=1)
    (line,) = run.errors
    assert "`hydra.launcher.address=127.0.0.9:1` does not answer within 5 s" in line


def test_a_missing_token_is_one_line(ray_sweep):
    run = ray_sweep(*GRID, *RAY, RAY_AUTH_MODE="disabled")
    run.end(code=1)
    (line,) = run.errors
    assert "it asks for a token; set RAY_AUTH_MODE=token" in line


def test_nodes_without_the_code_are_one_line(ray_sweep):
    run = ray_sweep(*GRID, *RAY, "hydra.launcher.ship_code=false")
    run.end(code=1)
    (line,) = run.errors
    assert "a node of the cluster cannot run cells: ModuleNotFoundError: No module named 'brittlestar" in line


def test_a_task_that_is_too_large_for_this_machine_is_one_line(ray_sweep):
    run = ray_sweep(*GRID, RAY[0], "hydra.launcher.num_cpus=100000")
    run.end(code=1)
    (line,) = run.errors
    assert "this machine cannot run a task that needs CPU=100000" in line


def test_a_task_uses_its_cores_by_workers_of_the_node(ray_sweep, ray_undisturbed):
    on_ray = ray_sweep(*GRID, *SLOW, RAY[0], "hydra.launcher.address=local", "hydra.launcher.num_cpus=2")
    on_ray.end()
    assert on_ray.tables == ray_undisturbed
