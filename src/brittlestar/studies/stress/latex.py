"""Tables for a paper: LaTeX with booktabs rules, a caption and a label."""

import math
import re
from collections.abc import Sequence
from typing import Any

from brittlestar.results.format import brackets, is_missing
from brittlestar.results.load import Row

LONGEST = 40
"""A table with more rows is a longtable, over several pages."""
_SPECIAL = {
    " %": r"~\%",
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "−": r"$-$",
    "Δ": r"$\Delta$", "±": r"$\pm$", "α": r"$\alpha$",
}  # fmt: skip
_SMALL = r"\footnotesize\setlength{\tabcolsep}{3pt}"
_PATTERN = re.compile("|".join(map(re.escape, _SPECIAL)))


class Markup(str):
    """Text that is already LaTeX."""


def escape(text: str) -> Markup:
    """Returns text that LaTeX sets as it is.

    Example:
        >>> print(escape("sensor_blackout 50 % & more"))
        sensor\\_blackout 50~\\% \\& more
    """
    return Markup(_PATTERN.sub(lambda match: _SPECIAL[match.group()], text))


def latex_number(value: Any, digits: int = 2) -> Markup:
    """Returns a number with a fixed number of digits, and a dash for what is missing.

    Example:
        >>> print(latex_number(-0.126), latex_number(3), latex_number(float("nan")), latex_number(True))
        $-$0.13 3 -- yes
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Markup("--")
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    if isinstance(value, int):
        return Markup(str(value).replace("-", "$-$"))
    # No `-0.00`.
    return Markup(f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "$-$"))


def latex_bounded(row: Row, name: str, digits: int = 2) -> Markup:
    """Returns a number with its interval behind it, if it has one.

    Example:
        >>> print(latex_bounded({"rank": 2, "rank_low": 1, "rank_high": 3}, "rank"))
        2 {\\scriptsize [1, 3]}
    """
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    if is_missing(low):
        return latex_number(value, digits)
    return Markup(f"{latex_number(value, digits)} {interval(low, high, digits)}")


def interval(low: Any, high: Any, digits: int = 2) -> Markup:
    """Returns an interval in brackets, in small letters."""
    return Markup(rf"{{\scriptsize {brackets(low, high, lambda value: latex_number(value, digits))}}}")


def stacked(*lines: str) -> Markup:
    """Returns lines below each other in one cell.

    Example:
        >>> print(stacked("robust", "score"))
        \\shortstack{\\rule{0pt}{2.6ex}robust\\\\{score}}
    """
    # In braces: a bracket after a line break would be its argument. The rule keeps the row above at a distance.
    return Markup(
        r"\shortstack{\rule{0pt}{2.6ex}" + r"\\".join([lines[0], *(f"{{{line}}}" for line in lines[1:])]) + "}"
    )


def table(rows: Sequence[Sequence[Any]], heads: Sequence[str], caption: str, label: str, left: int = 1) -> str:
    """Returns a table; text is escaped unless it is `Markup`.

    A row of one cell is a heading for those below it. `label` is without `tab:`, and `left` columns are text.

    Example:
        >>> print(table([["a_b", 0.5]], ["agent", "rate"], "Rates.", "rates"))
        % needs \\usepackage{booktabs}
        \\begin{table}[t]
        \\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}
        \\caption{Rates.}
        \\label{tab:rates}
        \\begin{tabular}{lr}
        \\toprule
        agent & rate \\\\
        \\midrule
        a\\_b & 0.50 \\\\
        \\bottomrule
        \\end{tabular}
        \\end{table}
    """
    columns = "l" * left + "r" * (len(heads) - left)
    head, *body = (_line(cells, len(heads)) for cells in (heads, *rows))
    named = [rf"\caption{{{_cell(caption)}}}", rf"\label{{tab:{label}}}"]
    if len(rows) > LONGEST:
        lines = [r"% needs \usepackage{booktabs} and \usepackage{longtable}"]
        lines += [
            rf"{{{_SMALL}\setlength{{\LTcapwidth}}{{\linewidth}}",
            rf"\begin{{longtable}}{{{columns}}}",
            named[0] + named[1] + r"\\",
        ]
        lines += [r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"]
        return "\n".join([*lines, *body, r"\end{longtable}}"])
    lines = [r"% needs \usepackage{booktabs}", r"\begin{table}[t]", rf"\centering{_SMALL}", *named]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}", r"\end{table}"])


def _line(cells: Sequence[Any], columns: int) -> str:
    if len(cells) == 1 < columns:
        return rf"\addlinespace \multicolumn{{{columns}}}{{l}}{{\textit{{{_cell(cells[0])}}}}} \\"
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(value: Any) -> str:
    if isinstance(value, Markup):
        return value
    return escape(value) if isinstance(value, str) else latex_number(value)
