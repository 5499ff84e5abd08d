"""Faults at random moments of a sweep on Ray: the tables are those of an undisturbed sweep on this machine."""

import os
import random

import pytest
import ray_bed
from started import GRID, RAY, SLOW, wait_until_idle

pytestmark = pytest.mark.cluster
MOMENTS = range(int(os.environ.get("BRITTLESTAR_MOMENTS", "10")))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_worker_changes_no_table(ray_sweep, ray_undisturbed, moment):
    chance = random.Random(moment)
    on_ray = ray_sweep(*GRID, *SLOW, *RAY)
    cells = chance.randrange(44)
    on_ray.wait_for(lambda: len(on_ray.stored) >= cells, f"{cells} cells are there")
    on_ray.kill_a_worker(chance)
    on_ray.end()
    assert on_ray.tables == ray_undisturbed


@pytest.mark.parametrize("kill", [ray_bed.RayBed.kill_raylet, ray_bed.RayBed.kill_node])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lost_node_changes_no_table(bed, ray_sweep, ray_undisturbed, moment, kill):
    on_ray = ray_sweep(*GRID, *SLOW, *RAY)
    cells = random.Random(moment).randrange(44)
    on_ray.wait_for(lambda: len(on_ray.stored) >= cells and bed.workers(), f"{cells} cells and a worker are there")
    kill(bed, ray_bed.WORKER)
    on_ray.end()
    assert on_ray.tables == ray_undisturbed


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_driver_leaves_nothing_behind_and_continues(bed, ray_sweep, ray_undisturbed, tmp_path, moment):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    first = ray_sweep(*GRID, *SLOW, *RAY, TMPDIR=str(temporary))
    cells = random.Random(moment).randrange(1, 44)
    first.wait_for(lambda: len(first.stored) >= cells, f"{cells} cells are there")
    first.process.kill()
    first.process.wait()
    wait_until_idle(bed)
    ray_bed.wait_until(lambda: list(temporary.iterdir()) == [], "no temporary file is left")
    again = first.again()
    again.end()
    assert again.tables == ray_undisturbed


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_full_disk_fails_cells_and_the_same_command_continues(
    small_disk, ray_sweep, ray_undisturbed, tmp_path, moment
):
    disk = tmp_path / "0" / "outputs"
    # A cell takes 4 kB, so that all of them never fit.
    small_disk(disk, f"{16 + 16 * moment}k")
    first = ray_sweep(*GRID, *SLOW, *RAY)
    assert "No space left on device" in first.end(code=1)
    assert "Traceback" not in first.output
    small_disk(disk, "64m")
    again = first.again()
    again.end()
    assert again.tables == ray_undisturbed


@pytest.mark.parametrize("moment", MOMENTS)
def test_two_drivers_in_separate_containers_share_a_store(ray_sweep, ray_undisturbed, moment):
    # Ray lets a driver connect only where it sees the processes of a node.
    first = ray_sweep(*GRID, *SLOW, *RAY, node=ray_bed.HEAD)
    cells = random.Random(moment).randrange(44)
    first.wait_for(lambda: len(first.stored) >= cells, f"{cells} cells are there")
    second = ray_sweep(*GRID, *SLOW, *RAY, f"store={first.folder}/outputs/store", node=ray_bed.WORKER)
    for each in (first, second):
        each.end()
        assert each.tables == ray_undisturbed


def test_a_cluster_that_is_lost_is_one_line_and_the_sweep_continues(bed, ray_sweep, ray_undisturbed):
    first = ray_sweep(*GRID, *SLOW, *RAY)
    first.wait_for(lambda: len(first.stored) >= 4, "4 cells are there")
    bed.kill_node(ray_bed.HEAD)
    first.end(code=1)
    (line,) = first.errors
    assert "was lost" in line
    bed.kill_node(ray_bed.WORKER)
    bed.up()
    again = first.again()
    again.end()
    assert again.tables == ray_undisturbed
