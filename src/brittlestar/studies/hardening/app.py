"""The command line of hardening: `scripts/harden.py`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from brittlestar.commands.run import expand_arguments, run_hydra
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError


@quiet_end
def main() -> None:
    """Hardens one policy, or a grid with `-m`."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from brittlestar.commands.help import harden_help

        print(harden_help())
        return
    # As in run.py: cells keep to one core each, and never depend on BLAS threads.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sys.path.append(os.getcwd())
    expand_arguments()
    errors: list[str] = []

    def task(config: Any) -> None:
        from hydra.core.hydra_config import HydraConfig

        from brittlestar.config import plain

        choices = {k: v for k, v in HydraConfig.get().runtime.choices.items() if not k.startswith("hydra/")}
        try:
            harden(plain(config), choices)
        except UserError as error:
            errors.append(str(error))

    run_hydra(task, "harden")
    if errors:
        sys.stderr.write("".join(f"brittlestar: {error}\n" for error in errors))
        sys.exit(1)


def harden(config: dict[str, Any], choices: dict[str, Any]) -> Path:
    """Diagnoses, chooses the strength, retrains and verifies; whatever is done already is taken from disk.

    Args:
        config: resolved, as `conf/harden.yaml` explains it.
        choices: the option of every config group.

    Returns:
        The folder with tables, plot, report and `result.json`.
    """
    from brittlestar.results.write import text
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
        from brittlestar.training.app import train
    except ImportError as error:
        raise UserError(f"training needs Stable-Baselines3: {error}") from None
    return train(order)


def _say(line: str) -> None:
    print(line, flush=True)
