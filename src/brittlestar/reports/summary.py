"""From the folder of a sweep to tables, plots, a report and a few lines in the terminal."""

import dataclasses
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brittlestar.cells.claims import holder_of
from brittlestar.cells.files import host_name, make_folder
from brittlestar.errors import UserError
from brittlestar.reports.drawer import draw_apart
from brittlestar.reports.notes import mismatches, of_cells, on_servers, other_records, remarks
from brittlestar.reports.overview import sweep_overview
from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import write_page
from brittlestar.reports.pictures import draw_pictures, shown_part
from brittlestar.reports.protocol import PROTOCOL, write_protocol
from brittlestar.reports.report import Report, title_of
from brittlestar.reports.sections import Section, analyse, studies_of
from brittlestar.reports.small_plots import terminal_plots
from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.grouping import CellValues, Grouping, ranks_of, sort_key
from brittlestar.results.load import Cell, Row, load_packed
from brittlestar.results.packed_cells import PackedCells, pack_cells
from brittlestar.results.reward_curves import reward_curves
from brittlestar.results.rows import group_rows
from brittlestar.results.write import writing_tables
from brittlestar.statistics.resampling import forget_draws
from brittlestar.sweeps.index import INDEX
from brittlestar.sweeps.memory import no_garbage_collection, return_freed
from brittlestar.sweeps.missing import missing_cells

_TABLES = ("episodes", "cells", "curve", "summary", "failures")


class Summary(NamedTuple):
    """The tables of sweeps, what to print, and errors of studies that could not analyse their cells."""

    tables: Tables
    text: str
    study_errors: list[str]


@no_garbage_collection()
def summarise(
    folders: list[str], out: Path, mixed: bool = False, settings: dict[str, Any] | None = None, study: Any = None
) -> Summary:
    """Aggregates sweeps, and writes tables, plots and report to `out`.

    Args:
        folders: of the sweeps.
        out: where to write.
        mixed: allow sweeps of different environments or perturbations.
        settings: fields of the study, in place of those that the cells were run with.
        study: analyses the cells, in place of the study that their configs name.
    """
    # First what is missing: a cell that ends meanwhile counts as missing, and is in the tables.
    partial, every = _missing(folders), load_packed(folders, mixed)
    studies = [(study, every)] if study else studies_of(every, settings or {})
    tables = _tables(every)
    try:
        make_folder(out)
        sections, errors = analyse(studies, out)
        curve = _curve(tables, sections)
        rewards = reward_curves(tables) if curve and not any(section.answers for section in sections) else []
        draw = draw_apart(draw_pictures, shown_part(tables, curve), rewards, out)
        with writing_tables(tables, out):
            notes = of_cells(tables) + on_servers(tables) + other_records(tables) + (remarks(tables) if curve else [])
            overview = sweep_overview(tables) if curve or not sections else ""
            stated = [f"the study failed: {error}" for error in errors] + notes
            protocol, missed = write_protocol(out, every, tables, sections), mismatches(tables)
            findings = SweepFindings(sections, missed, partial + stated, protocol, {"curve"}, rewards, bool(curve))
            page, pictures = write_page(sweep_page(tables, findings, out, title_of(sections)), out), draw()
            drawn = pictures.names, missed, stated + pictures.notes, protocol, pictures.rewards, partial
            report = Report(sections, overview, *drawn)
            (out / "report.md").write_text(report.markdown(tables))
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror or error}") from None
    plots, files = terminal_plots(tables) if curve else [], _files(report, out, folders, page)
    # A study may need the cells that are missing.
    failures = [] if partial and any(map(_runs, folders)) else errors
    return Summary(tables, _text(report, notes + pictures.notes, plots, files), failures)


def _tables(every: PackedCells) -> Tables:
    """Returns the tables of the cells of a sweep, and of those of its study that failed."""
    return_freed()
    cells, broken = every.where(_is_swept), every.where(lambda cell: not _is_swept(cell) and not cell.done)
    tables = as_swept(aggregate(itertools.chain(cells, broken) if broken else cells), cells)
    forget_draws()
    return_freed()
    return tables


def _curve(tables: Tables, sections: list[Section]) -> list[Row]:
    """Returns the curve to show; a study may have a single strength, which is not a curve."""
    is_swept = len(group_rows(tables.curve, tables.grouping.columns)) < len(tables.curve)
    return tables.curve if not sections or is_swept else []


def _text(report: Report, notes: list[str], plots: list[str], files: str) -> str:
    """Returns what to print."""
    bodies = [section.body for section in report.sections] or [report.overview]
    notes = report.missed + (report.notes if report.partial else notes)
    return "\n\n".join(filter(None, ["\n".join(report.partial), *bodies, *plots, "\n".join(notes), files]))


def _missing(folders: list[str]) -> list[str]:
    """Returns a line on cells without a record: of a sweep that runs, was stopped, or lost some."""
    lines = []
    for missing in (sweep for folder in folders for sweep in missing_cells(Path(folder))):
        state = "the sweep runs" if _runs(str(missing.folder)) else "the command of the sweep computes them"
        lines.append(f"note: partial tables: {missing}; {state}")
    return lines


def _runs(folder: str) -> bool:
    """Whether another process has the folder of a sweep."""
    holder = holder_of(Path(folder))
    return holder is not None and (holder["pid"], holder["host"]) != (os.getpid(), host_name())


def _files(report: Report, out: Path, folders: list[str], page: Path) -> str:
    """Returns which files were written, for the terminal."""
    tables = [_TABLES, *(section.tables for section in report.sections if section.tables)]
    lines: dict[str, list[str]] = {"tables": []}
    for names in tables:
        suffixes = [end for end in ("csv", "parquet", "md", "json") if (out / f"{names[-1]}.{end}").is_file()]
        lines["tables"].append(f"{out}/{_braced(names)}.{_braced(suffixes)}")
    lines["plot"] = [f"{out}/{name}.png, {out}/{name}.pdf" for name in report.all_pictures]
    folders_of_rewards = dict.fromkeys(name.rpartition("/")[0] for name in report.rewards)
    lines |= {"rewards": [f"{out}/{folder}/*.png" for folder in folders_of_rewards]} if report.rewards else {}
    lines |= {
        "report": [f"{out}/report.md, {out}/{PROTOCOL}"],
        "page": [str(page)],
        "cells": [", ".join(f"{folder}/{INDEX}" for folder in folders)],
    }
    return "\n".join(f"{'' if i else name:<8}{file}" for name, files in lines.items() for i, file in enumerate(files))


def _braced(names: Sequence[str]) -> str:
    """Writes names as a shell does, such as `{a,b}`."""
    return names[0] if len(names) == 1 else f"{{{','.join(names)}}}"


def _is_swept(cell: Cell) -> bool:
    return cell.role is None


def as_swept(tables: Tables, cells: Iterable[Cell]) -> Tables:
    """Orders all rows as the cells of the sweep name the options; numbers remain ordered by size."""
    columns = tables.grouping.columns
    swept = CellValues(pack_cells(cells))
    orders = ((c, (*swept.distinct(c), *(row.get(c) for row in tables.curve))) for c in columns)
    ranks = {(c, value): rank for c, values in orders for rank, value in enumerate(dict.fromkeys(values))}

    def key(row: Row) -> list[tuple]:
        return sort_key(ranks.get((c, row[c])) if isinstance(row[c], str) else row[c] for c in columns)

    labels = tables.grouping.labels
    distinct = {id(label): label for label in labels}
    keys = (key(dict(zip(columns, label, strict=True))) for label in distinct.values())
    numbers = dict(zip(distinct, ranks_of(keys).tolist(), strict=True))
    places = np.argsort([numbers[id(label)] for label in labels], kind="stable")
    return dataclasses.replace(
        tables,
        cells=tables.cells.in_order(key),
        **{name: sorted(getattr(tables, name), key=key) for name in ("curve", "summary", "failures")},
        finished=tables.finished.choose(places),
        grouping=Grouping(columns, [labels[i] for i in places.tolist()]),
    )
