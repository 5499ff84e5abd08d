"""Prints results: in a terminal with colours and tables that fit its width, elsewhere as they are."""

from __future__ import annotations

import csv
import itertools
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.sweeps.screen import cropped, is_screen, terminal_columns

if TYPE_CHECKING:
    from rich.text import Text

_GAP = "  "
_LEAST_IMPORTANT = (
    "instability", "recovery_time", "time_to_failure", "time_to_success", "action_divergence", "collision_any",
    "final_distance", "smoothness", "worst", "normalised_auc", "slope", "n_seeds", "baseline_check", "critical",
    "incapable", "return", "n_episodes", "auc", "baseline", "success_any",
)  # fmt: skip
"""Columns that a narrow terminal leaves out, these first; then the others from the right, except for the first two."""
_SHORTEST_TEXT = 8
_INTERVAL = re.compile(r" ?\[[^\]]*\]$")


@dataclass
class TextTable:
    """A Markdown table: its columns by name, and which of them hold numbers."""

    columns: dict[str, list[str]]
    is_right: dict[str, bool]

    def __post_init__(self) -> None:
        self.heads = {name: name for name in self.columns}
        """The names of columns as they are printed."""

    @property
    def width(self) -> int:
        """The width of its rows."""
        return sum(map(self._width, self.columns)) + len(_GAP) * (len(self.columns) - 1)

    def _width(self, name: str) -> int:
        return max(map(len, [self.heads[name], *self.columns[name]]))

    def rows(self) -> list[list[str]]:
        """Returns the padded cells of each row, the header first."""
        padded = []
        for name, cells in self.columns.items():
            width, right = self._width(name), self.is_right[name]
            padded.append([cell.rjust(width) if right else cell.ljust(width) for cell in (self.heads[name], *cells)])
        return [list(row) for row in zip(*padded, strict=True)]

    def fit(self, width: int) -> tuple[list[str], list[str]]:
        """Makes the table as narrow as a width, and returns the columns left out and those with texts cut."""
        left_out, shortened = list[str](), list[str]()
        for name in [name for name in _LEAST_IMPORTANT if name in self.columns]:
            if self.width > width and len(self.columns) > 2:
                left_out.append(name)
                del self.columns[name]
        is_text = {name: not self.is_right[name] and not _has_intervals(self.columns[name]) for name in self.columns}
        for name in sorted(self.columns, key=lambda name: (not is_text[name], -self._width(name))):
            excess = self.width - width
            if excess > 0:
                before = self.columns[name]
                most = max(_SHORTEST_TEXT, self._width(name) - excess)
                self.columns[name] = (
                    _cropped_cells(before, most) if is_text[name] else [*map(_without_interval, before)]
                )
                self.heads[name] = cropped(name, max(_SHORTEST_TEXT, most, *map(len, self.columns[name])))
                shortened += [name] if before != self.columns[name] else []
        for name in list(self.columns)[:1:-1]:
            if self.width > width:
                left_out.append(name)
                del self.columns[name]
        return left_out, [name for name in shortened if name in self.columns]


def _cropped_cells(cells: list[str], most: int) -> list[str]:
    """Returns cells that fit; their ends are kept if only these distinguish them, as with paths.

    Example:
        >>> _cropped_cells(["outputs/first", "outputs/second"], 8), _cropped_cells(["p_controller", "random"], 8)
        (['…s/first', '…/second'], ['p_contr…', 'random'])
    """
    heads = [cropped(cell, most) for cell in cells]
    if len({*heads}) == len({*cells}):
        return heads
    return [cell if len(cell) <= most else "…" + cell[len(cell) - most + 1 :] for cell in cells]


def _has_intervals(cells: list[str]) -> bool:
    return any(_INTERVAL.search(cell) for cell in cells)


def _without_interval(cell: str) -> str:
    return _INTERVAL.sub("", cell) or cell


def read_table(lines: list[str]) -> TextTable | None:
    """Reads a Markdown table whose columns are padded; None if the lines are not one.

    Example:
        >>> read_table(["| sigma | policy |", "|------:|--------|", "|  0.05 | a | b  |"]).columns
        {'sigma': ['0.05'], 'policy': ['a | b']}
    """
    if len(lines) < 2 or not re.fullmatch(r"(\|-+:?)+\|", lines[1]) or len({*map(len, lines)}) > 1:
        return None
    edges = [i for i, letter in enumerate(lines[1]) if letter == "|"]
    places = list(itertools.pairwise(edges))
    head, _, *body = [[line[a + 1 : b].strip().replace("\\|", "|") for a, b in places] for line in lines]
    if len({*head}) < len(head):
        return None
    columns = {name: [row[i] for row in body] for i, name in enumerate(head)}
    return TextTable(columns, {name: lines[1][b - 1] == ":" for name, (_, b) in zip(head, places, strict=True)})


def print_text(text: str, folder: Path | None = None) -> None:
    """Prints a text with Markdown tables to the standard output; `folder` has their files."""
    if not is_screen(sys.stdout):
        print(text, flush=True)
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    for line in styled_lines(text, terminal_columns(sys.stdout), folder):
        console.print(line, soft_wrap=True)
    sys.stdout.flush()


def styled_lines(text: str, width: int, folder: Path | None = None) -> list[Text]:
    """Returns the lines of a text with Markdown tables for a terminal: tables fit its width."""
    from rich.text import Text

    styled = []
    for block in _blocks(text):
        table = read_table(block)
        lines = _table_lines(table, width, folder) if table is not None else _plain_lines(block[0], width)
        for line, style in lines:
            styled.append(Text(line, style))
            if table is not None:
                styled[-1].highlight_regex(r"\[[^\]]*\]", "dim")
    return styled


def _plain_lines(line: str, width: int) -> list[tuple[str, str]]:
    """Returns a line with its style; a note is wrapped between words, a path is not, so that it can be copied."""
    return [(part, "yellow") for part in _wrapped(line, width)] if line.startswith("note: ") else [(line, "")]


def _table_lines(table: TextTable, width: int, folder: Path | None) -> list[tuple[str, str]]:
    left_out, shortened = table.fit(width)
    rows = [cropped(_GAP.join(row).rstrip(), width) for row in table.rows()]
    changes = {"left out": left_out, "cut": shortened}
    texts = [f"{word}: {', '.join(names)}" for word, names in changes.items() if names]
    texts += [_place_of([*left_out, *shortened], list(table.columns), folder)] if texts else []
    notes = _wrapped(f"({'; '.join(texts)})", width) if texts else []
    return [(row, "" if number else "bold") for number, row in enumerate(rows)] + [(note, "dim") for note in notes]


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)


def _blocks(text: str) -> list[list[str]]:
    """Returns the lines of a text; those of a table are one block."""
    blocks: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith("|") and blocks and blocks[-1][0].startswith("|"):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return [part for block in blocks for part in ([block] if read_table(block) else [[line] for line in block])]


def _place_of(names: list[str], shown: list[str], folder: Path | None) -> str:
    """Returns where a reader finds columns: in a file that has them all, or in the text that a pipe gets."""
    matches = []
    for path in sorted(folder.glob("*.csv")) if folder else ():
        with open(path, newline="") as file:
            header = next(csv.reader(file), [])
        if {*names} <= {*header}:
            matches.append((len({*shown} & {*header}), str(path)))
    if not matches:
        return "`| cat` shows them"
    most = max(count for count, _ in matches)
    return f"see {next(path for count, path in matches if count == most)}"
