"""Evaluates a policy: one cell, or a sweep with `-m`."""

import gc
import sys
from typing import Any

from brittlestar.commands.hydra_app import print_help, read_arguments, run_hydra
from brittlestar.commands.terminal import command, use_one_thread
from brittlestar.errors import UserError


@command
def main() -> None:
    """Evaluates one cell, or a sweep with `-m`."""
    print_help("run")
    if "--list" in sys.argv[1:]:
        from brittlestar.commands import list as list_command

        del sys.argv[1 : sys.argv.index("--list") + 1]
        return list_command.main()
    # The collector would search all imported modules again and again while they are imported.
    gc.set_threshold(100_000)
    use_one_thread()
    read_arguments()
    if {"-m", "--multirun"} & set(sys.argv[1:]) and not any("hydra/launcher" in word for word in sys.argv[1:]):
        from brittlestar.sweeps import workers

        workers.start(_first_env(sys.argv[1:]))
    from brittlestar.config import Config

    run_hydra(_evaluate, "config", Config)
    if "ale_py" not in sys.modules:
        # Python would search all imported modules for garbage before it ends. ale-py prints what is not freed then.
        gc.freeze()


def _first_env(overrides: list[str]) -> str | None:
    """Guesses the environment of the first cells; None where an experiment, a list or a policy chooses it."""
    names = [text.removeprefix("env=").partition(",")[0] for text in overrides if text.startswith("env=")]
    if names:
        return names[-1]
    choosers = ("experiment=", "models=", "policy=zoo/")
    return None if any(text.startswith(choosers) for text in overrides) else "fetch_reach"


def _evaluate(config: Any) -> Any:
    """Runs the one cell of a Hydra job."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from brittlestar.cells import run as cell
    from brittlestar.cells.job import Job
    from brittlestar.config import plain_config
    from brittlestar.engine.cores import cores
    from brittlestar.reports.single_cell import run_and_print

    hydra = HydraConfig.get()
    alone = hydra.mode == RunMode.RUN
    if alone and hydra.runtime.choices.get("study") not in (None, "none"):
        raise UserError(f"`study={hydra.runtime.choices['study']}`: a study needs a sweep: add `-m`")
    job = Job(
        config=plain_config(config),
        folder=hydra.runtime.output_dir,
        choices={k: v for k, v in hydra.runtime.choices.items() if not k.startswith("hydra/")},
        overrides=list(hydra.overrides.task),
        threads=cores() if alone else 1,
    )
    outcome = run_and_print(job) if alone else cell.run(job)
    if outcome.status == "failed":
        raise UserError(outcome.error)
    return outcome
