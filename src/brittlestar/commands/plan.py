"""Computes how many episodes a success rate needs: `brittlestar plan --rate 0.8 --margin 0.05`."""

from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Prints the number of episodes by formula and exactly, and ways to divide them over seeds."""
    parser = Parser("brittlestar plan", "Computes how many episodes a success rate needs.")
    parser.add_argument("--rate", type=float, required=True, help="success rate that you expect, 0 to 1")
    parser.add_argument("--margin", type=float, required=True, help="half width of the interval, such as 0.05")
    parser.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    options = parser.parse_args()
    from brittlestar.statistics.sample_size import exact_sample_size, sample_size

    try:
        formula = sample_size(options.rate, options.margin, options.level)
        exact = exact_sample_size(options.rate, options.margin, options.level)
    except ValueError as error:
        parser.error(str(error))
    print(f"formula  {formula:>7} episodes  z^2 p (1 - p) / margin^2: normal approximation, low near 0 and 1")
    print(f"exact    {exact:>7} episodes  expected Clopper-Pearson half width is at most {options.margin:g}")
    shares = ", ".join(f"{seeds} x {-(-exact // seeds)}" for seeds in (3, 5, 10))
    print(f"seeds x episodes: {shares}; enough only if seeds do not differ, otherwise add seeds")
