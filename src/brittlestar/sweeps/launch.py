"""A sweep: composes cells, takes stored ones from the store, has an executor compute the others, writes the index."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus

from brittlestar.cells.config_files import unchanging_files
from brittlestar.cells.env_choice import ForeignPolicyError, refuse_foreign_policy
from brittlestar.cells.job import Job, Outcome, ResolvedJob, resolve
from brittlestar.cells.record import Record
from brittlestar.cells.run import fail, reuse, run
from brittlestar.cells.store import cell_file, check_store
from brittlestar.engine.cores import cores
from brittlestar.errors import UserError, counted
from brittlestar.sweeps.backend_notes import print_backends
from brittlestar.sweeps.compose import composer_of
from brittlestar.sweeps.index_writer import IndexWriter
from brittlestar.sweeps.memory import no_garbage_collection
from brittlestar.sweeps.model_list import check_file
from brittlestar.sweeps.progress import LiveLine, Progress
from brittlestar.sweeps.running_curves import RunningCurves
from brittlestar.sweeps.workers import busy_tasks, run_on_workers

Executor = Callable[[Sequence[ResolvedJob], Progress], Iterator[Outcome]]
"""Computes cells and writes them to the store: yields an outcome for each as it ends, in any order."""


def launch(launcher: Any, job_overrides: Sequence[Sequence[str]], first: int, executor: Executor) -> list[JobReturn]:
    """Runs the cells of a sweep and returns their outcomes, in order."""
    with unchanging_files(), no_garbage_collection():
        jobs = compose_jobs(launcher, job_overrides, first)
    print_round(launcher)
    # The jobs live until the sweep ends: the collector need not search them.
    gc.freeze()
    in_rounds = getattr(launcher, "in_rounds", False)
    outcomes = run_jobs(jobs, Path(str(launcher.config.hydra.sweep.dir)), executor, in_rounds)
    return [JobReturn(_return_value=outcome, status=JobStatus.COMPLETED) for outcome in outcomes]


def print_round(launcher: Any) -> None:
    """Prints what the next round of a sweep is about, after the refusals of its cells; nothing without rounds."""
    sys.stderr.write(getattr(launcher, "round_note", ""))
    launcher.round_note = ""


def compose_jobs(launcher: Any, job_overrides: Sequence[Sequence[str]], first: int = 0) -> list[Job]:
    """Returns the jobs of a sweep; raises a `UserError` if all of them would fail for one reason."""
    composer, jobs, line = composer_of(launcher), list[Job](), LiveLine(log_seconds=30.0)
    try:
        for overrides in job_overrides:
            jobs.append(_resolved(composer.job(overrides, first + len(jobs))))
            if line.is_due:
                line.draw(f"composing {len(jobs):,}/{len(job_overrides):,} cells")
    finally:
        line.close(clear=True)
    refuse_foreign_policies(jobs)
    _refuse_common_mistake(jobs)
    return jobs


def _resolved(job: Job) -> Job:
    """Resolves and hashes a job once for all steps of a sweep; one that cannot be resolved fails when it runs."""
    with contextlib.suppress(Exception):
        resolved = job = resolve(job)
        _ = resolved.cell
    return job


def refuse_foreign_policies(jobs: Iterable[Job]) -> None:
    """Raises a `UserError` before a sweep starts, if some policy is to run in another environment than its own."""
    jobs, refusals = list(jobs), dict[str, str]()
    keys = []
    for job in jobs:
        # `check=models` reports a model that fails as a result. Any other error is reported by the cell.
        with contextlib.suppress(Exception):
            if job.config.get("check") != "models":
                config = resolve(job).config
                keys.append(json.dumps([config["policy"], config["env"].get("id")]))
                if keys[-1] not in refusals:
                    refusals[keys[-1]] = _foreign(config)
    reasons = [refusals[key] for key in keys if refusals.get(key)]
    if reasons:
        others = f" (and {len(set(reasons)) - 1} more such policies)" if len(set(reasons)) > 1 else ""
        raise UserError(f"{len(reasons)} of {counted(len(jobs), 'cell')} cannot run: {reasons[0]}{others}")


def _foreign(config: dict[str, Any]) -> str:
    try:
        refuse_foreign_policy(config)
    except ForeignPolicyError as error:
        return str(error)
    except Exception:
        # The cell reports any other error.
        return ""
    return ""


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
        return resolved.idle_schedule
    except UserError as error:
        return " ".join(str(error).split())


def run_jobs(jobs: Sequence[Job], folder: Path, executor: Executor, in_rounds: bool = False) -> list[Outcome]:
    """Runs the cells of a sweep, writes its index to a folder, and returns the outcomes, in order.

    Of a sweep in rounds these are the cells of one round, which prints its own line.
    """
    outcomes: dict[int, Outcome] = {}
    for store in {str(job.config["store"]) for job in jobs}:
        check_store(store)
    first, summary = jobs[0].number if jobs else 0, not in_rounds
    with IndexWriter(folder, len(jobs), first) as index, Progress(len(jobs), summary=summary) as progress:
        progress.curves = RunningCurves(jobs) if progress.is_live else None
        for job, outcome, record in _outcomes(jobs, executor, progress):
            index.add(job, outcome, record)
            outcomes[job.number] = outcome
            progress.add(outcome.status, outcome.episodes, outcome.seconds)
            if progress.curves is not None:
                progress.curves.add(job, record)
                if outcome.status == "failed":
                    progress.show_failure(progress.curves.name_of(job), outcome.error)
    return [outcomes[job.number] for job in jobs]


def _outcomes(
    jobs: Sequence[Job], executor: Executor, progress: Progress
) -> Iterator[tuple[Job, Outcome, Record | None]]:
    """Yields jobs with their outcomes: stored cells, then computed ones, each followed by jobs of the same cell."""
    todo: dict[str, list[ResolvedJob]] = {}
    for job in jobs:
        resolved, outcome, record = _stored(job)
        if outcome is not None:
            yield resolved, outcome, record
        elif isinstance(resolved, ResolvedJob):
            todo.setdefault(resolved.cell, []).append(resolved)
    if not todo:
        return
    # A long cell at the end would leave the other workers idle.
    longest_first = sorted((twins[0] for twins in todo.values()), key=lambda job: -job.config["episodes"])
    if jobs[0].number == 0:
        # Later rounds of a sweep run on the same backends.
        print_backends(longest_first)
    for outcome in executor(longest_first, progress):
        for job in todo[outcome.cell]:
            yield (job, *_finished(job, outcome))
            outcome = dataclasses.replace(outcome, status="failed" if outcome.error else "cached")


def _stored(job: Job) -> tuple[Job, Outcome | None, Record | None]:
    """Returns the resolved job, with an outcome if it needs no computing."""
    cell = ""
    try:
        if job.config.get("check") == "models":
            # `env=auto` would look for the environment in the name of a file that does not exist.
            check_file(job.config["policy"].get("path"))
        resolved = job = resolve(job)
        cell = resolved.cell
        record = reuse(resolved)
        outcome = None if record is None else Outcome("cached", job.number, cell, job.config["episodes"])
        return job, outcome, record
    except Exception as error:
        return job, fail(job, cell, error), None


def _finished(job: ResolvedJob, outcome: Outcome) -> tuple[Outcome, Record | None]:
    """Returns the outcome of a job whose cell was computed, for it or for another job, with the cell."""
    outcome = dataclasses.replace(outcome, number=job.number)
    if outcome.status == "failed":
        return outcome, None
    record = reuse(job)
    if record is None:
        path = cell_file(job.config["store"], job.cell)
        return fail(job, job.cell, UserError(f"the cell was computed, but {path} is missing or damaged")), None
    return outcome, record


def run_into(folder: Path, job: Job, on_episode: Callable[[int], None] = lambda done: None) -> Outcome:
    """Runs one cell, in this process unless it has a timeout, and writes an index of this one cell to a folder."""
    job = _resolved(job)
    if isinstance(job, ResolvedJob):
        # A config with a mistake may have no store.
        check_store(str(job.config["store"]))
    minutes = job.config.get("timeout_minutes")
    # Only another process can be ended in the middle of a cell.
    is_timed = minutes is not None and isinstance(job, ResolvedJob)
    outcome = next(run_on_workers([job], 1, minutes)) if is_timed else run(job, on_episode)
    record = None
    if isinstance(job, ResolvedJob):
        outcome, record = _finished(job, outcome)
    with IndexWriter(folder, 1) as index:
        index.add(job, outcome, record)
    return outcome


def run_locally(n_jobs: int, jobs: Sequence[ResolvedJob], progress: Progress) -> Iterator[Outcome]:
    """Computes cells on worker processes of this machine; an executor, once `n_jobs` is given."""
    count = max(1, min(len(jobs), n_jobs if n_jobs > 0 else cores() + 1 + n_jobs))
    progress.running, progress.tasks = count, busy_tasks
    return run_on_workers(_share_cores(jobs, count), count, jobs[0].config.get("timeout_minutes"))


def _share_cores(jobs: Sequence[ResolvedJob], workers: int) -> Sequence[ResolvedJob]:
    for i, job in enumerate(jobs):
        # The last cells may be fewer than the workers: then they share the cores.
        left = len(jobs) - i // workers * workers
        job.threads = max(1, cores() // min(workers, left))
    return jobs
