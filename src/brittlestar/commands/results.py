"""Measures the Fetch policies of the zoo and writes docs/results.md; finished cells are not computed again."""

from pathlib import Path

from brittlestar.commands.terminal import Parser, command, use_one_thread


@command
def main() -> None:
    """Runs the cells that are not in the store yet, then writes the page."""
    options = _parser().parse_args()
    use_one_thread()
    from brittlestar.studies.pages import read_seeds
    from brittlestar.studies.results_page.page import write_results
    from brittlestar.studies.results_page.plan import ResultsPlan, choose_policies
    from brittlestar.studies.results_page.published import read_published

    published, policies = read_published(options.published), choose_policies(options.policy)
    seeds = read_seeds(options.seeds)
    plan = ResultsPlan(options.folder, options.store, options.episodes, seeds, policies, published)
    write_results(plan, options.out, options.readme)


def _parser() -> Parser:
    parser = Parser("brittlestar results", __doc__)
    parser.add_argument("--published", type=Path, metavar="FILE", help="JSON of published figures to compare with")
    parser.add_argument("--out", type=Path, default="docs/results.md", help="the page (default docs/results.md)")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="also write picture and table of this README")
    parser.add_argument("--episodes", type=int, default=100, help="episodes per cell (default 100)")
    parser.add_argument("--seeds", default="0,1,2", help="seeds of all cells (default 0,1,2)")
    parser.add_argument("--policy", action="append", default=[], metavar="TASK.PART=NAME,...",
                        help="other policies, such as fetch_push.sac=push_controller")  # fmt: skip
    parser.add_argument("--folder", type=Path, default="outputs/results", help="of sweeps (default outputs/results)")
    parser.add_argument("--store", type=Path, default="outputs/store", help="of cells (default outputs/store)")
    return parser
