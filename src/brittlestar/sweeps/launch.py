"""A sweep on this machine: takes stored cells from the store and computes the others on joblib workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn, JobStatus

from brittlestar.cells import run as cell
from brittlestar.cells import store as records
from brittlestar.cells.env_choice import ForeignPolicyError, refuse_foreign_policy
from brittlestar.cells.files import make_folder
from brittlestar.cells.job import Job, Outcome, ResolvedJob, resolve
from brittlestar.engine.cores import cores
from brittlestar.errors import UserError, counted
from brittlestar.sweeps.compose import composer_of
from brittlestar.sweeps.model_list import check_file
from brittlestar.sweeps.progress import Progress
from brittlestar.sweeps.workers import OPTIONS, run_on_workers

if TYPE_CHECKING:
    from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher


def launch(launcher: JoblibLauncher, job_overrides: Sequence[Sequence[str]], first: int) -> list[JobReturn]:
    """Runs the cells of a sweep and returns their outcomes, in order."""
    jobs = compose_jobs(launcher, job_overrides, first)
    sweep_folder = Path(str(launcher.config.hydra.sweep.dir))
    make_folder(sweep_folder)
    if first == 0:
        records.forget_cells(sweep_folder)
    outcomes = run_jobs(jobs, dict(launcher.joblib))
    return [JobReturn(_return_value=outcome, status=JobStatus.COMPLETED) for outcome in outcomes]


def compose_jobs(launcher: JoblibLauncher, job_overrides: Sequence[Sequence[str]], first: int = 0) -> list[Job]:
    """Returns the jobs of a sweep; raises a `UserError` if all of them would fail for one reason."""
    composer = composer_of(launcher)
    jobs = [_resolved(composer.job(overrides, first + i)) for i, overrides in enumerate(job_overrides)]
    refuse_foreign_policies(jobs)
    _refuse_common_mistake(jobs)
    return jobs


def _resolved(job: Job) -> Job:
    """Resolves a job once for all steps of a sweep; a job that cannot be resolved fails when it runs."""
    with contextlib.suppress(Exception):
        return resolve(job)
    return job


def refuse_foreign_policies(jobs: Iterable[Job]) -> None:
    """Raises a `UserError` before a sweep starts, if some policy is to run in another environment than its own."""
    jobs, reasons = list(jobs), list[str]()
    for job in jobs:
        try:
            # `check=models` reports a model that fails as a result.
            if job.config.get("check") != "models":
                refuse_foreign_policy(resolve(job).config)
        except ForeignPolicyError as error:
            reasons.append(str(error))
        except Exception:
            # The cell reports any other error, and the others run.
            continue
    if reasons:
        others = f" (and {len(set(reasons)) - 1} more such policies)" if len(set(reasons)) > 1 else ""
        raise UserError(f"{len(reasons)} of {counted(len(jobs), 'cell')} cannot run: {reasons[0]}{others}")


def _refuse_common_mistake(jobs: list[Job]) -> None:
    """Raises a `UserError` before a sweep starts, if all cells would fail for one reason that their configs show."""
    # A study adds cells to a sweep that may be right where its own cells are wrong.
    jobs = [job for job in jobs if job.config["role"] is None]
    reason = _mistake(jobs[0]) if jobs else ""
    if reason and all(_mistake(job) == reason for job in jobs[1:]):
        raise UserError(reason if len(jobs) == 1 else f"all {len(jobs)} cells would fail: {reason}")


def _mistake(job: Job) -> str:
    """Returns the mistake in a job's config that shows before anything is loaded; empty without one."""
    if job.config.get("check") == "models":
        # This check reports a model that fails as a result.
        return ""
    try:
        resolved = resolve(job)
        # Each of these builds parts of the cell.
        _ = resolved.cell, resolved.mitigation, resolved.schedule
        if job.config["episodes"] < 1:
            raise UserError(f"`episodes` must be at least 1, got {job.config['episodes']}")
    except UserError as error:
        return " ".join(str(error).split())
    return ""


def run_jobs(jobs: Sequence[Job], options: dict[str, Any]) -> list[Outcome]:
    """Runs cells, each with a folder of its own, and returns their outcomes, in order; `options` are joblib's."""
    outcomes = {}
    with Progress(len(jobs)) as progress:
        for outcome in _outcomes(jobs, options, progress):
            outcomes[outcome.folder] = outcome
            progress.add(outcome.status, outcome.episodes)
    return [outcomes[job.folder] for job in jobs]


def _outcomes(jobs: Sequence[Job], options: dict[str, Any], progress: Progress) -> Iterator[Outcome]:
    """Yields outcomes as cells end: stored ones, then computed ones, each followed by jobs of the same cell."""
    todo: dict[str, list[ResolvedJob]] = {}
    for job in jobs:
        result = _stored(job)
        if isinstance(result, Outcome):
            yield result
        else:
            todo.setdefault(result.cell, []).append(result)
    if not todo:
        return
    workers, options = _workers(options, len(todo)), {key: options[key] for key in OPTIONS if key in options}
    progress.running = min(workers, len(todo))
    twins = {jobs[0].folder: jobs[1:] for jobs in todo.values()}
    # A long cell at the end would leave the other workers idle.
    longest_first = sorted((jobs[0] for jobs in todo.values()), key=lambda job: -job.config["episodes"])
    for outcome in run_on_workers(_share_cores(longest_first, workers), workers, options):
        yield outcome
        for twin in twins[outcome.folder]:
            yield cell.run(twin)


def _stored(job: Job) -> Outcome | ResolvedJob:
    """Returns the outcome of a job that needs no computing, else the resolved job."""
    name = ""
    try:
        if job.config.get("check") == "models":
            # `env=auto` would look for the environment in the name of a file that does not exist.
            check_file(job.config["policy"].get("path"))
        resolved = resolve(job)
        name = resolved.cell
        return cell.reuse(resolved) or resolved
    except Exception as error:
        return cell.fail(job, name, error)


def _share_cores(jobs: list[ResolvedJob], workers: int) -> list[ResolvedJob]:
    for i, job in enumerate(jobs):
        # The last cells may be fewer than the workers: then they share the cores.
        left = len(jobs) - i // workers * workers
        job.threads = max(1, cores() // min(workers, left))
    return jobs


def _workers(options: dict[str, Any], jobs: int) -> int:
    n_jobs = int(options["n_jobs"])
    return max(1, min(jobs, n_jobs if n_jobs > 0 else cores() + 1 + n_jobs))
