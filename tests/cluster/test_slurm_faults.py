"""Faults at random moments of a sweep on Slurm: the tables are those of an undisturbed sweep on this machine."""

import os
import random
import signal
import time

import pytest

pytestmark = pytest.mark.cluster
SEEDS = "seed=range(8)"
MOMENTS = range(int(os.environ.get("BRITTLESTAR_MOMENTS", "10")))


def wait_a_moment(run, moment, longest=12.0):
    """Waits until a job runs, and then for a random time."""
    run.wait_for_job()
    time.sleep(random.Random(moment).uniform(0, longest))


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
    run.bed.output("sbatch", "--partition=urgent", "--output=/dev/null", "--array=0-1", "--wrap=sleep 3")
    run.end()
    assert run.tables == undisturbed(SEEDS)


@pytest.mark.parametrize("moment", MOMENTS)
def test_job_out_of_time(sweep, undisturbed, moment):
    # A minute is the shortest limit of Slurm, which ends a job up to half a minute later.
    policy = "policy=callable", "policy.path=slow:slower_in_a_job"
    since = time.strftime("%H:%M:%S")
    run = sweep("seed=range(4)", "hydra.launcher.time=1", policy=policy)
    run.end()
    assert "TIMEOUT" in run.bed.output("sacct", "-n", "-X", "-P", "-o", "State", "-S", since)
    assert run.tables == undisturbed("seed=range(4)", policy)


@pytest.mark.parametrize("moment", MOMENTS)
def test_node_killed(sweep, undisturbed, moment):
    run = sweep(SEEDS)
    wait_a_moment(run, moment, 8)
    node = random.Random(moment).choice(["n1", "n2"])
    run.bed.kill_node(node)
    run.bed.wait_until(lambda: "down" in run.bed.output("sinfo", "-h", "-n", node, "-o", "%T"), f"{node} is down", 90)
    run.bed.start(node)
    run.end()
    assert run.tables == undisturbed(SEEDS)


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
