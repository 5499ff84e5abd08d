"""The picture and the table on top of README.md: the P controller beside a learned policy."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copyfile

from brittlestar.errors import UserError
from brittlestar.reports.curve_plot import plot_curves
from brittlestar.results.format import markdown
from brittlestar.results.load import Row

from .curves import by_level, curves
from .formats import bounded_number
from .studies import SAC, P, Plan

PICTURE = "docs/curve.png"
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2)
TABLE = re.compile(r"(?<=\n)\| *sigma.*?\n(?=\n)", re.DOTALL)


def renew(plan: Plan, path: Path) -> list[str]:
    """Replaces the table under the picture of a README, draws the picture, and says where the curves break."""
    names = [plan.names("fetch_reach", role)[:1] for role in (P, SAC)]
    if not all(names):
        raise UserError("README is left as it is: no learned policy on FetchReach is trained yet")
    sides = [curves(plan, "fetch_reach", "observation", role) for role in (P, SAC)]
    tables = [side.each[name] for side, (name,) in zip(sides, names, strict=True) if side]
    rows: list[Row] = []
    for x in LEVELS:
        row: Row = {"sigma": x}
        for title, found in zip(("P controller", "SAC"), tables, strict=True):
            at = by_level(found)[x]
            row |= {
                f"{title}, any step": bounded_number(at, "success_any"),
                f"{title}, final step": bounded_number(at, "success_final"),
            }
        rows.append(row)
    text = path.read_text()
    if len(TABLE.findall(text)) != 1:
        raise UserError(f"{path} must have one table that starts with `| sigma`")
    picture = plan.folder / "readme"
    plot_curves([row for found in tables for row in found.curve], ["env", "policy", "perturbation"], picture)
    copyfile(picture.with_suffix(".png"), path.parent / PICTURE)
    path.write_text(TABLE.sub(lambda _: markdown(rows, rows[0]) + "\n", text))
    return [f"wrote {path} and {path.parent / PICTURE}", *_breaks(tables)]


def _breaks(tables: list) -> list[str]:
    return [
        f"{row['policy']}: {row['measure']} falls below half at "
        f"{bounded_number(row, 'critical_interpolated') or 'no level'}"
        for found in tables
        for row in found.summary
    ]
