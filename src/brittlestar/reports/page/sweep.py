"""The page of a sweep, from its tables and its cells."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.cells.identity import LABEL
from brittlestar.errors import counted
from brittlestar.reports.notes import varied_columns
from brittlestar.reports.overview import MOST_ROWS, sweep_overview
from brittlestar.reports.page.curves import MOST_CURVES_ON_PAGE, curves_data
from brittlestar.reports.page.episodes import episodes_data, folder_of
from brittlestar.reports.page.facts import delivery_table, label_facts, sweep_commands, version_lines
from brittlestar.reports.page.pairs import pairs_data
from brittlestar.reports.page.phases import phase_section
from brittlestar.reports.page.rewards import rewards_data
from brittlestar.reports.page.write import PageContent, relative_folders
from brittlestar.reports.sections import Section
from brittlestar.reports.verdicts import curve_verdicts, labelled_curves, open_questions
from brittlestar.results.aggregate import Tables
from brittlestar.results.failures import failure_groups
from brittlestar.results.format import markdown, text
from brittlestar.results.packed_cells import PackedCells, pack_cells
from brittlestar.results.reward_curves import RewardCurve

_SPLIT = ("phase", "direction")
"""Columns of a label that no condition of `brittlestar compare` can choose."""
_OF_POLICY = ("env", "policy", LABEL)
_MOST_HELD = 2000
"""Cells whose rows are held in memory."""
_MISSED = "This policy misses its recorded return before anything disturbs it: its curve does not measure robustness."


@dataclass
class SweepFindings:
    """What a page shows beyond the tables."""

    sections: list[Section] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    protocol: str = ""
    pictures: set[str] = field(default_factory=set)
    """Names of pictures that charts of the page replace."""
    rewards: list[RewardCurve] = field(default_factory=list)
    is_swept: bool = True
    """Whether there are curves to show, and not only single strengths that the study shows."""


def sweep_page(tables: Tables, findings: SweepFindings, out: Path, title: str) -> PageContent:
    """Returns the content of a page; reads the rows of one curve at a time."""
    varied, first = varied_columns(tables), tables.curve[0] if tables.curve else {}
    common = {c: first[c] for c in tables.grouping.columns if c in first}
    names = list(labelled_curves(tables).values())[:MOST_CURVES_ON_PAGE]
    cells = _held(_cells_of_curves(tables))
    homes = list(dict.fromkeys(folder_of(cell) for part in cells for cell in part.kinds()))
    shown = findings.is_swept and bool(tables.curve)
    judged = shown and not any(section.answers for section in findings.sections)
    return PageContent(
        title=title,
        facts=label_facts(common, varied),
        verdicts=curve_verdicts(tables) if judged else [],
        warnings=[f"{_plain(note)} {_MISSED}" for note in findings.missed],
        checks=_checks(tables, varied),
        questions=open_questions(tables) if judged else [],
        notes=_failed(tables) + [_plain(note) for note in findings.notes],
        sections=findings.sections,
        phases=phase_section(tables, findings.sections) if shown else None,
        tables=_tables(tables, findings, delivery_table(cells, names)),
        commands=sweep_commands(tables.finished),
        versions=version_lines(tables.finished),
        data=_data(tables, cells, names, homes, findings) if shown else {},
        folders=relative_folders(homes, out) if any(homes) else [],
        skipped=findings.pictures,
    )


def _failed(tables: Tables) -> list[str]:
    """Returns a note on cells without a result, which no curve shows."""
    count = len(tables.failures)
    return [f"{count} of {counted(count + len(tables.cells), 'cell')} failed: see Tables"] if count else []


def _data(
    tables: Tables, cells: Sequence[PackedCells], names: Sequence[str], homes: list[str], findings: SweepFindings
) -> dict[str, Any]:
    curves = curves_data(tables)
    metrics = [metric["name"] for metric in curves["metrics"] if metric["measure"] or metric["higher"]]
    wheres = [] if len(homes) != 1 else _conditions(curves["curves"], curves["columns"])
    return {
        "curves": curves,
        "pairs": pairs_data(cells, names, metrics) | {"wheres": wheres},
        "episodes": episodes_data(cells, {folder: i for i, folder in enumerate(homes)}) | {"folders": homes},
        "rewards": rewards_data(findings.rewards, tables),
    }


def _cells_of_curves(tables: Tables) -> list[PackedCells]:
    """Returns the finished cells of the curves that a page shows, in the order of the curve table."""
    members = tables.members()
    return [members[key] for key in list(labelled_curves(tables))[:MOST_CURVES_ON_PAGE]]


def _held(curves: list[PackedCells]) -> list[PackedCells]:
    """Returns cells with their rows in memory, unless they are many: the page reads them several times."""
    if sum(len(cells) for cells in curves) > _MOST_HELD:
        return curves
    return [pack_cells(dataclasses.replace(cell, held=cell.rows()) for cell in cells) for cells in curves]


def _conditions(curves: list[dict[str, Any]], columns: list[str]) -> list[list[str]]:
    """Returns the conditions that choose each curve in `brittlestar compare`; empty where none can."""
    if set(columns) & set(_SPLIT):
        return []
    return [[shlex.quote(f"{c}={curve['label'][c]}") for c in columns] for curve in curves]


def _checks(tables: Tables, varied: list[str]) -> list[str]:
    """Returns a line for each check of a policy; phases and stressors with the same outcome share it."""
    columns = [c for c in varied if c.partition(".")[0] in _OF_POLICY]
    lines: dict[str, None] = {}
    for label, check in tables.baseline_checks:
        where = ", ".join(text(label[c]) for c in columns if label.get(c) is not None)
        lines[f"{where}: {check}" if where else str(check)] = None
    return list(lines)


def _tables(tables: Tables, findings: SweepFindings, delivery: str) -> dict[str, str]:
    parts = {"Curve and summary": sweep_overview(tables)} if tables.curve and findings.is_swept else {}
    if tables.failures:
        groups = failure_groups(tables.failures)[:MOST_ROWS]
        parts["Failed cells"] = markdown(groups, ["cells", "error", "overrides", "first"])
    parts |= {"Delivery: what the perturbation changed": delivery} if delivery else {}
    body = re.sub(r"\A#+ .*\n+", "", findings.protocol)
    return parts | ({"Evaluation protocol": body} if body else {})


def _plain(note: str) -> str:
    return note.removeprefix("note: ")
