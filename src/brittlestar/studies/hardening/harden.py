"""The four steps of a hardening: diagnose, choose the strength, retrain, verify."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Job
from brittlestar.errors import UserError, counted
from brittlestar.results.format import text
from brittlestar.results.load import Cell, load_cells
from brittlestar.studies.hardening.choice import Choice, choose_level, level_means, read_choice, write_choice
from brittlestar.studies.hardening.retraining import find_teacher, training_config
from brittlestar.studies.hardening.setup import AFTER, BEFORE, Setup, prepare


def harden(config: dict[str, Any], choices: dict[str, Any], overrides: Sequence[str] = ()) -> Path:
    """Diagnoses, chooses the strength, retrains and verifies; finished work is read from disk. See `prepare`.

    Returns:
        The folder with tables, plot, report and `result.json`.
    """
    setup = prepare(config, choices, overrides)
    teacher = find_teacher(setup.config)
    folder, seeds, cells = setup.folder, setup.config["seeds"], setup.cells()
    sizes = counted(len(seeds), "seed"), counted(setup.config["episodes"], "episode")
    grid = " x ".join([f"{counted(len(setup.levels), 'level')} of {setup.strength}", *sizes])
    print(f"1/4 diagnose: {grid}, in {folder}", flush=True)
    choice = _choose(setup, _run(cells, folder / BEFORE, setup.config["n_jobs"]))
    print(f"2/4 strength: {setup.strength} = {text(float(choice.level))} ({choice.reason})", flush=True)
    print(f"3/4 retrain: {teacher.algo['name']} ({teacher.why})", flush=True)
    trained = _train(training_config(setup, teacher, choice.level))
    print(f"4/4 verify: {grid}, the same as before", flush=True)
    from brittlestar.reports.summary import summarise
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.studies.hardening.study import RESULT, Hardening

    study = Hardening(setup, choice, trained, teacher.why)
    _run(study.extra_cells(cells), folder / AFTER, setup.config["n_jobs"])
    summary = summarise([str(folder / BEFORE), str(folder / AFTER)], folder, study=study)
    if summary.study_errors:
        raise UserError("\n".join(summary.study_errors))
    print_text(f"\n{summary.text}\nresult  {folder}/{RESULT}", folder)
    return folder


def _run(cells: list[Job], folder: Path, n_jobs: int) -> list[Cell]:
    """Runs cells, or reads them from the store; one that fails ends the hardening."""
    from brittlestar.sweeps import workers
    from brittlestar.sweeps.deferred import executor_or
    from brittlestar.sweeps.launch import run_jobs, run_locally

    outcomes = run_jobs(cells, folder, executor_or(functools.partial(run_locally, n_jobs)))
    # The training needs their cores.
    workers.stop()
    failed = [outcome.error for outcome in outcomes if outcome.status == "failed"]
    if failed:
        raise UserError(failed[0] + (f" ({len(failed)} of {len(cells)} cells failed)" if len(failed) > 1 else ""))
    return load_cells([folder])


def _choose(setup: Setup, cells: list[Cell]) -> Choice:
    """Returns the training strength; the one that an earlier run wrote holds."""
    choice = read_choice(setup.folder, setup.choosing)
    if choice is None:
        means = level_means(cells, setup.measure)
        if setup.config["train_level"] is None:
            choice = choose_level(means, setup.measure, setup.config["share"], setup.strength)
        else:
            choice = Choice(setup.config["train_level"], "as asked for", setup.measure, means)
        write_choice(setup.folder, setup.choosing, choice)
    return choice


def _train(config: dict[str, Any]) -> Path:
    try:
        from brittlestar.training.train import train
    except ImportError as error:
        raise UserError(f"training needs Stable-Baselines3: {error}") from None
    return train(config)
