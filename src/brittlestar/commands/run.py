"""The command line: `run.py` and the `brittlestar` command."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn, cast

from brittlestar.commands.arguments import expanded
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError, nearest

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
    from brittlestar.reports import single_cell as single

    hydra = HydraConfig.get()
    alone = hydra.mode == RunMode.RUN
    job = cell.Job(
        config=plain_config(config),
        folder=hydra.runtime.output_dir,
        choices={k: v for k, v in hydra.runtime.choices.items() if not k.startswith("hydra/")},
        overrides=list(hydra.overrides.task),
        threads=cell.cores() if alone else 1,
    )
    return single.run(job) if alone else cell.run(job)


def explain(error: BaseException, config_name: str = "config") -> str | None:
    """Turns an error of Hydra or of the file system into one line; None for anything else."""
    from hydra.errors import HydraException, MissingConfigException
    from omegaconf.errors import OmegaConfBaseException

    from brittlestar.config import options

    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write to {error.filename}: {error.strerror}"
    chain = [error, error.__cause__, error.__context__]
    if not any(isinstance(e, HydraException | OmegaConfBaseException) for e in chain):
        return None
    text = " ".join(str(e) for e in (error, error.__cause__) if e)
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, name = str(error.missing_cfg_file).partition("/")
        if group == "hydra":
            group, _, name = str(error.missing_cfg_file).rpartition("/")
        return f"`{group}={name}` does not exist; {nearest(name, [*error.options, *options(group)])}"
    unknown = re.search(r"Could not (?:override|append|delete) '([^']+)'|Key '([^']+)' is not in struct", text)
    if unknown:
        key = (unknown[1] or unknown[2]).partition("@")[0]
        keys = _keys(config_name)
        if key in keys:
            return f"`{key}` takes new keys one by one: `+{key}.NAME=VALUE`"
        if key.rpartition(".")[0] in ("algo.options", "env.kwargs"):
            return f"`{key}` is not in the config yet: add it by `+{key}=VALUE`"
        group = key.partition(".")[0]
        if f"{group}._target_" in keys and not any(k.startswith(f"{group}.") and k[-8:] != "_target_" for k in keys):
            return f"`{key}` does not exist: the chosen `{group}` has no settings; choose another by `{group}=NAME`"
        return f"`{key}` does not exist; {nearest(key, keys)}"
    wrong = re.search(r"Error merging override (\S+)\s+(.*?)\s+full_key", text, re.DOTALL)
    if wrong and wrong[1].startswith("models="):
        return f"`{wrong[1]}`: `models` takes one file, a yaml list of policies: `models=my_models.yaml`"
    return f"`{wrong[1]}`: {wrong[2]}" if wrong else " ".join(text.split())


def _keys(config_name: str) -> list[str]:
    """Returns every key and group that can be overridden."""
    import contextlib

    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    from brittlestar.config import GROUPS

    keys = [*GROUPS, "algo" if config_name in ("train", "harden") else "experiment"]
    with contextlib.suppress(Exception):
        from hydra import compose, initialize_config_dir

        from brittlestar.config import config_folder

        GlobalHydra.instance().clear()
        chosen = rf"\+?({'|'.join(keys)})(@[\w.]+)?=[\w/]+|~[\w.]+"
        overrides = [text for text in sys.argv[1:] if re.fullmatch(chosen, text)]
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            keys += _flat(cast("dict[str, Any]", OmegaConf.to_container(compose(config_name, overrides))))
    return keys


def _flat(node: dict[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key, value in node.items():
        found.append(prefix + key)
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{key}.")
    return found


def _exit(line: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"brittlestar: {line}\n")
    sys.exit(code)
