"""The four steps of a hardening: diagnose, choose the strength, retrain, verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brittlestar.errors import UserError


def harden(config: dict[str, Any], choices: dict[str, Any]) -> Path:
    """Diagnoses, chooses the strength, retrains and verifies; whatever is done already is taken from disk.

    Args:
        config: resolved, as `conf/harden.yaml` explains it.
        choices: the option of every config group.

    Returns:
        The folder with tables, plot, report and `result.json`.
    """
    from brittlestar.results.format import text
    from brittlestar.studies.hardening import choice, retraining
    from brittlestar.studies.hardening.study import AFTER, BEFORE, prepare

    study = prepare(config, choices)
    teacher = retraining.find_teacher(study.config)
    folder, levels, seeds = study.folder, study.levels, study.config["seeds"]
    grid = f"{len(levels)} levels of {study.strength} x {len(seeds)} seeds x {study.config['episodes']} episodes"
    _say(f"1/4 diagnose: {grid}, in {folder}")
    before = study.evaluate(BEFORE, study.config["policy"], study.choices["policy"])
    chosen = choice.written(folder, study.choosing)
    if chosen is None:
        found = choice.means(before, study.measure)
        chosen = choice.given(study.config["train_level"], found, study.measure) or choice.choose(
            found, study.measure, study.config["share"], study.strength
        )
        choice.write(folder, study.choosing, chosen)
    _say(f"2/4 strength: {study.strength} = {text(float(chosen.level))} ({chosen.reason})")
    _say(f"3/4 retrain: {teacher.algo['name']} ({teacher.why})")
    trained = _train(retraining.order(study, teacher, chosen.level))
    _say(f"4/4 verify: {grid}, the same as before")
    study.evaluate(AFTER, retraining.hardened_policy(trained, study.config["checkpoint"]), "sb3")
    from brittlestar.studies.hardening.report import conclude

    print("\n" + conclude(study, chosen, trained, teacher.why))
    return folder


def _train(order: dict[str, Any]) -> Path:
    try:
        from brittlestar.training.train import train
    except ImportError as error:
        raise UserError(f"training needs Stable-Baselines3: {error}") from None
    return train(order)


def _say(line: str) -> None:
    print(line, flush=True)
