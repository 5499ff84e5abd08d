"""How many cores this process may use."""

import os


def cores() -> int:
    """Returns the number of cores that this process is bound to, and no more than Slurm gave its task."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Not every Slurm binds tasks to their cores. A script may set the variable to nothing.
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(bound, int(given)) if given.isdecimal() and int(given) else bound
