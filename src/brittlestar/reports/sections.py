"""The sections that a study adds to a report, made by the study that the cells' configs name."""

import json
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.config.build import build, imported_class, targets_in
from brittlestar.errors import UserError, nearest
from brittlestar.results.load import Cell
from brittlestar.results.packed_cells import PackedCells, pack_cells

_PLAIN = "brittlestar.studies.base.Study"
"""The study of a sweep without one, which makes nothing of the cells."""


@dataclass(frozen=True)
class Chart:
    """A chart that a study draws on the page of a sweep, from JSON values; see docs/report.md for the kinds."""

    kind: str
    """`lines`, `map`, `radar`, `points` or `bars`."""
    title: str
    data: dict[str, Any]
    pictures: list[str] = field(default_factory=list)
    """Names of the pictures of the section that it replaces on the page."""


@dataclass(frozen=True)
class Section:
    """One part of a report: a heading, Markdown, and names of pictures and tables next to the report (no suffix).

    `methods` and `limits` are sentences for the evaluation protocol: how intervals and tests are made, and what they
    cannot tell. `charts` are what the page shows of the section, and
    `findings` its sentences on top, each with what it is about.
    """

    title: str
    body: str
    pictures: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)
    answers: bool = False
    """Whether the findings replace those on single curves, which ask the same by another method."""


def analyse(studies: list[tuple[Any, PackedCells]], out: Path) -> tuple[list[Section], list[str]]:
    """Returns the sections of studies, and the errors of those that cannot analyse their cells; see `studies_of`."""
    sections, errors = list[Section](), list[str]()
    for study, cells in studies:
        try:
            # A list of all cells takes much memory.
            sections += [] if _name(type(study)) == _PLAIN else study.analyse([*cells], out)
        except UserError as error:
            errors.append(str(error))
        except OSError:
            raise
        except Exception as error:
            # The tables and the failed cells of the sweep remain worth reading.
            traceback.print_exc()
            errors.append(f"{type(error).__name__}: {' '.join(str(error).split())}")
    return sections, errors


def studies_of(every: Iterable[Cell], settings: dict[str, Any]) -> list[tuple[Any, PackedCells]]:
    """Returns every study among some cells, built with the settings, and its cells."""
    cells = pack_cells(every)
    nodes = [cell.setting("study") for cell in cells.kinds()]
    keys = {key for node in nodes if isinstance(node, dict) for key in node if key != "_target_"}
    for key in settings:
        if not keys:
            raise UserError(f"`study.{key}` does not exist: these sweeps have no study with settings")
        if key not in keys:
            raise UserError(f"`study.{key}` does not exist in these sweeps; {nearest(key, keys)}")
    studies: dict[str, dict[str, Any]] = {}
    for node in nodes:
        if isinstance(node, dict):
            node = node | {key: value for key, value in settings.items() if key in node}
            _refuse_differences(studies.setdefault(str(node["_target_"]), node), node)
    members = cells.groups(_study_of)
    return [(_build(node), members[target]) for target, node in studies.items()]


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _study_of(cell: Cell) -> str | None:
    node = cell.setting("study")
    return str(node["_target_"]) if isinstance(node, dict) else None


def _build(node: dict[str, Any]) -> Any:
    """Builds the study of a sweep, which may come from another person: runs no code that only its files name."""
    target, *inner = targets_in(node)
    kind = imported_class(target)
    if kind is None:
        module = target.rpartition(".")[0]
        raise UserError(f"these sweeps name the study {target}: if you trust its code, add `--import {module}`")
    if inner or not (isinstance(kind, type) and hasattr(kind, "analyse")):
        raise UserError(f"these sweeps name a study that is none: {', '.join([target, *inner])}")
    return build(node, "study")


def _refuse_differences(first: dict[str, Any], second: dict[str, Any]) -> None:
    for key in first:
        if json.dumps(first[key]) != json.dumps(second[key]):
            values = ", ".join(sorted(map(str, (first[key], second[key]))))
            raise UserError(f"these sweeps have several `study.{key}`: {values}; choose by `study.{key}=VALUE`")
