"""The differences of two sweeps as Markdown and as files."""

import dataclasses
import json
from pathlib import Path

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError, counted
from brittlestar.reports.overview import MOST_ROWS
from brittlestar.results.diff import CHANGED, GAIN, REGRESSION, SAME, UNDECIDED_CHANGE, SweepDiff
from brittlestar.results.format import bounded, markdown, text
from brittlestar.results.load import Row

_PLURALS = {REGRESSION: "regressions", GAIN: "gains", CHANGED: "other changes", UNDECIDED_CHANGE: "not decided"}


def diff_markdown(result: SweepDiff, old: str, new: str) -> str:
    """Returns the differences as Markdown: what is worse or better, what only one sweep has, what changed around it."""
    rows = [_shown(row) for row in result.rows[:MOST_ROWS]]
    names = {row["strength_name"] for row in result.rows}
    level = names.pop() or "level" if len(names) == 1 else "level"
    rows = [row | {level: row["level"]} for row in rows]
    columns = [c for c in ("curve", "measure") if len({row[c] for row in result.rows}) > 1]
    more = len(result.rows) - MOST_ROWS
    parts = [
        f"# {diff_verdict(result)}",
        f"Old: {old}\nNew: {new}",
        markdown(rows, [*columns, level, "old", "new", "new - old [interval]", "p (Holm)", "verdict"]),
        f"{more} more rows in diff.csv" if more > 0 else "",
        _list("Only in the old sweep", result.only_old),
        _list("Only in the new sweep", result.only_new),
        _list("Changed between the sweeps", result.changes),
        _list("Notes", result.notes),
        f"Holm's method adjusts p over {counted(len(result.rows), 'comparison')}; a difference counts below 0.05. "
        "p is over episodes. Intervals have 95 % each, and cover how seeds differ: with few seeds they are wide.",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def diff_verdict(result: SweepDiff) -> str:
    """Returns how many comparisons became worse or better, in one line."""
    counts = {verdict: result.count(verdict) for verdict in (REGRESSION, GAIN, CHANGED, UNDECIDED_CHANGE, SAME)}
    if counts[SAME] == len(result.rows):
        return "the same results in every episode"
    words = [
        f"{n} {verdict if n == 1 else _PLURALS.get(verdict, verdict)}"
        for verdict, n in counts.items()
        if n or verdict == REGRESSION
    ]
    return ", ".join(words)


def write_diff(result: SweepDiff, page: str, folder: Path) -> None:
    """Writes the differences as Markdown, CSV, JSON and Parquet."""
    from brittlestar.results.write import write_rows

    try:
        make_folder(folder)
        write_rows([row | {"level": str(row["level"])} for row in result.rows], folder / "diff")
        (folder / "diff.md").write_text(page)
        (folder / "diff.json").write_text(diff_json(result))
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror or error}") from None


def diff_json(result: SweepDiff) -> str:
    """Returns the differences as JSON."""
    return json.dumps(dataclasses.asdict(result), indent=1) + "\n"


def _shown(row: Row) -> Row:
    difference = bounded(row["difference"], row["low"], row["high"], "+.4f")
    return row | {"new - old [interval]": difference, "p (Holm)": text(row["p_holm"])}


def _list(title: str, lines: list[str]) -> str:
    return f"{title}:\n" + "\n".join(f"- {line}" for line in lines) if lines else ""
