"""Why a process ended that should not have."""

import contextlib
import signal
from pathlib import Path, PurePosixPath

_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_MACHINE = Path("/proc/vmstat")


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
    """Returns how many processes the kernel has ended for lack of memory, among those of the control group of this one.

    Where the system has no counts of groups, all processes of the machine count; 0 if unknown.
    """
    counts = (_oom_kills(path) for path in [*_event_files(), _MACHINE])
    return next((count for count in counts if count is not None), 0)


def _event_files() -> list[Path]:
    """Returns the files that may count for the group of this process, the nearest first.

    A group without limits of its own has none: the next one above it counts. A container may see its group as the root.
    """
    files = []
    with contextlib.suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if "memory" in controllers.split(","):
                files += _upwards(_GROUPS / "memory", name, "memory.oom_control")
            elif not controllers:
                files += _upwards(_GROUPS, name, "memory.events")
    return files


def _upwards(root: Path, name: str, file: str) -> list[Path]:
    group = PurePosixPath(name)
    return [root / str(folder).lstrip("/") / file for folder in (group, *group.parents)]


def _oom_kills(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        counts = dict(line.split() for line in path.read_text().splitlines())
        return int(counts["oom_kill"]) if "oom_kill" in counts else None
    return None
