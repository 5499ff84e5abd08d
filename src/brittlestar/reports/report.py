"""The report on a sweep: sections of its study, the degradation curve, notes, methods, failed cells."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from brittlestar.reports.notes import varied_columns
from brittlestar.reports.overview import MOST_ROWS
from brittlestar.reports.sections import Section
from brittlestar.results.aggregate import Tables
from brittlestar.results.baseline_check import MISMATCH
from brittlestar.results.curve_intervals import BRACKET
from brittlestar.results.failures import failure_groups
from brittlestar.results.format import markdown
from brittlestar.results.rows import measures

_TITLE = "Degradation curve"
_MISSED = (
    "These policies miss their recorded return before anything disturbs them: their curves do not measure robustness."
)
_MOST_REWARDS = 12
_REWARDS = (
    "Cumulative reward against the step of the episode, at each strength: the mean over episodes and seeds, and the "
    "middle half of the episodes. An episode that has ended keeps its return."
)


@dataclass
class Report:
    """Sections of the study; overview and pictures of the sweep; notes on policies that miss their record; others.

    `protocol` is the section on the evaluation protocol.
    """

    sections: list[Section]
    overview: str
    pictures: list[str]
    missed: list[str]
    notes: list[str]
    protocol: str = ""
    rewards: list[str] = field(default_factory=list)
    """Names of pictures of the reward over time."""
    partial: list[str] = field(default_factory=list)
    """Lines on sweeps whose cells have not all ended."""

    @property
    def all_pictures(self) -> list[str]:
        """Names of all pictures, in the order of the report."""
        return list(dict.fromkeys([*(name for part in self.sections for name in part.pictures), *self.pictures]))

    def markdown(self, tables: Tables) -> str:
        """Returns the report as Markdown."""
        parts = [f"# {title_of(self.sections)}"]
        parts += [f"**{line.removeprefix('note: ')}**" for line in self.partial]
        if self.missed:
            parts += [f"**Warning: {MISMATCH}.** {_MISSED}", _list(n.removeprefix("note: ") for n in self.missed)]
        varied, first = varied_columns(tables), tables.curve[0] if tables.curve else {}
        parts += [_list(f"{c}: {first[c]}" for c in tables.grouping.columns if first and c not in varied)]
        for number, section in enumerate(self.sections):
            parts += [f"## {section.title}"] if number else []
            parts += [*map(_picture, section.pictures), section.body]
        parts += [f"## {_TITLE}"] if self.sections and self.overview else []
        pictures = [name for name in self.all_pictures if not any(name in part.pictures for part in self.sections)]
        parts += [*map(_picture, pictures), self.overview, _list(self.notes), *_methods(tables)]
        parts += [*self._rewards(), *_failures(tables)]
        parts += [self.protocol]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _rewards(self) -> list[str]:
        if not self.rewards:
            return []
        more = len(self.rewards) - _MOST_REWARDS
        line = f"{more} more pictures are in the folders of their environments." if more > 0 else ""
        return ["## Reward over time", _REWARDS, *map(_picture, self.rewards[:_MOST_REWARDS]), line]


def title_of(sections: list[Section]) -> str:
    """Returns the title of a report: that of the study, if there is one."""
    return sections[0].title if sections else _TITLE


def _picture(name: str) -> str:
    return f"![{name}]({name}.png)"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _methods(tables: Tables) -> list[str]:
    measured = sorted({row[f"{m}_method"] for row in tables.curve for m in measures(row)})
    summarised = sorted({row["interval_method"] for row in tables.summary})
    lines = {"Intervals": measured, "Summary intervals": summarised}
    texts = [f"{name}: {'; '.join(methods)}." for name, methods in lines.items() if methods]
    is_crossed = any(not math.isnan(row["threshold"]) for row in tables.summary)
    return [*texts, f"{BRACKET}."] if is_crossed else texts


def _failures(tables: Tables) -> list[str]:
    if not tables.failures:
        return []
    groups = markdown(failure_groups(tables.failures)[:MOST_ROWS], ["cells", "error", "overrides", "first"])
    return ["## Failed cells", groups, "One row per cell: failures.csv."]
