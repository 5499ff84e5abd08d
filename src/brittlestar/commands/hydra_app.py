"""Runs a Hydra app: `run`, `train` or `harden`."""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from brittlestar.commands.arguments import FLAGS, expand, is_override_or_flag
from brittlestar.commands.terminal import WRONG_USAGE, leave
from brittlestar.errors import UserError, nearest

FULL_ERROR = "HYDRA_FULL_ERROR"
"""Environment variable of Hydra: 1 also prints the traceback of a user's mistake; any other value is as none."""


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


def run_hydra(task: Callable[[Any], Any], config_name: str, schema: type) -> None:
    """Composes `conf/<config_name>.yaml`, typed by `schema`, and runs the task; a user's mistake is a `UserError`."""
    import hydra

    from brittlestar.config import config_folder, register
    from brittlestar.sweeps.hydra_errors import explain

    _check_flags()
    register(schema, config_name)
    errors: list[str] = []
    # Before `_raised_errors` sets it.
    print_traceback = traceback.print_exc if os.environ.get(FULL_ERROR) == "1" else lambda: None

    def guarded(config: Any) -> Any:
        # Hydra would print a traceback for an exception of a job.
        try:
            return task(config)
        except UserError as error:
            print_traceback()
            errors.append(str(error))

    app = hydra.main(version_base="1.3", config_path=str(config_folder()), config_name=config_name)(guarded)
    try:
        with _skip_mode_query(), _raised_errors():
            app()
    except UserError:
        print_traceback()
        raise
    except Exception as error:
        message = explain(error, config_name)
        if message is None:
            raise
        print_traceback()
        raise UserError(message) from None
    if errors:
        raise UserError("\n".join(errors))


def _check_flags() -> None:
    """Reports a flag that Hydra's parser rejects in one line, where Hydra would print its usage."""
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    parser.error = lambda message: leave(f"{message}; see `--hydra-help`", WRONG_USAGE)  # type: ignore[method-assign]
    parser.parse_args()


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
