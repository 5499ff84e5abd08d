"""The commands of Slurm: what runs, why a job ended, what the cluster allows."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from brittlestar.errors import UserError

_COMMANDS = ("sbatch", "squeue", "scontrol")
_SECONDS = 60
DEFAULT_ARRAY_SIZE = 1001


@dataclass(frozen=True)
class QueueEntry:
    """A task in the queue: its state, such as PENDING or RUNNING, and why it is pending."""

    id: str
    state: str
    reason: str


def require_slurm() -> None:
    """Raises a `UserError` if this machine has no Slurm commands, or submitit is missing."""
    absent = [name for name in _COMMANDS if shutil.which(name) is None]
    if absent:
        raise UserError(
            f"`hydra/launcher=slurm` needs the commands of Slurm on this machine, and {', '.join(absent)} is not "
            "installed; run it on a login node of the cluster, or use `hydra/launcher=cells`"
        )
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise UserError("`hydra/launcher=slurm` needs submitit: pip install 'brittlestar[slurm]'") from None


def queue(names: Iterable[str]) -> dict[tuple[str, int], QueueEntry] | None:
    """Returns the tasks in the queue, by the name of the submission and the number of the task.

    Returns None if Slurm does not answer: then nothing is known about any task.
    """
    text = _output("squeue", "--noheader", "--array", f"--name={','.join(names)}", "--format=%j|%F|%K|%T|%r")
    if text is None:
        return None
    entries = {}
    for line in text.splitlines():
        name, job, index, state, reason = line.split("|", 4)
        # A submission of one task is no array.
        is_array = index.isdigit()
        entries[name, int(index) if is_array else 0] = QueueEntry(f"{job}_{index}" if is_array else job, state, reason)
    return entries


def end_state(job: str) -> str:
    """Returns how Slurm says that a job ended, such as TIMEOUT; empty if it does not know."""
    if not re.fullmatch(r"\d+(_\d+)?", job):
        return ""
    text = _output("sacct", "--noheader", "--allocations", "--parsable2", "--format=State", f"--jobs={job}") or ""
    if not text.strip():
        # Without accounting, Slurm remembers a job for a few minutes.
        text = " ".join(re.findall(r"JobState=(\w+)", _output("scontrol", "show", "job", job, "--oneliner") or ""))
    return (text.split() or [""])[0]


def max_array_size() -> int:
    """Returns how many tasks an array of jobs may have."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", _output("scontrol", "show", "config") or "")
    return int(found[1]) if found else DEFAULT_ARRAY_SIZE


def usable_cpus(partition: str | None) -> int | None:
    """Returns how many CPUs of a partition are allocated or idle, by default of the default one; None if unknown."""
    words = [f"--partition={partition}"] if partition else []
    text = _output("sinfo", "--noheader", "--format=%P|%C", *words) or ""
    counts = re.findall(r"^[^|\n]+\|(\d+)/(\d+)/" if partition else r"^[^|\n]+\*\|(\d+)/(\d+)/", text, re.MULTILINE)
    return sum(int(allocated) + int(idle) for allocated, idle in counts) or None


def cancel(names: Iterable[str]) -> None:
    """Cancels the jobs of submissions."""
    for name in names:
        _output("scancel", f"--name={name}")


def _output(*words: str) -> str | None:
    """Returns what a command prints; None if it fails, is missing, or does not answer."""
    try:
        result = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None
