"""Why a process ended that should not have."""

import contextlib
import signal
from pathlib import Path

_MEMORY_EVENTS = ("/proc/vmstat", "/sys/fs/cgroup/memory.events")


def cause_of_death(exit_code: int | None, out_of_memory: bool) -> str:
    """Returns one line about a worker that ended in the middle of a cell.

    Example:
        >>> cause_of_death(-11, False)
        'its process was ended by SIGSEGV (Segmentation fault)'
        >>> cause_of_death(3, False)
        'its process ended with exit code 3 in the middle of the cell'
    """
    if exit_code is None or exit_code >= 0:
        return f"its process ended with exit code {exit_code} in the middle of the cell"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-exit_code).name
        if out_of_memory and name == "SIGKILL":
            return "out of memory: the kernel ended its process (SIGKILL); try fewer lanes or workers"
        return f"its process was ended by {name} ({signal.strsignal(-exit_code)})"
    return f"its process was ended by signal {-exit_code}"


def count_oom_kills() -> int:
    """Returns how many processes of this machine or container the kernel ended for lack of memory; 0 if unknown."""
    count = 0
    for path in _MEMORY_EVENTS:
        with contextlib.suppress(OSError, ValueError):
            lines = Path(path).read_text().splitlines()
            count += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return count
