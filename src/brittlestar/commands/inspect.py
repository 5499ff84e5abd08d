"""Says what is in an agent's file without running it: `python scripts/inspect_policy.py ppo/Ant-v3_1`."""

from __future__ import annotations

import argparse
import sys

from brittlestar.checkpoints import describe_path
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError


@quiet_end
def main() -> None:
    """Prints algorithm, spaces, layers, statistics, versions, what a loader would run, and the recorded return."""
    parser = argparse.ArgumentParser(description="What is in the file of an agent; nothing in it is run.")
    parser.add_argument("path", metavar="FILE|FOLDER", help="a zip, a vecnormalize.pkl, or a folder of rl-zoo")
    try:
        print(describe_path(parser.parse_args().path))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
