"""Computes how many episodes a success rate needs, or prints the evaluation protocol of a sweep before it runs."""

import re
import sys
from pathlib import Path

from brittlestar.commands.terminal import Parser, command

_USAGE = (
    "Computes how many episodes a success rate needs: `brittlestar plan --rate 0.8 --margin 0.05`. Or prints the "
    "evaluation protocol of a sweep that is not run: `brittlestar plan experiment=smoke episodes=50`."
)


@command
def main() -> None:
    """Prints the number of episodes by formula and exactly, and draws widths; with overrides, prints a protocol."""
    if any(re.match(r"[+~]*\w[^ =]*=", word) for word in sys.argv[1:]):
        return _print_protocol()
    parser = Parser("brittlestar plan", _USAGE)
    parser.add_argument("--rate", type=float, nargs="+", required=True, metavar="RATE",
                        help="success rate that you expect, 0 to 1; several are possible")  # fmt: skip
    parser.add_argument("--margin", type=float, help="half width of the interval, such as 0.05")
    parser.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    parser.add_argument("--plot", type=Path, metavar="FILE",
                        help="draw interval width against episodes into a .png, .pdf or .svg file")  # fmt: skip
    options = parser.parse_args()
    if options.margin is None and options.plot is None:
        parser.error("the following arguments are required: --margin")
    try:
        if options.margin is not None:
            for rate in options.rate:
                print(_answer(rate, options.margin, options.level, len(options.rate) > 1))
        if options.plot is not None:
            from brittlestar.reports.interval_width import plot_widths

            print(f"plot     {plot_widths(options.rate, options.plot, options.margin, options.level)}")
    except ValueError as error:
        parser.error(str(error))


def _print_protocol() -> None:
    import tempfile

    from brittlestar.commands import run

    words = [word for word in sys.argv[1:] if word not in ("-m", "--multirun")]
    # Hydra makes a folder for every sweep.
    with tempfile.TemporaryDirectory() as folder:
        sys.argv[1:] = ["-m", *words, "hydra/launcher=protocol", f"hydra.sweep.dir={folder}"]
        run.main()


def _answer(rate: float, margin: float, level: float, several: bool) -> str:
    from brittlestar.statistics.sample_size import exact_sample_size, sample_size

    formula, exact = sample_size(rate, margin, level), exact_sample_size(rate, margin, level)
    shares = ", ".join(f"{seeds} x {-(-exact // seeds)}" for seeds in (3, 5, 10))
    lines = [
        f"formula  {formula:>7} episodes  z^2 p (1 - p) / margin^2: normal approximation, low near 0 and 1",
        f"exact    {exact:>7} episodes  expected Clopper-Pearson half width is at most {margin:g}",
        f"seeds x episodes: {shares}; enough only if seeds do not differ, otherwise add seeds",
    ]
    return "\n".join([f"rate {rate:g}", *lines, ""] if several else lines)
