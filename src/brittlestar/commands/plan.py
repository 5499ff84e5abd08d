"""Says how many episodes a success rate needs: `python scripts/plan.py --rate 0.8 --margin 0.05`."""

from __future__ import annotations

import argparse
from typing import NoReturn

from brittlestar.commands.terminal import quiet_end
from brittlestar.statistics.stats import exact_sample_size, sample_size


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


@quiet_end
def main() -> None:
    """Prints the episodes by formula and exactly, and ways to share them over seeds."""
    parser = _Parser(description="How many episodes a success rate needs.")
    parser.add_argument("--rate", type=float, required=True, help="success rate you expect, 0 to 1")
    parser.add_argument("--margin", type=float, required=True, help="half width you can live with, e.g. 0.05")
    parser.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")
    args = parser.parse_args()
    try:
        formula = sample_size(args.rate, args.margin, args.level)
        exact = exact_sample_size(args.rate, args.margin, args.level)
    except ValueError as mistake:
        parser.error(str(mistake))
    print(f"formula  {formula:>7} episodes  z^2 p (1 - p) / margin^2: normal approximation, low near 0 and 1")
    print(f"exact    {exact:>7} episodes  expected Clopper-Pearson half width is at most {args.margin:g}")
    shares = ", ".join(f"{seeds} x {-(-exact // seeds)}" for seeds in (3, 5, 10))
    print(f"seeds x episodes: {shares}; enough only if seeds do not differ, otherwise add seeds")
