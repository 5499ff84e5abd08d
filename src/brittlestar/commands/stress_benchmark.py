"""Measures all policies of the zoo under stress, ranks them, and writes docs/stress_benchmark.md."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.commands.terminal import Parser, command, use_one_thread
from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.studies.stress.page.study import Plan


@command
def main() -> None:
    """Runs the cells that are not in the store yet, then ranks, draws and writes."""
    use_one_thread()
    from brittlestar.studies.stress.page.page import write_stress_page

    failed = write_stress_page(make_plan(make_parser().parse_args()))
    if failed:
        raise UserError(f"{failed} cells failed and are not on the page, see failures.csv")


def make_plan(options: Namespace) -> Plan:
    """Returns what the options ask for."""
    from brittlestar.studies.results_page.commands import read_seeds
    from brittlestar.studies.stress.page.study import Plan

    chosen = tuple(name.strip().removeprefix("zoo/") for name in options.policies.split(",") if name.strip())
    seeds = tuple(read_seeds(options.seeds))
    return Plan(chosen, options.episodes, options.reference, seeds, options.page, options.folder, options.store)


def make_parser() -> Parser:
    """Returns the parser of the command."""
    from brittlestar.studies.stress.page.study import EPISODES, PAGE, REFERENCE, Plan

    parser = Parser("brittlestar stress-benchmark", f"{__doc__} It takes more than an hour on 2 cores.")
    parser.add_argument("--episodes", type=int, default=EPISODES, help=f"episodes per cell (default {EPISODES})")
    parser.add_argument("--reference", type=int, default=REFERENCE, metavar="N",
                        help=f"episodes per reference pass (default {REFERENCE})")  # fmt: skip
    parser.add_argument("--seeds", default="0,1,2", help="seeds of all cells (default 0,1,2)")
    parser.add_argument("--policies", default="", metavar="NAME,...", help="policies of the zoo (default: all)")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help=f"the page (default {PAGE})")
    parser.add_argument("--folder", type=Path, default=Plan.folder,
                        help=f"folder of the sweep, its tables and figures (default {Plan.folder})")  # fmt: skip
    parser.add_argument("--store", type=Path, default=Plan.store, help=f"folder of cells (default {Plan.store})")
    return parser
