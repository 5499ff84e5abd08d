"""The page of a comparison of two sweeps: verdict, both curves, their difference and their episodes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from brittlestar.cells.identity import LABEL
from brittlestar.reports.page.pairs import pair_json
from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import PageContent
from brittlestar.reports.sections import Section
from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.cell_table import CellTable
from brittlestar.results.compare import Comparison, verdict
from brittlestar.results.format import markdown
from brittlestar.results.grouping import Grouping
from brittlestar.results.load import Cell, Row
from brittlestar.results.packed_cells import pack_cells
from brittlestar.results.reward_curves import reward_curves


def comparison_page(comparison: Comparison, a: list[Cell], b: list[Cell], out: Path) -> PageContent:
    """Returns the content of the page; `a` and `b` are the cells of the curves."""
    sides = zip("AB", _names(a, b), (aggregate(a), aggregate(b)), strict=True)
    tables = _joined([_marked(f"{side}: {name}", part) for side, name, part in sides])
    notes = [f"{side} = {name}" for side, name in zip("AB", comparison.names, strict=True)]
    notes += [comparison.note] if comparison.note else []
    finding = ("A minus B", f"{comparison.measure}: {verdict(comparison)}")
    columns = [name for name in comparison.levels[0] if name != "method"]
    methods = "; or ".join(dict.fromkeys(row["method"] for row in comparison.levels))
    body = f"{markdown(comparison.levels, columns)}\n\nMethod: {methods}."
    table = Section(f"Difference: {comparison.measure}", body, findings=[finding])
    findings = SweepFindings([table], notes=notes, rewards=reward_curves(tables))
    page = sweep_page(tables, findings, out, "Comparison")
    pairs = page.data["pairs"]
    if len(page.data["curves"]["curves"]) == 2:
        # The comparison that was asked for, also where it is not paired.
        others = [pair for pair in pairs["pairs"] if pair["measure"] != comparison.measure]
        pairs |= {"pairs": [{"a": 0, "b": 1} | pair_json(comparison), *others]}
    pairs |= {"wheres": [], "first": comparison.measure}
    return page


def _names(a: list[Cell], b: list[Cell]) -> list[str]:
    """Returns short names of the sides: their policies, or their folders where these are the same."""
    policies = [cells[0].choice("policy") for cells in (a, b)]
    folders = [cells[0].source[0].path.parent.name if cells[0].source else "" for cells in (a, b)]
    return policies if policies[0] != policies[1] else folders


def _marked(side: str, tables: Tables) -> Tables:
    """Returns tables whose labels begin with the name of their side: those of both sides may be the same."""
    grouping = tables.grouping
    columns = [LABEL, *(c for c in grouping.columns if c != LABEL)]
    labels = [tuple((grouping.label(i) | {LABEL: side})[c] for c in columns) for i in range(len(grouping.labels))]

    def named(rows: list[Row]) -> list[Row]:
        return [row | {LABEL: side} for row in rows]

    return dataclasses.replace(
        tables,
        curve=named(tables.curve),
        summary=named(tables.summary),
        failures=named(tables.failures),
        grouping=Grouping(columns, labels),
        baseline_checks=[(label | {LABEL: side}, check) for label, check in tables.baseline_checks],
    )


def _joined(sides: list[Tables]) -> Tables:
    columns = list(dict.fromkeys(column for side in sides for column in side.grouping.columns))

    def rows(name: str) -> list[Row]:
        return [{c: row.get(c) for c in columns} | row for side in sides for row in getattr(side, name)]

    labels = [
        tuple(side.grouping.label(i).get(c) for c in columns)
        for side in sides
        for i in range(len(side.grouping.labels))
    ]
    return Tables(
        CellTable([piece for side in sides for piece in side.cells.pieces]),
        rows("curve"),
        rows("summary"),
        rows("failures"),
        pack_cells(cell for side in sides for cell in side.finished),
        Grouping(columns, labels),
        [check for side in sides for check in side.baseline_checks],
    )
