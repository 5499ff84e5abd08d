"""Sweeps on a real Slurm, undisturbed and with options."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from started import SECONDS

pytestmark = pytest.mark.cluster
SEEDS = "seed=range(4)"
RUN = str(Path(__file__).parents[2] / "run.py")


def submissions(sweep):
    return [
        json.loads(path.read_text()) for path in sorted(sweep.folder.glob("outputs/store/.tasks/*/submission.json"))
    ]


@pytest.mark.short
def test_the_tables_are_those_of_a_local_sweep(sweep, undisturbed):
    run = sweep(SEEDS)
    output = run.end()
    assert "24/24 cells" in output
    assert run.tables == undisturbed(SEEDS)
    assert not list(run.folder.glob("outputs/store/.tasks/*"))
    assert not run.jobs()


@pytest.mark.short
def test_a_cancelled_job_costs_only_the_cells_it_had_not_finished(sweep, undisturbed):
    run = sweep(SEEDS)
    run.wait_for_job()
    measured = run.stored
    run.wait_for(lambda: run.stored - measured, "a cell of the job is there")
    before = run.stored
    (first,) = submissions(run)
    run.bed.output("scancel", run.jobs()[0])
    run.wait_for(lambda: len(submissions(run)) == 2, "submitted again")
    again = {cell for task in submissions(run)[1]["cells"] for cell in task}
    assert again and not again & before
    assert again <= {cell for task in first["cells"] for cell in task}
    run.end()
    assert run.tables == undisturbed(SEEDS)


def test_what_an_earlier_driver_submitted_again_is_not_submitted_a_third_time(sweep, undisturbed):
    run = sweep(SEEDS)
    run.wait_for_job()
    run.bed.output("scancel", run.jobs("RUNNING")[0])
    # A submission without ids is one that Slurm does not have yet.
    run.wait_for(lambda: [bool(each["ids"]) for each in submissions(run)] == [True, True], "submitted again")
    names = seen = set(run.folder.glob("outputs/store/.tasks/*"))
    run.process.kill()
    run.process.wait()
    run.start()
    while run.process.poll() is None:
        seen = seen | set(run.folder.glob("outputs/store/.tasks/*"))
        time.sleep(0.1)
    run.end()
    assert seen == names
    assert run.tables == undisturbed(SEEDS)


def test_many_short_cells_become_few_jobs(sweep):
    since = time.strftime("%H:%M:%S")
    run = sweep("seed=range(100)", policy=("policy=random",))
    run.end()
    jobs = run.bed.output("sacct", "-n", "-X", "-P", "-o", "JobID", "-S", since).splitlines()
    assert len(run.stored) == 600
    # On a busy machine, cells are measured to take longer. On average a job still has 30.
    assert 0 < len(jobs) <= 20


def test_no_more_jobs_than_allowed_are_in_the_queue(sweep, undisturbed):
    # A cell that was never measured counts as a minute, so that a job of two minutes takes one.
    few = "hydra.launcher.most_jobs=3", "hydra.launcher.time=2", "hydra.launcher.measure_seconds=0"
    run = sweep(SEEDS, *few)
    most = 0
    while run.process.poll() is None:
        most = max(most, len(run.jobs("PENDING", "RUNNING")))
        time.sleep(0.2)
    run.end()
    assert most == 3
    assert run.tables == undisturbed(SEEDS)


def test_cached_cells_are_not_submitted(sweep):
    run = sweep("seed=0")
    run.end()
    first = run.bed.output("sacct", "-n", "-X", "-P", "-o", "JobID")
    run.start()
    assert "6 cached" in run.end()
    assert run.bed.output("sacct", "-n", "-X", "-P", "-o", "JobID") == first


def test_without_waiting_the_same_command_later_collects(sweep, undisturbed):
    run = sweep(SEEDS, "hydra.launcher.wait=false")
    output = run.end()
    (record,) = submissions(run)
    assert f"`scancel {record['ids'][0].partition('_')[0]}`" in output
    assert "the same command later" in output
    # While the jobs are there, it submits nothing twice.
    run.start()
    run.end()
    assert len(submissions(run)) <= 1
    run.process = None
    run.wait_for(lambda: not run.jobs(), "the jobs have ended")
    run.start()
    run.end()
    assert run.tables == undisturbed(SEEDS)


def test_a_later_command_waits_for_jobs_that_still_run(sweep, undisturbed):
    run = sweep(SEEDS, "hydra.launcher.wait=false")
    run.end()
    run.start("hydra.launcher.wait=true")
    run.end()
    assert run.tables == undisturbed(SEEDS)


def test_failed_cells_without_waiting_are_collected_once(sweep):
    broken = "policy=callable", "policy.path=slow:nothing"
    run = sweep("seed=0", "hydra.launcher.wait=false", policy=broken)
    run.end()
    run.process = None
    run.wait_for(lambda: not run.jobs(), "the jobs have ended")
    run.start()
    assert "6 cells failed" in run.end(1)
    assert not list(run.folder.glob("outputs/store/.tasks/*/submission.json"))


def test_cells_that_kill_their_job_are_recorded_and_the_others_finish(sweep):
    deadly = "policy=callable", "policy.path=slow:Deadly", "+policy.kwargs.kill=true,false"
    run = sweep("seed=0", "hydra.launcher.retries=1", "hydra.launcher.measure_seconds=0", policy=deadly)
    output = run.end(1)
    assert "6 cells failed" in output and "lost 2 times: Slurm job" in output and "CANCELLED" in output
    assert len(run.stored) == 6


def test_a_job_that_never_begins_fails_with_the_reason(sweep):
    run = sweep(
        "seed=0", "hydra.launcher.setup=[exit 3]", "hydra.launcher.retries=1", "hydra.launcher.measure_seconds=0"
    )
    output = run.end(1)
    assert "6 cells failed" in output and "lost 2 times" in output and "FAILED" in output


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "partition=nope",
            "brittlestar: sbatch refused the jobs: invalid partition specified: nope; Batch job submission",
        ),
        ("cpus=0", "`hydra.launcher.cpus` must be at least 1, got 0"),
        ("time=soon", "`hydra.launcher.time` must be minutes, HH:MM:SS or D-HH:MM:SS, got soon"),
        ("minutes_per_task=0", "`hydra.launcher.minutes_per_task` must be above 0, got 0"),
    ],
)
def test_a_wrong_option_is_one_line(sweep, option, message):
    run = sweep("seed=0", f"hydra.launcher.{option}")
    output = run.end(1)
    lines = [line for line in output.splitlines() if "cells:" not in line and "runs on EnvPool" not in line]
    assert len(lines) == 1 and message in lines[0], output


def test_every_option_reaches_sbatch(sweep):
    values = {"partition": "urgent", "account": "lab", "time": "0:30:00", "memory": "500M", "cpus": "1"}
    options = [f"hydra.launcher.{name}={value}" for name, value in values.items()]
    lines = 'hydra.launcher.setup=["export GREETING=1",echo hello]', "+hydra.launcher.sbatch.nice=7"
    run = sweep("seed=0", *options, *lines, "hydra.launcher.array_parallelism=1", "hydra.launcher.wait=false")
    run.end()
    # submitit writes the script twice.
    text = next(run.folder.glob("outputs/store/.tasks/*/slurm/*.sh")).read_text()
    flags = "partition=urgent", "account=lab", "time=0:30:00", "mem=500M", "cpus-per-task=1", "nice=7", "requeue"
    assert [flag for flag in flags if f"#SBATCH --{flag}\n" not in text] == []
    assert "\nexport GREETING=1\necho hello\n" in text


def test_dead_jobs_are_noticed_without_accounting(sweep, undisturbed):
    run = sweep(SEEDS)
    run.wait_for_job()
    run.bed.end("slurmdbd")
    run.bed.output("scancel", run.jobs("RUNNING")[0])
    run.end()
    assert run.tables == undisturbed(SEEDS)


def test_a_silent_controller_ends_nothing(sweep, undisturbed):
    run = sweep(SEEDS)
    run.wait_for_job()
    run.bed.end("slurmctld")
    time.sleep(5)
    run.bed.start("slurmctld")
    run.end()
    assert run.tables == undisturbed(SEEDS)
    assert "lost" not in run.output


def test_ctrl_c_in_a_pipe_leaves_the_jobs_and_says_how_to_find_them(sweep, undisturbed):
    run = sweep(SEEDS)
    run.wait_for_job()
    run.process.send_signal(signal.SIGINT)
    output = run.end(130)
    (record,) = submissions(run)
    assert f"squeue --jobs={record['ids'][0].partition('_')[0]}" in output
    assert run.jobs()
    run.start()
    run.end()
    assert run.tables == undisturbed(SEEDS)


@pytest.mark.parametrize(("answer", "remain"), [("y\n", False), ("n\n", True)])
def test_ctrl_c_on_a_terminal_asks_whether_to_cancel(sweep, answer, remain):
    run = sweep("seed=range(16)")
    run.process.kill()
    run.process.wait()
    master, slave = pty.openpty()
    command = [sys.executable, RUN, "-m", *run.arguments, "hydra.sweep.dir=sweep"]
    driver = subprocess.Popen(
        command, cwd=run.folder, env=run.bed.env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    run.process = driver
    run.wait_for_job()
    time.sleep(1)
    driver.send_signal(signal.SIGINT)
    text = b""
    while b"[y/N]" not in text:
        text += os.read(master, 4096)
    os.write(master, answer.encode())
    assert driver.wait(SECONDS) == 130
    assert bool(submissions(run)) == remain
    run.bed.wait_until(lambda: bool(run.jobs("RUNNING", "PENDING")) == remain, f"jobs are there: {remain}")
