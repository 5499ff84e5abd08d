"""Lists the trained policies that brittlestar contains; trains, adopts and checks them."""

import sys
from argparse import Namespace
from pathlib import Path

from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import is_shipped, policy_name, recipe, recipes
from brittlestar.training.zoo_pages import summary, write_pages, zoo_list


@command
def main() -> None:
    """Runs the verb of the command line; `list` by default."""
    options = _parser().parse_args()
    sys.exit(options.do(options))


def _parser() -> Parser:
    parser = Parser("brittlestar zoo", __doc__)
    parser.set_defaults(do=_list)
    verbs = parser.add_subparsers(metavar="VERB")
    verbs.add_parser("list", help="print all policies and their scores (default)").set_defaults(do=_list)
    train = verbs.add_parser("train", help="train policies by their recipes, or continue, then adopt them")
    train.add_argument("names", nargs="*", metavar="NAME", help="policies")
    train.add_argument("--all", action="store_true", help="all recipes; finished trainings are skipped")
    train.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at the same time (default 1)")
    train.add_argument("--store", default="outputs/training", help="folder of trainings (default outputs/training)")
    train.set_defaults(do=_train)
    adopt = verbs.add_parser("adopt", help="copy the better checkpoint of a finished training, and measure it")
    adopt.add_argument("name", metavar="NAME", help="a policy")
    adopt.add_argument("folder", nargs="?", metavar="FOLDER", help="folder of the training (default: that of `train`)")
    adopt.set_defaults(do=_adopt)
    check = verbs.add_parser("check", help="measure policies again and compare with their cards")
    check.add_argument("names", nargs="*", metavar="NAME", help="policies (default: all)")
    check.set_defaults(do=_check)
    verbs.add_parser("card", help="write README and yaml files from the cards").set_defaults(do=_card)
    return parser


def _list(_: Namespace) -> None:
    from brittlestar.reports.terminal_text import print_text

    print_text(zoo_list())


def _train(options: Namespace) -> int:
    from brittlestar.training.zoo_recipes import store_override, train_recipe, train_side_by_side

    if bool(options.names) == options.all:
        raise UserError("`train` needs names or `--all`")
    if options.jobs < 1:
        raise UserError(f"`--jobs` must be at least 1, got {options.jobs}")
    names = list(recipes()) if options.all else [policy_name(name) for name in options.names]
    if len(names) == 1:
        ran = train_recipe(names[0], [store_override(options.store)])
        print(summary(names[0]) if ran else f"done before: {summary(names[0])}")
        failed = []
    else:
        failed = train_side_by_side(names, options.jobs, options.store)
    write_pages()
    return len(failed) > 0


def _adopt(options: Namespace) -> None:
    from brittlestar.training.folder import training_folder
    from brittlestar.training.schema import compose_training
    from brittlestar.training.zoo_adoption import adopt

    name = policy_name(options.name)
    folder = options.folder or training_folder(compose_training(recipe(name)))
    card = adopt(name, Path(folder))
    print(f"{summary(name)} Took {card['choice']['taken']}/, {card['bytes']:,} bytes.")
    write_pages()


def _check(options: Namespace) -> int:
    from brittlestar.training.zoo_adoption import check_card

    failed, names = 0, list(map(policy_name, options.names or filter(is_shipped, recipes())))
    if not names:
        print("the zoo has no trained policy: `brittlestar zoo train NAME`")
    for name in names:
        try:
            differences = check_card(name)
        except UserError as error:
            # The others are checked, too.
            differences = [str(error)]
        print(f"{name}: {'; '.join(differences) or 'agrees with its card'}", flush=True)
        failed += bool(differences)
    return failed > 0


def _card(_: Namespace) -> None:
    print("\n".join(f"wrote {path}" for path in write_pages()) or "up to date")
