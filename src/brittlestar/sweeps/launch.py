"""A sweep on this machine: reuse the stored cells, compute the others on joblib workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn, JobStatus

from brittlestar.cells import run as cell
from brittlestar.cells import store as records
from brittlestar.cells.files import make_folder
from brittlestar.config.build import build
from brittlestar.engine.cores import cores
from brittlestar.errors import UserError
from brittlestar.sweeps.compose import composer_of
from brittlestar.sweeps.model_list import check_file
from brittlestar.sweeps.progress import Progress
from brittlestar.sweeps.workers import OPTIONS, compute

if TYPE_CHECKING:
    from hydra_plugins.brittlestar_plugins.cells import CellLauncher


def launch(launcher: CellLauncher, job_overrides: Sequence[Sequence[str]], first: int) -> list[JobReturn]:
    """Runs the cells of a sweep and returns how each ended, in order."""
    composer = composer_of(launcher)
    jobs = [composer.job(overrides, first + i) for i, overrides in enumerate(job_overrides)]
    _refuse_common_mistake(jobs)
    sweep_folder = Path(str(launcher.config.hydra.sweep.dir))
    make_folder(sweep_folder)
    if first == 0:
        records.forget_cells(sweep_folder)
    outcomes = run_jobs(jobs, dict(launcher.joblib))
    return [JobReturn(_return_value=outcome, status=JobStatus.COMPLETED) for outcome in outcomes]


def _refuse_common_mistake(jobs: list[cell.Job]) -> None:
    """Refuses a sweep before it starts, if all of its cells would fail for one reason that their configs tell."""
    reason = ""
    # A study adds cells to a sweep that may be right where its own cells are wrong.
    jobs = [job for job in jobs if job.config["role"] is None]
    for job in jobs:
        found = _mistake(job)
        if not found or (reason and found != reason):
            return
        reason = found
    if jobs:
        raise UserError(reason if len(jobs) == 1 else f"all {len(jobs)} cells would fail: {reason}")


def _mistake(job: cell.Job) -> str:
    """Says what is wrong with the config of a job, as far as it shows before anything is loaded."""
    if job.config.get("check") == "models":
        # There, a model that fails is a result.
        return ""
    try:
        cell.identify(job)
        for group in ("mitigation", "stress_schedule"):
            build(job.config[group], group)
        if job.config["episodes"] < 1:
            raise UserError(f"`episodes` must be at least 1, got {job.config['episodes']}")
    except UserError as error:
        return " ".join(str(error).split())
    return ""


def run_jobs(jobs: list[cell.Job], options: dict[str, Any]) -> list[cell.Outcome]:
    """Runs cells on workers, with a live line, and returns how each ended, in order.

    Args:
        jobs: each with a folder of its own.
        options: `n_jobs` and settings of joblib.
    """
    outcomes = {}
    with Progress(len(jobs)) as progress:
        for outcome in _outcomes(jobs, options, progress):
            outcomes[outcome.folder] = outcome
            progress.add(outcome.status, outcome.episodes)
    return [outcomes[job.folder] for job in jobs]


def _outcomes(jobs: list[cell.Job], options: dict[str, Any], progress: Progress) -> Iterator[cell.Outcome]:
    """Yields outcomes as they come: stored cells at once, then computed ones, then their twins."""
    todo: dict[str, list[cell.Job]] = {}
    for job in jobs:
        known = _known(job)
        if isinstance(known, cell.Outcome):
            yield known
        else:
            todo.setdefault(known, []).append(job)
    if not todo:
        return
    workers, options = _workers(options, len(todo)), {key: options[key] for key in OPTIONS if key in options}
    progress.running = min(workers, len(todo))
    twins = {jobs[0].folder: jobs[1:] for jobs in todo.values()}
    # A long cell at the end would leave the other workers idle.
    longest_first = sorted((jobs[0] for jobs in todo.values()), key=lambda job: -job.config["episodes"])
    for outcome in compute(_share_cores(longest_first, workers), workers, options):
        yield outcome
        for twin in twins[outcome.folder]:
            yield cell.run(twin)


def _known(job: cell.Job) -> cell.Outcome | str:
    """Returns the outcome of a job that needs no computing, else its hash."""
    cell_hash = ""
    try:
        if job.config.get("check") == "models":
            # Before the name of a file that is not there is searched for its environment.
            check_file(job.config["policy"].get("path"))
        cell_hash = cell.identify(job)
        return cell.reuse(job, cell_hash) or cell_hash
    except Exception as error:
        return cell.fail(job, cell_hash, error)


def _share_cores(jobs: list[cell.Job], workers: int) -> list[cell.Job]:
    for i, job in enumerate(jobs):
        # The last cells may be fewer than the workers: then they share the cores.
        left = len(jobs) - i // workers * workers
        job.threads = max(1, cores() // min(workers, left))
    return jobs


def _workers(options: dict[str, Any], jobs: int) -> int:
    asked = int(options["n_jobs"])
    return max(1, min(jobs, asked if asked > 0 else cores() + 1 + asked))
