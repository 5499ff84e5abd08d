"""Judges requirements on finished sweeps by their intervals: passed, failed or not decided."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.commands.terminal import FAILED, GATE_CODES, Parser, command
from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.results.aggregate import Tables
    from brittlestar.results.requirements import Requirement


@command
def main() -> None:
    """Judges requirements and sets the exit code."""
    parser = Parser("brittlestar gate", f"{__doc__} Exit codes: 0 all passed, 3 failed, 4 not decided, 1 error.")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="sweep folders")
    parser.add_argument(
        "--require", action="append", default=[], metavar="TEXT", help='requirement: "success_final@0.05 >= 0.8"'
    )
    parser.add_argument("--file", metavar="YAML", help="a list of requirements")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder of the output (default: the first DIR)")
    options = parser.parse_args()
    from brittlestar.reports.gate_plan import requirements_of
    from brittlestar.reports.summary import as_swept
    from brittlestar.results.aggregate import aggregate
    from brittlestar.results.load import load_cells
    from brittlestar.results.lost_cells import lost_cells
    from brittlestar.sweeps.missing import missing_cells

    texts = options.require or ([] if options.file else _earlier(Path(options.folders[0])))
    requirements = requirements_of({"file": options.file, "require": texts})
    cells = [cell for cell in load_cells(options.folders) if cell.role is None]
    tables = as_swept(aggregate(cells), cells)
    missing = sum(len(sweep.numbers) for folder in options.folders for sweep in missing_cells(Path(folder)))
    code = run_gate(requirements, tables, options.out or Path(options.folders[0]), missing)
    lost = lost_cells(tables, missing)
    if lost:
        raise UserError(f"{lost}, so the gate is not complete")
    sys.exit(code)


def run_gate(requirements: "list[Requirement]", tables: "Tables", out: Path, missing: int = 0) -> int:
    """Judges requirements, writes and prints the result, and returns the exit code."""
    from brittlestar.reports.gate_files import gate_lines, write_gate
    from brittlestar.results.gate import gate_status, judge_gate
    from brittlestar.results.lost_cells import judge_completeness

    results = judge_gate(requirements, tables) + judge_completeness(tables, missing)
    write_gate(results, out)
    print(f"\n{gate_lines(results)}", flush=True)
    return GATE_CODES.get(gate_status(results), FAILED)


def _earlier(folder: Path) -> list[str]:
    """Returns the requirements of the last gate of a folder."""
    from brittlestar.reports.gate_names import GATE_JSON
    from brittlestar.results.lost_cells import COMPLETE

    try:
        record = json.loads((folder / GATE_JSON).read_text())
        return [entry["require"] for entry in record["requirements"] if entry["require"] != COMPLETE]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"no requirement: add --require or --file, since {folder} has no {GATE_JSON}") from None
