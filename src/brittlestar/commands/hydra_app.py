"""Runs a Hydra app: `run`, `train` or `harden`."""

import contextlib
import dataclasses
import functools
import os
import re
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

from brittlestar.commands.arguments import FLAGS, expand, is_override_or_flag
from brittlestar.commands.terminal import CLOSED_PIPE, WRONG_USAGE, leave
from brittlestar.errors import UserError, nearest

FULL_ERROR = "HYDRA_FULL_ERROR"
"""Environment variable of Hydra: 1 also prints the traceback of a user's mistake; any other value is as none."""

_WORKERS, _BATCH = "hydra.launcher.n_jobs", "hydra.sweeper.max_batch_size"


def print_help(name: str) -> None:
    """Prints the help of a command and exits, if its arguments ask for it."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from brittlestar.commands.help import help_text

        print(help_text(name))
        sys.exit()


def read_arguments() -> None:
    """Rewrites the arguments for Hydra, and lets configs name modules of the user's folder."""
    for word in sys.argv[1:]:
        if not is_override_or_flag(word):
            names = [flag for flag in FLAGS if flag.startswith("--")]
            leave(f"there is no flag `{word}`; {nearest(word, names)}", WRONG_USAGE)
    sys.path.append(os.getcwd())
    sys.argv[1:] = expand(sys.argv[1:])


def run_hydra(task: Callable[[Any], Any], config_name: str, schema: type) -> str | None:
    """Composes `conf/<config_name>.yaml`, typed by `schema`, and runs the task; a user's mistake is a `UserError`.

    Returns the value of `--cfg`, which prints the config and does not run the task; None without it.
    """
    import hydra

    from brittlestar.config import config_folder, register

    flags = _read_flags()
    _check_words(schema)
    register(schema, config_name)
    errors: list[str] = []
    line_of = functools.partial(_line_of, config_name, os.environ.get(FULL_ERROR) == "1")

    def guarded(config: Any) -> Any:
        # Hydra would print a traceback for an exception of a job.
        try:
            return task(config)
        except BrokenPipeError:
            sys.exit(CLOSED_PIPE)
        except Exception as error:
            errors.append(line_of(error))
            # For a launcher whose jobs run elsewhere: `errors` is then a copy.
            return UserError(errors[-1])

    app = hydra.main(version_base="1.3", config_path=str(config_folder()), config_name=config_name)(guarded)
    try:
        with _skip_mode_query(), _raised_errors():
            app()
    except Exception as error:
        raise UserError(line_of(error)) from None
    if errors:
        raise UserError("\n".join(errors))
    return flags.cfg


def _line_of(config_name: str, with_traceback: bool, error: Exception) -> str:
    """Returns the line of a user's mistake, and raises any other error."""
    from brittlestar.sweeps.hydra_errors import explain

    message = str(error) if isinstance(error, UserError) else explain(error, config_name)
    if message is None:
        raise error
    if with_traceback:
        traceback.print_exc()
    return message


def _read_flags() -> Namespace:
    """Reports a flag that Hydra's parser rejects in one line, where Hydra would print its usage."""
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    parser.error = lambda message: leave(f"{message}; see `--hydra-help`", WRONG_USAGE)  # type: ignore[method-assign]
    flags = parser.parse_args()
    exclusive = [name for name in ("run", "multirun", "cfg", "info", "shell_completion") if getattr(flags, name)]
    if len(exclusive) > 1:
        names = " and ".join(f"`--{name.replace('_', '-')}`" for name in exclusive)
        leave(f"{names} exclude each other: take one of them", WRONG_USAGE)
    if flags.resolve and not (flags.cfg or flags.help):
        parser.error("`--resolve` needs `--cfg job`")

    return flags


def _check_words(schema: type) -> None:
    """Refuses overrides that Hydra accepts: those that remove what the command needs, and wrong numbers of cells."""
    keys = [field.name for field in dataclasses.fields(schema)]
    for word in sys.argv[1:]:
        key = re.split("[=@]", word.lstrip("+~"))[0]
        if word.startswith("~") and key in keys:
            raise UserError(f"`{word}` would remove `{key}`, which this command needs")
        if key == _WORKERS and not re.search(r"=(-?[1-9]\d*|.*\$\{.*)$", word):
            raise UserError(f"`{word}` must be a whole number other than 0; -1 is one worker per core")
        if key == _BATCH and not re.search(r"=(null|[1-9]\d*|.*\$\{.*)$", word):
            raise UserError(f"`{word}` must be null or a whole number of at least 1: the cells that start together")
        if key in ("hydra.launcher", "hydra.sweeper"):
            raise UserError(f"`{word}`: choose an option by `{key.replace('.', '/')}=NAME`")


@contextlib.contextmanager
def _raised_errors() -> Iterator[None]:
    """Makes Hydra raise its errors, which it would print in its own words."""
    before = os.environ.get(FULL_ERROR)
    os.environ[FULL_ERROR] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(FULL_ERROR, None)
        else:
            os.environ[FULL_ERROR] = before


@contextlib.contextmanager
def _skip_mode_query() -> Iterator[None]:
    """Saves Hydra a composition of the whole config, which only looks up `hydra.mode`, where `-m` states the mode."""
    from hydra import __version__
    from hydra._internal.hydra import Hydra

    if not ({"-m", "--multirun"} & set(sys.argv[1:]) and __version__.startswith("1.3.")):
        yield
        return
    get_mode = Hydra.get_mode
    Hydra.get_mode = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hydra.get_mode = get_mode  # type: ignore[method-assign]
