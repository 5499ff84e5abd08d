"""Runs recorded episodes again, checks that they come out bit for bit, and writes films of them."""

import os
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from brittlestar.commands.terminal import FAILED, Parser, command
from brittlestar.errors import UserError

_SIZES = (32, 2000)
"""Pixels of a side of a film."""


@command
def main() -> None:
    """Films episodes by number, the worst ones, or those that only the perturbation makes fail."""
    options = _parser().parse_args()
    from brittlestar.reports.film_choice import Chosen, flipped, narrow, worst
    from brittlestar.reports.films import FILMS, FilmOptions, film
    from brittlestar.reports.page.write import refresh_films
    from brittlestar.reports.rerun_file import load_rerun
    from brittlestar.results.load import read_cells

    # A policy or an environment may be a module of the user, as in the sweep.
    sys.path.append(os.getcwd())
    if options.rerun:
        load_rerun()
    folder = Path(options.folder)
    cells = read_cells(folder)
    among = narrow(cells, options.cell, options.level)
    if options.episode is not None:
        if options.cell is None:
            raise UserError("`--episode` needs `--cell`")
        chosen = [Chosen(among[0], options.episode, "as asked for")]
    elif options.flipped is not None:
        chosen = flipped(cells, among, options.flipped)
        if not chosen:
            raise UserError("no episode succeeds without the perturbation and fails with it")
    else:
        chosen = worst(among, options.worst)
    how = FilmOptions(options.size, options.slow, options.side_by_side, options.gif, options.frames, options.rerun)
    is_same = True
    for each in chosen:
        result = film(cells, each, Path(options.out or folder / FILMS), how)
        print(*result.lines, sep="\n", flush=True)
        is_same &= not result.replay.differences
    refresh_films(folder)
    if not is_same:
        sys.exit(FAILED)


def _parser() -> Any:
    parser = Parser("brittlestar replay", __doc__)
    parser.add_argument("folder", metavar="DIR", help="folder of a recorded sweep or run")
    parser.add_argument("--cell", type=int, metavar="N", help="number of a cell; `brittlestar inspect DIR` lists them")
    parser.add_argument("--episode", type=int, metavar="K", help="number of an episode of that cell, from 0 on")
    parser.add_argument("--level", type=float, metavar="X", help="only cells of this strength")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--worst", type=_count, default=1, metavar="N", help="the N worst episodes (default 1)")
    which.add_argument("--flipped", type=_count, metavar="N", help="N episodes that succeed clean and fail perturbed")
    parser.add_argument("--side-by-side", action="store_true", help="beside the same episode without the perturbation")
    parser.add_argument("--gif", action="store_true", help="write GIF in place of MP4")
    parser.add_argument("--frames", action="store_true", help="write every frame as PNG, too")
    parser.add_argument("--rerun", action="store_true", help="write a recording for the Rerun viewer, too (extra)")
    parser.add_argument("--slow", type=_positive, default=1.0, metavar="F", help="F times slower (default 1)")
    parser.add_argument("--size", type=_size, default=480, metavar="P", help="pixels of a side (default 480)")
    parser.add_argument("--out", metavar="FOLDER", help="folder of the films (default DIR/films)")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number above 0, got {text!r}")
    return int(text)


def _size(text: str) -> int:
    size = _count(text)
    if not _SIZES[0] <= size <= _SIZES[1]:
        raise ArgumentTypeError(f"must be {_SIZES[0]} to {_SIZES[1]} pixels, got {text}")
    return size


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return value
