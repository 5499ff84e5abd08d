"""Measures the policies of the zoo under stress, ranks them, and writes docs/stress_benchmark.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.commands.terminal import Parser, command, use_one_thread
from brittlestar.errors import UserError, counted

if TYPE_CHECKING:
    from brittlestar.studies.stress.page.plan import BenchmarkPlan


@command
def main() -> None:
    """Runs the cells that are not in the store yet, then ranks, draws and writes."""
    use_one_thread()
    from brittlestar.studies.stress.page.page import write_benchmark

    failed = write_benchmark(read_plan())
    if failed:
        raise UserError(f"{counted(failed, 'cell')} failed, see failures.csv; the page is without them")


def read_plan(words: Sequence[str] | None = None) -> BenchmarkPlan:
    """Returns what the arguments of the command ask for."""
    from brittlestar.studies.pages import read_seeds
    from brittlestar.studies.stress.page.plan import BenchmarkPlan as Plan

    parser = Parser("brittlestar stress-benchmark", f"{__doc__} It takes more than an hour on 2 cores.")
    parser.add_argument("--episodes", type=int, default=Plan.episodes, metavar="N",
                        help=f"episodes per cell (default {Plan.episodes})")  # fmt: skip
    parser.add_argument("--reference", type=int, default=Plan.reference, metavar="N",
                        help=f"episodes per reference pass (default {Plan.reference})")  # fmt: skip
    parser.add_argument("--seeds", default="0,1,2", help="seeds of all cells (default 0,1,2)")
    parser.add_argument("--policies", default="", metavar="NAME,...",
                        help="policies of the zoo (default: all that see no pictures)")  # fmt: skip
    parser.add_argument("--page", type=Path, default=Plan.page, metavar="FILE", help=f"the page (default {Plan.page})")
    parser.add_argument("--folder", type=Path, default=Plan.folder,
                        help=f"folder of the sweep, its tables and figures (default {Plan.folder})")  # fmt: skip
    parser.add_argument("--store", type=Path, default=Plan.store, help=f"folder of cells (default {Plan.store})")
    options = vars(parser.parse_args(words))
    names = [name.strip().removeprefix("zoo/") for name in options["policies"].split(",")]
    return Plan(**options | {"policies": tuple(filter(None, names)), "seeds": tuple(read_seeds(options["seeds"]))})
