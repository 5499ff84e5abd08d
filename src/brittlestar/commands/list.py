"""Prints the options of a config group and their parameters."""

from pathlib import Path

from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Prints all options of a group, or one of them with what its parameters mean."""
    parser = Parser("brittlestar list", __doc__)
    parser.add_argument("group", metavar="GROUP", help="env, policy, perturbation, mitigation, stress_schedule, ...")
    parser.add_argument("option", metavar="OPTION", nargs="?", help="only this option, with its parameters explained")
    parser.add_argument("--config-dir", "-cd", type=Path, action="append", default=[], metavar="DIR",
                        help="also list the yaml files of this folder")  # fmt: skip
    options = parser.parse_args()
    from brittlestar.commands.help import options_text

    print(options_text(options.group, options.option, options.config_dir))
