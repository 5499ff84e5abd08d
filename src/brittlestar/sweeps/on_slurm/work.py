"""The kinds of jobs that a cluster runs: cells, and whole calls of a command such as trainings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn, JobStatus, run_job

from brittlestar.cells.job import Outcome
from brittlestar.cells.run import reuse
from brittlestar.config import plain_config
from brittlestar.sweeps.compose import compose_call
from brittlestar.sweeps.progress import Progress
from brittlestar.sweeps.workers import Death, pool, run_on_workers

if TYPE_CHECKING:
    from brittlestar.cells.job import ResolvedJob


@dataclass(frozen=True)
class Work:
    """A kind of jobs: how a node runs them on its cores, and whether one of them has its result already."""

    run: Callable[[Sequence[Any], int], Iterator[Outcome]]
    is_stored: Callable[[Any], bool]
    is_packed: bool
    """Whether several jobs form a task, by their measured durations."""


@dataclass
class CommandCall:
    """One call of a command that is no cell: a training or a hardening."""

    number: int
    overrides: list[str]
    config: dict[str, Any]
    work: bytes
    """What a process needs to run it, see `_run_here`."""

    @property
    def cell(self) -> str:
        """The hash of its config, by which a later driver recognises it."""
        text = json.dumps(self.config, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def launch_calls(
    launcher: Any, job_overrides: Sequence[Sequence[str]], first: int, executor: Callable[..., Iterator[Outcome]]
) -> tuple[list[JobReturn], list[tuple[CommandCall, str]]]:
    """Has an executor run calls; returns the results of finished ones, and the failed ones with their errors."""
    calls = {}
    for number, overrides in enumerate(job_overrides, first):
        call = _call(launcher, overrides, number)
        calls[call.cell] = call
    failures = []
    with Progress(len(calls), noun="jobs") as progress:
        for outcome in executor(list(calls.values()), progress):
            progress.add(outcome.status, 0)
            if outcome.status == "failed":
                failures.append((calls.pop(outcome.cell), outcome.error))
                progress.show_failure(" ".join(failures[-1][0].overrides), outcome.error)
    # Their work is on disk: a second call reads it, prints the result, and writes to the folder of this sweep.
    return [_run_here(call.work) for call in calls.values()], failures


def _call(launcher: Any, overrides: Sequence[str], number: int) -> CommandCall:
    import cloudpickle
    from hydra.core.singleton import Singleton
    from omegaconf import OmegaConf

    config = compose_call(launcher, overrides, number)
    settings = plain_config(OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"]))
    work = launcher.hydra_context, config, launcher.task_function, Singleton.get_state()
    return CommandCall(number, list(overrides), settings, cloudpickle.dumps(work))


def _run_here(work: bytes) -> JobReturn:
    import cloudpickle
    from hydra.core.singleton import Singleton
    from hydra.core.utils import setup_globals

    context, config, function, state = cloudpickle.loads(work)
    setup_globals()
    Singleton.set_state(state)
    Path(str(config.hydra.sweep.dir)).mkdir(parents=True, exist_ok=True)
    return run_job(function, config, "hydra.sweep.dir", "hydra.sweep.subdir", context)


def _run_cells(jobs: Sequence[ResolvedJob], cores: int) -> Iterator[Outcome]:
    return run_on_workers(jobs, min(cores, len(jobs)), jobs[0].config.get("timeout_minutes"))


def _run_calls(calls: Sequence[CommandCall], cores: int) -> Iterator[Outcome]:
    for call, result in pool(1).run(_run_call, calls):
        is_dead = isinstance(result, Death)
        yield Outcome("failed", call.number, call.cell, error=result.reason) if is_dead else result


def _run_call(call: CommandCall) -> Outcome:
    result = _run_here(call.work)
    # A task returns the mistake of a user, which Hydra would report with a traceback.
    error = result._return_value
    if result.status == JobStatus.COMPLETED and not isinstance(error, Exception):
        return Outcome("done", call.number, call.cell)
    return Outcome("failed", call.number, call.cell, error=" ".join(str(error).split()) or type(error).__name__)


CELLS = Work(_run_cells, lambda job: reuse(job) is not None, is_packed=True)
CALLS = Work(_run_calls, lambda call: False, is_packed=False)
