"""The zoo of trained policies: `python scripts/zoo.py` lists them, `train`, `adopt`, `check` and `card` keep them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import is_shipped, read_card, recipe, recipes
from brittlestar.training.zoo_pages import list_text, summary, write_pages


@quiet_end
def main() -> None:
    """Parses the command line and does what it says."""
    options = _parser().parse_args()
    try:
        sys.exit(options.do(options))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
    except KeyboardInterrupt:
        sys.exit("brittlestar: interrupted; the same command goes on from the last checkpoints")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Policies that this project trained and ships.")
    parser.set_defaults(do=_list)
    verbs = parser.add_subparsers(metavar="VERB")
    verbs.add_parser("list", help="all policies and their scores (the default)").set_defaults(do=_list)
    train = verbs.add_parser("train", help="train by the recipe, or go on with it, then adopt")
    train.add_argument("names", nargs="*", metavar="NAME")
    train.add_argument("--all", action="store_true", help="all recipes; finished trainings are skipped")
    train.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings side by side (default 1)")
    train.add_argument("--store", default="outputs/training", help="folder of trainings (default outputs/training)")
    train.set_defaults(do=_train)
    adopt = verbs.add_parser("adopt", help="take the better checkpoint of a finished training, and measure it")
    adopt.add_argument("name", metavar="NAME")
    adopt.add_argument("folder", nargs="?", metavar="FOLDER", help="of the training (default: where `train` puts it)")
    adopt.set_defaults(do=_adopt)
    check = verbs.add_parser("check", help="measure shipped policies again, against their cards")
    check.add_argument("names", nargs="*", metavar="NAME", help="(default: all)")
    check.set_defaults(do=_check)
    verbs.add_parser("card", help="write README and yaml files from the cards").set_defaults(do=_card)
    return parser


def _list(_: argparse.Namespace) -> None:
    print(list_text())


def _train(options: argparse.Namespace) -> int:
    from brittlestar.training.zoo_trainings import stored, train_recipe, train_side_by_side

    if bool(options.names) == options.all:
        raise UserError("`train` needs names or `--all`")
    if options.jobs < 1:
        raise UserError(f"`--jobs` must be at least 1, got {options.jobs}")
    names = list(recipes()) if options.all else options.names
    for name in names:
        recipe(name)
    if len(names) == 1:
        ran = train_recipe(names[0], [stored(options.store)])
        print(summary(names[0]) if ran else f"done before: {summary(names[0])}")
        failed = []
    else:
        failed = train_side_by_side(names, options.jobs, options.store)
    write_pages()
    return len(failed) > 0


def _adopt(options: argparse.Namespace) -> None:
    from brittlestar.training.adoption import adopt
    from brittlestar.training.folder import training_folder
    from brittlestar.training.zoo_trainings import compose

    folder = options.folder or training_folder(compose(recipe(options.name)))
    card = adopt(options.name, Path(folder))
    print(f"{summary(options.name)} Took {card['choice']['taken']}/, {card['bytes']:,} bytes.")
    write_pages()


def _check(options: argparse.Namespace) -> int:
    from brittlestar.training.adoption import check

    failed = 0
    for name in options.names or [name for name in recipes() if is_shipped(name)]:
        read_card(name)
        wrong = check(name)
        print(f"{name}: {'; '.join(wrong) or 'as its card says'}", flush=True)
        failed += bool(wrong)
    return failed > 0


def _card(_: argparse.Namespace) -> None:
    print("\n".join(f"wrote {path}" for path in write_pages()) or "up to date")
