"""Puts the policies of the zoo under stress, ranks them, draws the figures, and writes docs/stress_benchmark.md."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.studies.stress.page.study import Plan


@quiet_end
def main() -> None:
    """Runs what is not in the store yet, then ranks, draws and writes."""
    # Before numpy is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    from brittlestar.studies.stress.page.page import write_page

    options = make_parser().parse_args()
    try:
        failed = write_page(make_plan(options))
    except UserError as error:
        sys.exit(f"stress_benchmark.py: {error}")
    except KeyboardInterrupt:
        sys.exit("stress_benchmark.py: interrupted; finished cells are kept, the same command goes on from there")
    if failed:
        sys.exit(f"stress_benchmark.py: {failed} cells failed and are not on the page, see failures.csv")


def make_plan(options: argparse.Namespace) -> Plan:
    """Returns what the options ask for."""
    from brittlestar.studies.results_page.commands import read_seeds
    from brittlestar.studies.stress.page.study import Plan

    chosen = tuple(name.strip().removeprefix("zoo/") for name in options.policies.split(",") if name.strip())
    seeds = tuple(read_seeds(options.seeds))
    return Plan(chosen, options.episodes, options.reference, seeds, options.page, options.folder, options.store)


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    from brittlestar.studies.stress.page.study import EPISODES, PAGE, REFERENCE, Plan

    parser = argparse.ArgumentParser(
        description="Stress phases of all policies of the zoo: sweep, leaderboard, figures, page. "
        "An hour and more on 2 cores; stopped, the same command goes on; a second run computes nothing."
    )
    parser.add_argument("--episodes", type=int, default=EPISODES, help=f"per cell, in thirds (default {EPISODES})")
    parser.add_argument("--reference", type=int, default=REFERENCE, help=f"per reference pass (default {REFERENCE})")
    parser.add_argument("--seeds", default="0,1,2", help="(default 0,1,2)")
    parser.add_argument("--policies", default="", metavar="NAME,...", help="(default: all of the zoo that are trained)")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help=f"(default {PAGE})")
    parser.add_argument(
        "--folder", type=Path, default=Plan.folder, help=f"sweep, tables, all figures (default {Plan.folder})"
    )
    parser.add_argument("--store", type=Path, default=Plan.store, help=f"cells (default {Plan.store})")
    return parser
