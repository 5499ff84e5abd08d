"""Measures policies on recorded episodes, and tests whether that predicts their success in closed loop."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from brittlestar.commands.terminal import Parser, command, use_one_thread
from brittlestar.errors import UserError

_OUT = Path("outputs/offline")


@command
def main() -> None:
    """Measures policies, or records a policy with `record`."""
    options = _parser().parse_args()
    use_one_thread()
    # A module of the user's folder may have the policy or the features.
    sys.path.append(os.getcwd())
    options.do(options)


def _parser() -> Parser:
    parser = Parser("brittlestar offline", __doc__)
    parser.set_defaults(do=_measure)
    parser.add_argument(
        "--data", metavar="DATA", help="recorded episodes: an .npz, or a Minari data set (id or folder)"
    )
    parser.add_argument("--policy", action="extend", nargs="+", default=[], metavar="[NAME=]POLICY",
                        help="options, files, folders, module:attribute, or .npz of recorded rollouts")  # fmt: skip
    parser.add_argument("--sweep", metavar="DIR", help="finished sweep: its policies, and their success at each level")
    parser.add_argument("--env", help="option or id (default: that of the sweep, or of the data)")
    parser.add_argument("--features", metavar="MODULE:FUNCTION",
                        help="features of (observations, actions) of an episode (default: observations)")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=100, help="recorded episodes, and rollouts (default 100)")
    parser.add_argument("--no-rollouts", action="store_true", help="only measure on the recorded observations")
    parser.add_argument("--out", type=Path, default=_OUT, metavar="FOLDER", help=f"of the output (default {_OUT})")
    verbs = parser.add_subparsers(metavar="VERB")
    record = verbs.add_parser("record", help="run a policy without a perturbation, and write its episodes")
    record.add_argument("--policy", required=True, help="option, file, folder or module:attribute")
    record.add_argument("--env", required=True, help="option or id of the environment")
    record.add_argument("--episodes", type=int, default=100, help="how many (default 100)")
    record.add_argument("--seed", type=int, default=0, help="of the start states; no sweep has them (default 0)")
    record.add_argument("--out", type=Path, default=_OUT / "recording.npz", metavar="FILE", help="the .npz to write")
    record.set_defaults(do=_record)
    return parser


def _measure(options: Namespace) -> None:
    from brittlestar.engine.cores import cores
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.studies.offline.offline import OfflinePlan, measure_offline

    if options.data is None:
        raise UserError("`--data` is missing: an .npz of `brittlestar offline record`, or a Minari data set")
    _at_least_one(options.episodes)
    plan = OfflinePlan(
        options.data, options.policy, options.sweep, options.env, options.features, options.episodes,
        not options.no_rollouts, options.out, cores(),
    )  # fmt: skip
    result = measure_offline(plan)
    notes = "\n".join(f"note: {note}" for note in result.notes)
    files = [f"tables  {plan.out}/{{policies,agreement,levels}}.{{csv,parquet,md,json}}"]
    files += [f"plot    {result.picture}.{{png,pdf}}"] if result.picture else []
    files += [f"report  {plan.out}/report.md"]
    print_text("\n\n".join(filter(None, [result.tables, result.verdict, notes, "\n".join(files)])), options.out)


def _record(options: Namespace) -> None:
    from brittlestar.engine.cores import cores
    from brittlestar.studies.offline.offline import record_to_file

    _at_least_one(options.episodes)
    if options.seed < 0:
        raise UserError(f"`--seed` must be at least 0, got {options.seed}")
    if options.out.suffix != ".npz":
        raise UserError(f"`--out` must end in .npz, got {options.out}")
    line = record_to_file(options.policy, options.env, options.episodes, options.seed, options.out, cores())
    print(f"{line}\nwrote {options.out}")


def _at_least_one(episodes: int) -> None:
    if episodes < 1:
        raise UserError(f"`--episodes` must be at least 1, got {episodes}")
