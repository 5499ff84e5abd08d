"""Evaluates a policy: one cell, or a sweep with `-m`."""

import contextlib
import gc
import sys
from pathlib import Path
from typing import Any

from brittlestar.commands.hydra_app import print_help, read_arguments, run_hydra
from brittlestar.commands.terminal import command, use_one_thread
from brittlestar.config import SWEEP_GROUPS
from brittlestar.errors import UserError
from brittlestar.reports.gate_names import has_gate


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
        from brittlestar.sweeps.fork_server import start_fork_server

        start_fork_server(_first_env(sys.argv[1:]))
    from brittlestar.config import Config

    if run_hydra(_evaluate, "config", Config):
        for note in _notes_on_env([word for word in sys.argv[1:] if "=" in word and not word.startswith("-")]):
            print(f"note: {note}", file=sys.stderr)
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


def _notes_on_env(overrides: list[str]) -> list[str]:
    """Returns how the environment of a cell differs from that of its composed config, which `--cfg` prints."""
    from hydra import compose, initialize_config_dir

    from brittlestar.cells.env_choice import choose_env
    from brittlestar.config import config_folder, plain_config

    # A sweep, or a config of another folder, cannot be composed here.
    with contextlib.suppress(Exception), initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose("config", overrides, return_hydra_config=True)
        choices = plain_config(config.hydra.runtime.choices)
        return choose_env({name: plain_config(config[name]) for name in ("env", "policy")}, choices, overrides).notes
    return []


def _refuse_sweep_groups(config: Any, choices: Any) -> None:
    """Refuses a study, a gate or a tracker of a single cell."""
    for group in SWEEP_GROUPS:
        if choices.get(group) not in (None, "none"):
            raise UserError(f"`{group}={choices[group]}`: a {group} needs a sweep: add `-m`")
    if has_gate(config.gate):
        raise UserError("`gate`: a gate needs a sweep: add `-m`")


def _evaluate(config: Any) -> Any:
    """Runs the one cell of a Hydra job."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from brittlestar.cells.job import Job
    from brittlestar.config import plain_config
    from brittlestar.engine.cores import cores
    from brittlestar.reports.single_cell import run_and_print
    from brittlestar.sweeps.folder import claim_folder
    from brittlestar.sweeps.launch import run_into

    hydra = HydraConfig.get()
    alone = hydra.mode == RunMode.RUN
    if alone:
        _refuse_sweep_groups(config, hydra.runtime.choices)
    job = Job(
        config=plain_config(config),
        choices={k: v for k, v in hydra.runtime.choices.items() if not k.startswith("hydra/")},
        overrides=list(hydra.overrides.task),
        number=0 if alone else int(hydra.job.num),
        threads=cores() if alone else 1,
    )
    if alone:
        folder, claim = claim_folder(hydra.runtime.output_dir, "hydra.run.dir", hydra.overrides.hydra)
        outcome = run_and_print(job, folder)
        claim.release()
    else:
        outcome = run_into(Path(hydra.runtime.output_dir), job)
    if outcome.status == "failed":
        raise UserError(outcome.error)
    return outcome
