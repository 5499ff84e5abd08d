"""Tests whether the policy of sweep A is more robust than the policy of sweep B."""

import json

from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Compares two curves and prints the table and the verdict."""
    parser = Parser("brittlestar compare", __doc__)
    parser.add_argument("a", metavar="DIR_A", help="sweep folder")
    parser.add_argument("b", metavar="DIR_B", help="sweep folder; may be DIR_A with other conditions")
    parser.add_argument("--where-a", action="append", default=[], metavar="COLUMN=VALUE", help="choose a curve of A")
    parser.add_argument("--where-b", action="append", default=[], metavar="COLUMN=VALUE", help="choose a curve of B")
    parser.add_argument("--measure", help="metric to compare (default: the headline metric of the environment)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.results.compare import compare, verdict
    from brittlestar.results.format import bounded, markdown

    result = compare(options.a, options.b, options.where_a, options.where_b, options.measure)
    if options.json:
        print(json.dumps(vars(result), indent=1))
        return
    episodes = "the same episodes: paired tests" if result.paired else "different episodes: unpaired tests"
    print(f"A = {result.names[0]}\nB = {result.names[1]}\n{result.measure}, {episodes}")
    print(f"note: {result.note}\n" if result.note else "")
    print_text(markdown(result.levels, result.levels[0]))
    curve = result.curve
    difference = bounded(curve["difference"], curve["low"], curve["high"], "+.4f")
    means = f"A {curve['a']:.4f}, B {curve['b']:.4f}, difference {difference}"
    print(f"\nover the curve: {means} ({curve['method']})\n{verdict(result)}")
