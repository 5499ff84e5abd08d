"""Joint perception as a study: two or three axes at once, beside what the product of the single axes promises."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from brittlestar.cells.job import Job
from brittlestar.config.compositions import compose_words
from brittlestar.errors import UserError, nearest, require
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.studies.perception.charts import joint_charts
from brittlestar.studies.perception.contact_sheet import draw_contact_sheet, first_seed
from brittlestar.studies.perception.joint_maps import LEGEND, draw_joint
from brittlestar.studies.perception.joint_scores import JOINT_METHODS, JointScores, Place, score_joint
from brittlestar.studies.perception.study import LIMITS, Perception
from brittlestar.studies.perception.swept_cells import (
    SweptPolicy,
    agents_of,
    check_cell,
    successes_of,
    varied_columns_before,
)
from brittlestar.studies.perception.training_ranges import NEW, NOT_KNOWN, SEEN_BEFORE, was_trained

JOINT, VOLUME, MAP, JOINT_SHEET = "perception_joint", "perception_volume", "joint_map", "joint_sheet"
_LIMITS = [
    "An episode that is hard under every axis raises joint success above the product: the difference holds what axes "
    "share in an episode as well as what they do to each other.",
    "The draws of an axis are those of a composition, other ones than in `experiment=perception`.",
]
_NO_PROMISE = "No combination has a promise: that needs success at level 0, and no failed cells."
_COLUMNS = ("measured", "promised", "measured - promised", "p_holm", "verdict", "in_training")
_MOST_ROWS = 20


@dataclass
class JointPerception(Perception):
    """Adds a cell for every combination of levels of some axes to each cell of a sweep.

    Attributes:
        joint: names of two or three of the axes.
        steps: levels of each of them, 0 and 1 among them.
    """

    steps: int = 4
    joint: list[str] = field(default_factory=lambda: ["light", "view"])

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.joint:
            if name not in self._axes:
                raise UserError(f"`study.joint`: there is no axis {name!r}; {nearest(name, self._axes)}")
        self._axes = {name: self._axes[name] for name in self.joint}
        options = {axis.perturbation for axis in self._axes.values()}
        valid = len(options) == len(self.joint) in (2, 3)
        require(valid, "study.joint", "two or three axes with different perturbations", self.joint)
        self._levels = [axis.levels for axis in self._axes.values()]

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        """Returns a cell for every combination of levels, in which each axis has the same draws as alone."""
        extra, axes = [], list(self._axes.values())
        words = compose_words("perturbation", [axis.perturbation for axis in axes])
        for cell in cells:
            check_cell(cell)
            for strengths in itertools.product(*(axis.strengths for axis in axes)):
                values = [
                    f"perturbation.parts.{axis.perturbation}.{axis.strength}={strength}"
                    for axis, strength in zip(axes, strengths, strict=True)
                ]
                extra.append(replace(cell, overrides=[*cell.overrides, *words, *values]))
        return extra

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `perception_joint`, `perception_volume`, maps and a contact sheet."""
        swept = [cell for cell in cells if cell.role is None and self._place(cell)]
        agents = agents_of(swept, self._axes) if any(cell.done for cell in swept) else []
        scored = [(agent, score_joint(self._cells(agent), self._levels)) for agent in agents if first_seed(agent.cells)]
        if not scored:
            return []
        rows = [row for agent, scores in scored for row in self._rows(agent, scores)]
        volumes = [agent.label | _volume(scores) for agent, scores in scored]
        write_rows(rows, out / JOINT)
        write_rows(volumes, out / VOLUME)
        pictures = draw_joint(scored, self._axes, out / MAP)
        pictures += draw_contact_sheet(self._frames(scored[0][0]), out / JOINT_SHEET)
        body = "\n\n".join([_volume_table(volumes), self._table(rows), LEGEND])
        maps = [name for name in pictures if name.startswith(MAP)]
        limits, charts = [*_LIMITS, *LIMITS], joint_charts(scored, self._axes, maps)
        return [Section("Joint perception", body, pictures, [JOINT, VOLUME], JOINT_METHODS, limits, charts)]

    def _place(self, cell: Cell) -> Place:
        """Returns the levels of a cell; empty for one that is not of the grid."""
        parts, place = cell.setting("perturbation").get("parts") or {}, []
        for axis in self._axes.values():
            levels = dict(zip(axis.strengths, axis.levels, strict=True))
            strength = parts.get(axis.perturbation, {}).get(axis.strength)
            if strength not in levels:
                return ()
            place.append(levels[strength])
        return tuple(place)

    def _cells(self, agent: SweptPolicy) -> dict[Place, dict[int, np.ndarray]]:
        """Returns the success of every episode of finished cells, by levels and seed."""
        successes: dict[Place, dict[int, np.ndarray]] = {}
        for cell in agent.cells:
            if cell.done:
                successes.setdefault(self._place(cell), {})[cell.seed] = successes_of(cell)
        return successes

    def _frames(self, agent: SweptPolicy) -> dict[str, list[tuple[str, Cell]]]:
        """Returns the cells of a contact sheet: the levels of the first two axes, the last level on top."""
        places = {self._place(cell): cell for cell in first_seed(agent.cells)}
        (first, x), (second, y) = list(self._axes.items())[:2]
        rest = (0.0,) * (len(self._axes) - 2)
        rows = {}
        for along, strength in reversed(list(zip(y.levels, y.strengths, strict=True))):
            line = [
                (f"{first} {text(s)}", (level, along, *rest)) for level, s in zip(x.levels, x.strengths, strict=True)
            ]
            rows[f"{second} {text(strength)}"] = [(title, places[place]) for title, place in line if place in places]
        return rows

    def _rows(self, agent: SweptPolicy, scores: JointScores) -> list[Row]:
        """Returns a row for every combination; one of a failed cell has no numbers."""
        rows = []
        for place in itertools.product(*self._levels):
            row = agent.label | dict(zip(self._axes, place, strict=True))
            marks = set()
            for (name, axis), level in zip(self._axes.items(), place, strict=True):
                strength = axis.strengths[axis.levels.index(level)]
                row[f"{axis.perturbation}.{axis.strength}"] = strength
                marks.add(was_trained(strength, agent.trained[name]))
            if place in scores.gaps:
                row |= {"episodes": scores.episodes} | scores.gaps[place].as_row("success")
                row |= {"p_holm": scores.p_holm.get(place), "verdict": scores.verdict(place)}
            rows.append(row | {"in_training": next(mark for mark in (NEW, NOT_KNOWN, SEEN_BEFORE) if mark in marks)})
        return rows

    def _table(self, rows: list[Row]) -> str:
        """Returns the combinations with the greatest differences as Markdown."""
        varied = varied_columns_before(rows, next(iter(self._axes)))
        known = [row for row in rows if row.get("verdict")]
        known.sort(key=lambda row: -abs(row["difference"]))
        heads = {"success": "measured", "difference": "measured - promised"}
        shown = [row | {head: bounded_column(row, name) for name, head in heads.items()} for row in known[:_MOST_ROWS]]
        more = f"\n\n{len(known) - _MOST_ROWS} more combinations: {JOINT}.csv" if len(known) > _MOST_ROWS else ""
        return markdown(shown, [*varied, *self._axes, *_COLUMNS]) + more if shown else _NO_PROMISE


def _volume(scores: JointScores) -> Row:
    return {"volume": None} if scores.volume is None else scores.volume.as_row("volume") | {"episodes": scores.episodes}


def _volume_table(rows: list[Row]) -> str:
    """Returns the volumes of all policies as Markdown."""
    heads = {"volume": "volume", "difference": "volume - promised"}
    shown = [row | {head: bounded_column(row, name) for name, head in heads.items()} for row in rows]
    varied = varied_columns_before(rows, "volume")
    return markdown(shown, [*varied, "volume", "promised", "volume - promised", "p"])
