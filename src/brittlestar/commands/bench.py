"""Measures speeds and their ratios on this machine, next to the bars they are held to."""

from brittlestar.commands.terminal import Parser, command, use_one_thread


@command
def main() -> None:
    """Measures and prints; the exit code does not depend on the figures."""
    use_one_thread()
    from brittlestar.studies.speed.sections import SECTIONS, print_speeds

    parser = Parser("brittlestar bench", __doc__)
    parser.add_argument("--only", metavar="NAME", choices=SECTIONS, help=f"one of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="less work and fewer rounds, so rougher figures")
    options = parser.parse_args()
    print_speeds(options.only, options.quick)
