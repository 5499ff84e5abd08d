"""The command line of `scripts/stress_benchmark.py`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from brittlestar.cells.files import make_folder
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError
from brittlestar.studies.results_page.commands import read_seeds, run_sweep

from . import page
from .study import EPISODES, PAGE, REFERENCE, Plan
from .tables import read_tables


@quiet_end
def main() -> None:
    """Runs what is not in the store yet, then ranks, draws and writes."""
    options = make_parser().parse_args()
    try:
        failed = write(make_plan(options))
    except UserError as error:
        sys.exit(f"stress_benchmark.py: {error}")
    except KeyboardInterrupt:
        sys.exit("stress_benchmark.py: interrupted; finished cells are kept, the same command goes on from there")
    if failed:
        sys.exit(f"stress_benchmark.py: {failed} cells failed and are not on the page, see failures.csv")


def write(plan: Plan) -> int:
    """Writes the page of a plan; returns how many cells failed."""
    from brittlestar.studies.stress.leaderboard_report import write_leaderboard

    make_folder(plan.page.parent)
    for name in plan.missing:
        _say(f"left out: `{name}` is not trained yet")
    _say(f"1/3 sweep: {plan.size()}, in {plan.folder}")
    if not run_sweep(plan.sweep()) and not (plan.folder / "failures.json").is_file():
        raise UserError(f"the sweep failed: python run.py {' '.join(plan.sweep())}")
    _say("2/3 leaderboard and figures")
    # The tables are on the page; what is left says where the files are.
    print(write_leaderboard([str(plan.folder)], plan.folder).rpartition("\n\n")[2], flush=True)
    _say("3/3 page")
    tables = read_tables(plan.folder)
    try:
        plan.page.write_text(page.compose(plan, tables))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None
    _say(f"wrote {plan.page}")
    return len(tables.failures)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def make_plan(options: argparse.Namespace) -> Plan:
    """Returns what the options ask for."""
    chosen = tuple(name.strip().removeprefix("zoo/") for name in options.policies.split(",") if name.strip())
    seeds = tuple(read_seeds(options.seeds))
    return Plan(chosen, options.episodes, options.reference, seeds, options.page, options.folder, options.store)


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
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
