"""Prints what a checkpoint contains, without running anything in it."""

from __future__ import annotations

from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Prints algorithm, spaces, layers, statistics, versions, what a loader would run, and the recorded return."""
    parser = Parser("brittlestar inspect", __doc__)
    parser.add_argument("path", metavar="PATH", help="a zip file, a vecnormalize.pkl, or a folder of rl-zoo")
    path = parser.parse_args().path
    from brittlestar.checkpoints import describe_path

    print(describe_path(path))
