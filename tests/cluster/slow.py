"""Policies of a user: one that takes its time, and one that ends its job."""

import os
import subprocess
import time


def policy(observation):
    time.sleep(0.003)
    return int(observation[2] > 0)


def slower_in_a_job(observation):
    """Takes ten times as long in a job as where it was measured."""
    time.sleep(0.027 if _own_job() else 0)
    return policy(observation)


def _own_job():
    """Returns the id of the job of this process; Slurm does not cancel a task of an array by its plain id."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array else os.environ.get("SLURM_JOB_ID")


class Deadly:
    """Ends the job that it runs in."""

    def __init__(self, kill):
        if kill and (job := _own_job()):
            subprocess.run(["scancel", job], check=True)
            time.sleep(60)

    def __call__(self, observation):
        return policy(observation)
