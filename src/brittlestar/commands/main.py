"""The `brittlestar` executable: the first word names a command, `run` without one."""

import importlib
import os
import re
import sys

from brittlestar import __version__
from brittlestar.commands.help import COMMANDS
from brittlestar.commands.terminal import WRONG_USAGE, command, leave
from brittlestar.errors import nearest

_HYDRA_APPS = ("run", "train", "harden", "serve")


@command
def main() -> None:
    """Runs the command that the first word names."""
    if {"-sc", "--shell-completion"} & set(sys.argv) and "COMP_LINE" in os.environ:
        _complete_command()
    if sys.argv[1:2] == ["help"]:
        sys.argv[1:] = [*sys.argv[2:3], "--help"]
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name == "--version":
        print(f"brittlestar {__version__}")
        return
    if name in COMMANDS:
        del sys.argv[1]
    elif re.fullmatch(r"\w[\w-]*", name):
        leave(f"there is no command `{name}`; {nearest(name, COMMANDS)}", WRONG_USAGE)
    else:
        name = "run"
    importlib.import_module(f"brittlestar.commands.{name.replace('-', '_')}").main()


def _complete_command() -> None:
    """Completes the name of a command; Hydra completes what comes after it."""
    line = re.fullmatch(r"\s*(\S+\s+)([\w-]*)(.*)", os.environ["COMP_LINE"], re.DOTALL)
    if line is None:
        return
    program, name, arguments = line.groups()
    if not arguments:
        print(*COMMANDS)
    elif name in COMMANDS:
        if name not in _HYDRA_APPS:
            # Without an answer, the shell completes the names of files.
            sys.exit()
        os.environ["COMP_LINE"] = program + arguments.lstrip()
        sys.argv.insert(1, name)


if __name__ == "__main__":
    main()
