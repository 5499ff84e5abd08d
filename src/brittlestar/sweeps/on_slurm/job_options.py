"""A sweep on Slurm: what a job asks for, and its submission."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.errors import UserError
from brittlestar.sweeps.on_slurm.slurm_commands import cancel, max_array_size, usable_cpus
from brittlestar.sweeps.on_slurm.submission import Submission, run_task
from brittlestar.sweeps.packing import TaskLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHARE_OF_LIMIT = 0.7
"""Tasks are planned to take at most this share of the time limit of a job."""


@dataclass
class SlurmOptions:
    """What a job asks for, and how cells become jobs; `conf/hydra/launcher/slurm.yaml` describes each field."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    time: int | str = 60
    memory: int | str | None = None
    cpus: int = 1
    gpus: int | None = None
    constraint: str | None = None
    setup: Sequence[str] = ()
    sbatch: dict[str, Any] = field(default_factory=dict)
    array_parallelism: int = 256
    most_jobs: int = 1000
    minutes_per_task: float = 10
    measure_seconds: float = 10
    retries: int = 3
    wait: bool = True
    poll_seconds: float = 15

    def __post_init__(self) -> None:
        bounds: dict[str, float] = {
            "cpus": 1,
            "array_parallelism": 1,
            "most_jobs": 1,
            "retries": 0,
            "measure_seconds": 0,
        }
        for name in (*bounds, "minutes_per_task", "poll_seconds"):
            value = getattr(self, name)
            _require(name, value, isinstance(value, int | float), "a number")
            if name in bounds:
                _require(name, value, value >= bounds[name], f"at least {bounds[name]:g}")
            else:
                _require(name, value, value > 0, "above 0")
        _require("setup", self.setup, not isinstance(self.setup, str), "a list of lines")
        _require("wait", self.wait, isinstance(self.wait, bool), "true or false")
        _require("time", self.time, minutes_of(self.time) > 0, "above 0")

    def limits(self) -> TaskLimits:
        """Returns how large tasks become, with what the cluster allows."""
        longest = _SHARE_OF_LIMIT * minutes_of(self.time)
        parallel = min(self.array_parallelism, max(1, (usable_cpus(self.partition) or 100 * self.cpus) // self.cpus))
        most = min(self.most_jobs, max_array_size() - 1)
        return TaskLimits(min(self.minutes_per_task, longest), self.cpus, parallel, most, longest)


def submit(submission: Submission, options: SlurmOptions) -> None:
    """Submits the tasks of a submission as one array of jobs, and records their ids."""
    import submitit
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    executor = submitit.SlurmExecutor(folder=submission.folder / "slurm", max_num_timeout=0)
    executor.update_parameters(**_parameters(submission.name, options))
    count = len(submission.cells)
    try:
        # The message of the error has what submitit would print.
        with contextlib.redirect_stderr(io.StringIO()):
            jobs = executor.map_array(run_task, [str(submission.folder)] * count, range(count), [options.cpus] * count)
        submission.ids = [str(job.job_id) for job in jobs]
        # On a full disk, Slurm may have the jobs before an error says so.
        submission.save()
    except (FailedJobError, FailedSubmissionError) as error:
        raise UserError(f"sbatch refused the jobs: {_reason(str(error))}") from None
    except OSError as error:
        cancel([submission.name])
        raise UserError(f"cannot write to {submission.folder}: {error.strerror}") from None
    except UserError:
        cancel([submission.name])
        raise


def minutes_of(time: int | str) -> float:
    """Returns a time limit in minutes, from one of the forms of Slurm.

    Example:
        >>> [minutes_of(text) for text in (90, "90", "2:30", "1:30:00", "1-12", "1-12:30", "1-00:00:30")]
        [90.0, 90.0, 2.5, 90.0, 2160.0, 2190.0, 1440.5]
    """
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", str(time).strip())
    if match is None:
        raise UserError(f"`hydra.launcher.time` must be minutes, HH:MM:SS or D-HH:MM:SS, got {time}")
    days, first, second, third = (int(group or 0) for group in match.groups())
    if match[1] is not None:
        return 1440.0 * days + 60.0 * first + second + third / 60
    if match[4] is not None:
        return 60.0 * first + second + third / 60
    return first + second / 60


def _parameters(name: str, options: SlurmOptions) -> dict[str, Any]:
    """Returns the parameters of submitit."""
    parameters = {
        "job_name": name,
        "partition": options.partition,
        "account": options.account,
        "qos": options.qos,
        "time": options.time,
        "mem": options.memory,
        "cpus_per_task": options.cpus,
        "gpus_per_node": options.gpus,
        "constraint": options.constraint,
        "setup": [*options.setup, *_import_lines()],
        "array_parallelism": options.array_parallelism,
        "stderr_to_stdout": True,
        # One process that starts its own workers needs no job step, which would take a second to start.
        "use_srun": False,
        # Slurm itself then restarts a job after a preemption or the failure of its node.
        "additional_parameters": {"requeue": True, **options.sbatch},
    }
    return {key: value for key, value in parameters.items() if value is not None}


def _import_lines() -> list[str]:
    """Returns the shell line by which a job imports the same brittlestar, if it is a checkout."""
    source = Path(__file__).parents[3]
    if "site-packages" in source.parts:
        return []
    return [f"export PYTHONPATH={shlex.quote(str(source))}${{PYTHONPATH:+:$PYTHONPATH}}"]


def _reason(text: str) -> str:
    lines = re.findall(r"sbatch: (?:error: )?(.+)", text) or text.strip().splitlines()[-1:]
    return "; ".join(line.strip() for line in lines)


def _require(name: str, value: object, holds: bool, bound: str) -> None:
    if not holds:
        raise UserError(f"`hydra.launcher.{name}` must be {bound}, got {value}")
