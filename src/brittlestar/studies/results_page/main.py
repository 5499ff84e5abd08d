"""The command line of `scripts/results.py`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from brittlestar.cells.files import make_folder
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError

from . import page, published, readme
from .commands import read_seeds
from .studies import EPISODES_EACH, Plan, choose, run_sweeps


@quiet_end
def main() -> None:
    """Runs what is not in the store yet, then writes the page."""
    options = _parser().parse_args()
    try:
        write(options)
    except UserError as error:
        sys.exit(f"results.py: {error}")
    except KeyboardInterrupt:
        sys.exit("results.py: interrupted; finished cells are kept, the same command goes on from there")


def write(options: argparse.Namespace) -> None:
    """Writes the page that the options ask for."""
    theirs = published.read(options.published)
    plan = Plan(options.folder, options.store, options.episodes, read_seeds(options.seeds), choose(options.policy))
    if options.episodes < 1:
        raise UserError(f"`--episodes` must be at least 1, got {options.episodes}")
    make_folder(options.out.parent)
    for name in plan.missing():
        print(f"missing: `{name}` is not trained yet: `python scripts/zoo.py train {name.removeprefix('zoo/')}`")
    run_sweeps(plan)
    text = page.compose(plan, theirs, options.out.parent)
    try:
        options.out.write_text(text)
        print(f"wrote {options.out}")
        if options.readme:
            print("\n".join(readme.renew(plan, options.readme)))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Writes docs/results.md from cells; a second run computes nothing.")
    parser.add_argument(
        "--published", type=Path, metavar="FILE", help="JSON of published figures, to stand beside ours"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page (default docs/results.md)")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="renew picture and table of this README, too")
    parser.add_argument("--episodes", type=int, default=EPISODES_EACH, help=f"per cell (default {EPISODES_EACH})")
    parser.add_argument("--seeds", default="0,1,2", help="(default 0,1,2)")
    parser.add_argument(
        "--policy", action="append", default=[], metavar="TASK.PART=NAME,...",
        help="other policies than those of the zoo, such as fetch_push.sac=push_controller",
    )  # fmt: skip
    parser.add_argument("--folder", type=Path, default=Path("outputs/results"), help="sweeps (default outputs/results)")
    parser.add_argument("--store", type=Path, default=Path("outputs/store"), help="cells (default outputs/store)")
    return parser
