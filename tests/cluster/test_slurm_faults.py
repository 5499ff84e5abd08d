"""Faults at random moments of a sweep on Slurm: the tables are those of an undisturbed sweep on this machine."""

import os
import random
import signal
import time

import pytest
from started import kill_a_worker

pytestmark = pytest.mark.cluster
SEEDS = "seed=range(8)"
MOMENTS = range(int(os.environ.get("BRITTLESTAR_MOMENTS", "10")))
GROUPS = [MOMENTS[first : first + 5] for first in MOMENTS[::5]]
"""Moments whose sweeps run side by side."""


def wait_a_moment(run, moment, longest=12.0):
    """Waits until a job runs, and then for a random time."""
    run.wait_for_job()
    time.sleep(random.Random(moment).uniform(0, longest))


def end_with_equal_tables(runs, tables):
    for run in runs:
        run.end(seconds=1800)
    assert [run.folder for run in runs if run.tables != tables] == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_job_cancelled(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    wait_a_moment(run, moment)
    for job in random.Random(moment).sample(run.jobs(), k=min(2, len(run.jobs()))):
        run.bed.output("scancel", job)
    run.end()
    assert run.tables == undisturbed(SEEDS)


@pytest.mark.parametrize("moment", MOMENTS)
def test_job_requeued(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    wait_a_moment(run, moment)
    for job in run.jobs("RUNNING"):
        run.bed.output("scontrol", "requeue", job)
    run.end()
    assert run.tables == undisturbed(SEEDS)


@pytest.mark.parametrize("moment", MOMENTS)
def test_job_preempted(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    wait_a_moment(run, moment)
    run.bed.output("sbatch", "--partition=urgent", "--output=/dev/null", "--array=0-1", "--exclusive", "--wrap=sleep 3")
    run.end()
    assert run.tables == undisturbed(SEEDS)


def test_jobs_out_of_time(sweep, undisturbed):
    # A minute is the shortest limit of Slurm, which ends a job up to half a minute later: all moments run together.
    policy = "policy=callable", "policy.path=slow:slower_in_a_job"
    limit = "hydra.launcher.time=1", "hydra.launcher.poll_seconds=5"
    since = time.strftime("%H:%M:%S")
    runs = [sweep("seed=range(4)", *limit, policy=policy, folder=str(moment)) for moment in MOMENTS]
    end_with_equal_tables(runs, undisturbed("seed=range(4)", policy))
    states = runs[0].bed.output("sacct", "-n", "-X", "-P", "-o", "WorkDir%500,State", "-S", since).splitlines()
    assert [run.folder for run in runs if f"{run.folder}|TIMEOUT" not in states] == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_node_killed(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    wait_a_moment(run, moment, 8)
    node = random.Random(moment).choice(["n1", "n2"])
    run.bed.kill_node(node)
    run.bed.wait_until(lambda: "down" in run.bed.output("sinfo", "-h", "-n", node, "-o", "%T"), f"{node} is down")
    run.bed.start(node)
    run.end()
    assert run.tables == undisturbed(SEEDS)


@pytest.mark.parametrize("moments", GROUPS)
def test_workers_killed(sweep, undisturbed, moments):
    runs = [sweep(SEEDS, folder=str(moment)) for moment in moments]
    for moment, chance in zip(moments, map(random.Random, moments), strict=True):
        runs[0].bed.wait_until(runs[0].bed.workers, f"moment {moment}: a worker computes cells")
        time.sleep(chance.uniform(0, 3))
        runs[0].bed.wait_until(lambda c=chance: kill_a_worker(runs[0].bed, c), f"moment {moment}: a worker is killed")
    end_with_equal_tables(runs, undisturbed(SEEDS))


@pytest.mark.parametrize("moments", GROUPS)
def test_store_on_a_full_disk(small_disk, sweep, undisturbed, tmp_path, moments):
    disks = {moment: tmp_path / str(moment) / "outputs" for moment in moments}
    for moment, disk in disks.items():
        # A cell takes 4 kB, so that all of them never fit.
        small_disk(disk, f"{16 + 16 * moment}k")
    runs = [sweep(SEEDS, folder=str(moment)) for moment in moments]
    for run in runs:
        output = run.end(1)
        assert "No space left on device" in output and "Traceback" not in output
    for run, disk in zip(runs, disks.values(), strict=True):
        small_disk(disk, "64m")
        run.start()
    end_with_equal_tables(runs, undisturbed(SEEDS))


@pytest.mark.parametrize("moments", GROUPS)
def test_two_drivers_in_separate_containers_share_a_store(sweep, undisturbed, moments):
    runs = [sweep(SEEDS, folder=f"first{moment}", apart=True) for moment in moments]
    for first, moment in zip(list(runs), moments, strict=True):
        time.sleep(random.Random(moment).uniform(0, 6))
        store = f"store={first.folder}/outputs/store"
        runs.append(sweep(SEEDS, store, folder=f"second{moment}", apart=True))
    end_with_equal_tables(runs, undisturbed(SEEDS))


@pytest.mark.parametrize("moment", MOMENTS)
def test_driver_killed(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    # Also before, while and after it submits.
    time.sleep(random.Random(moment).uniform(0, 20))
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    run.start()
    run.end()
    assert run.tables == undisturbed(SEEDS)


@pytest.mark.parametrize("moment", MOMENTS)
def test_driver_and_job_killed(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    wait_a_moment(run, moment)
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    run.bed.output("scancel", *run.jobs()[:1])
    run.start()
    run.end()
    assert run.tables == undisturbed(SEEDS)
