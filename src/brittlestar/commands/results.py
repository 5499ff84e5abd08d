"""Measures the policies of the zoo on Fetch and writes docs/results.md, beside published figures if they are given."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError


@quiet_end
def main() -> None:
    """Runs what is not in the store yet, then writes the page."""
    # Before numpy is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    from brittlestar.studies.results_page import page, published
    from brittlestar.studies.results_page.commands import read_seeds
    from brittlestar.studies.results_page.studies import Plan, choose

    options = _parser().parse_args()
    try:
        theirs = published.read(options.published)
        plan = Plan(options.folder, options.store, options.episodes, read_seeds(options.seeds), choose(options.policy))
        page.write_page(plan, theirs, options.out, options.readme)
    except UserError as error:
        sys.exit(f"results.py: {error}")
    except KeyboardInterrupt:
        sys.exit("results.py: interrupted; finished cells are kept, the same command goes on from there")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Writes docs/results.md from cells; a second run computes nothing.")
    parser.add_argument(
        "--published", type=Path, metavar="FILE", help="JSON of published figures, to stand beside ours"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page (default docs/results.md)")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="renew picture and table of this README, too")
    parser.add_argument("--episodes", type=int, default=100, help="per cell (default 100)")
    parser.add_argument("--seeds", default="0,1,2", help="(default 0,1,2)")
    parser.add_argument(
        "--policy", action="append", default=[], metavar="TASK.PART=NAME,...",
        help="other policies than those of the zoo, such as fetch_push.sac=push_controller",
    )  # fmt: skip
    parser.add_argument("--folder", type=Path, default=Path("outputs/results"), help="sweeps (default outputs/results)")
    parser.add_argument("--store", type=Path, default=Path("outputs/store"), help="cells (default outputs/store)")
    return parser
