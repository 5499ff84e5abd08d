"""Prints what a checkpoint contains, without running anything in it."""

from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Prints algorithm, spaces, layers, statistics, versions, what a loader would run, and the recorded return."""
    parser = Parser("brittlestar inspect", __doc__)
    parser.add_argument("path", metavar="PATH", help="a zip file, a vecnormalize.pkl, a folder of rl-zoo, or zoo/NAME")
    path = parser.parse_args().path
    from brittlestar.checkpoints import describe_path
    from brittlestar.policies.zoo.cards import HOME, files, read_card

    if path.startswith("zoo/"):
        name = path.removeprefix("zoo/")
        read_card(name)
        path = str(files(HOME / name)[0])
    print(describe_path(path))
