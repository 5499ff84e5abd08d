"""The command line: `run.py` and the `brittlestar` command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

from brittlestar.commands.arguments import expanded
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError

INTERRUPTED = 130


@quiet_end
def main() -> None:
    """Evaluates one cell, or a grid with `-m`."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from brittlestar.commands.help import help_text

        print(help_text())
        return
    if "--list" in sys.argv[1:]:
        _list(sys.argv[1:])
        return
    # The collector would search every module again and again while they are imported.
    gc.set_threshold(100_000)
    # Before numpy is imported: each worker keeps to one core, and results never depend on BLAS threads.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # A policy or noise model in the user's own folder can be named by its module.
    sys.path.append(os.getcwd())
    expand_arguments()
    if {"-m", "--multirun"} & set(sys.argv[1:]):
        _prepare_sweep(sys.argv[1:])
    errors: list[str] = []

    def task(config: Any) -> Any:
        # Hydra reports an exception of a job in its own words, so errors are kept and told below.
        try:
            outcome = _evaluate(config)
        except UserError as error:
            errors.append(str(error))
            return None
        if outcome.status == "failed":
            errors.append(outcome.error)
        return outcome

    from brittlestar.config import Config

    run_hydra(task, "config", Config)
    # Python would search all that was ever imported for garbage before it ends.
    gc.freeze()
    if errors:
        _exit(errors[0])


def _list(arguments: list[str]) -> None:
    """Prints the options of a config group."""
    from pathlib import Path

    from brittlestar.commands.help import list_text

    place = arguments.index("--list")
    folders = [Path(b) for a, b in pairwise(arguments) if a in ("--config-dir", "-cd")]
    names = [word for word in arguments[place + 1 :] if not word.startswith("-") and Path(word) not in folders]
    if not names:
        _exit("`--list` needs a group: env, policy, perturbation, mitigation, stress_schedule or experiment")
    try:
        print(list_text(names[0], names[1] if len(names) > 1 else None, folders))
    except UserError as error:
        _exit(str(error))


def expand_arguments() -> None:
    """Writes the command's arguments as Hydra takes them."""
    try:
        sys.argv[1:] = expanded(sys.argv[1:])
    except UserError as error:
        _exit(str(error))


def _prepare_sweep(arguments: list[str]) -> None:
    """Does what saves a sweep time."""
    if not any("hydra/launcher" in word for word in arguments):
        from brittlestar.sweeps import workers

        workers.start(_first_env(arguments))
    from hydra._internal.hydra import Hydra

    # Hydra would compose the whole config once more, only to look whether it asks for a sweep.
    Hydra.get_mode = lambda *_, **__: None  # type: ignore[method-assign]


def _first_env(overrides: list[str]) -> str | None:
    """Guesses which environment a command is about; None where an experiment, a list or a policy chooses."""
    given = [text.removeprefix("env=").partition(",")[0] for text in overrides if text.startswith("env=")]
    if given:
        return given[-1]
    chosen = ("experiment=", "models=", "policy=zoo/")
    return None if any(text.startswith(chosen) for text in overrides) else "fetch_reach"


def run_hydra(task: Callable[[Any], Any], config_name: str, schema: type) -> None:
    """Runs a Hydra app; a user's mistake ends in one line and a non-zero exit code.

    Args:
        task: takes the composed config.
        config_name: of the yaml file in `conf/`.
        schema: the typed top level of that file.
    """
    import hydra

    from brittlestar.config import config_folder, register

    register(schema, config_name)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    app = hydra.main(version_base="1.3", config_path=str(config_folder()), config_name=config_name)(task)
    try:
        app()
    except KeyboardInterrupt:
        _exit("interrupted; finished cells are kept, the same command goes on from there", INTERRUPTED)
    except UserError as error:
        _exit(str(error))
    except Exception as error:
        from brittlestar.sweeps.hydra_errors import explain

        line = explain(error, config_name)
        if line is None:
            raise
        _exit(line)


def _evaluate(config: Any) -> Any:
    """Runs the one cell of a Hydra job."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from brittlestar.cells import run as cell
    from brittlestar.config import plain_config
    from brittlestar.engine.cores import cores
    from brittlestar.reports import single_cell as single

    hydra = HydraConfig.get()
    alone = hydra.mode == RunMode.RUN
    job = cell.Job(
        config=plain_config(config),
        folder=hydra.runtime.output_dir,
        choices={k: v for k, v in hydra.runtime.choices.items() if not k.startswith("hydra/")},
        overrides=list(hydra.overrides.task),
        threads=cores() if alone else 1,
    )
    return single.run(job) if alone else cell.run(job)


def _exit(line: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"brittlestar: {line}\n")
    sys.exit(code)
