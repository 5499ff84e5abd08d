"""The picture and the table on top of README.md: the P controller beside a learned policy."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copyfile

from brittlestar.errors import UserError
from brittlestar.reports.curve_plot import plot_curves
from brittlestar.results.format import markdown
from brittlestar.results.load import Row
from brittlestar.studies.pages import with_interval
from brittlestar.studies.results_page.parts import by_level, find_part
from brittlestar.studies.results_page.plan import SAC, TITLES, P, ResultsPlan
from brittlestar.studies.results_page.tables import rate_columns

LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2)
TABLE = re.compile(r"(?<=\n)\| *sigma.*?\n(?=\n)", re.DOTALL)
_PICTURE = "docs/curve.png"


def write_readme(plan: ResultsPlan, path: Path) -> list[str]:
    """Replaces picture and table of a README, and returns lines on what was written and where the curves break."""
    parts = {TITLES[role]: find_part(plan, "fetch_reach", "observation", role) for role in (P, SAC)}
    tables = {title: next(iter(part.each.values())) for title, part in parts.items() if part}
    if len(tables) < 2:
        raise UserError("README is left as it is: no learned policy on FetchReach is trained yet")
    rows: list[Row] = []
    for x in LEVELS:
        columns = [rate_columns(by_level(one)[x], f"{title}, ") for title, one in tables.items()]
        rows.append({"sigma": x} | columns[0] | columns[1])
    page = path.read_text()
    if len(TABLE.findall(page)) != 1:
        raise UserError(f"{path} must have one table that starts with `| sigma`")
    picture = plan.folder / "readme"
    plot_curves([row for one in tables.values() for row in one.curve], ["env", "policy", "perturbation"], picture)
    copyfile(picture.with_suffix(".png"), path.parent / _PICTURE)
    path.write_text(TABLE.sub(lambda _: markdown(rows, rows[0]) + "\n", page))
    breaks = [
        f"{row['policy']}: {row['measure']} falls below half at "
        f"{with_interval(row, 'critical_interpolated') or 'no level'}"
        for one in tables.values()
        for row in one.summary
    ]
    return [f"wrote {path} and {path.parent / _PICTURE}", *breaks]
