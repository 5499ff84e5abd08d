"""Which strength to train at: the largest one that the policy still copes with."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brittlestar.cells.files import make_folder, write_file
from brittlestar.errors import UserError
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Cell

FILE = "choice.json"


@dataclass
class Choice:
    """The strength to train at, and why."""

    level: float
    reason: str
    measure: str
    means: dict[str, float]
    """Mean of the measure at every level."""


def means(cells: list[Cell], measure: str) -> dict[float, float]:
    """Returns the mean of a measure over all episodes at each level, from the clean end."""
    values: dict[float, list[np.ndarray]] = {}
    for cell in sorted(cells, key=lambda cell: abs(cell.strength)):
        column = list(cell.manifest["columns"]).index(measure)
        values.setdefault(cell.strength, []).append(cell.rows()[:, column])
    return {level: float(np.nanmean(np.concatenate(rows))) for level, rows in values.items()}


def choose(found: dict[float, float], measure: str, share: float, strength: str) -> Choice:
    """Returns the largest level that keeps a share: of all episodes for a success rate, else of the clean return.

    Args:
        found: mean of the measure at each level, 0 first.
        measure: its name.
        share: between 0 and 1.
        strength: name of the strength.

    Example:
        >>> choose({0: 1.0, 0.1: 0.95, 0.2: 0.4}, "success_any", 0.9, "sigma").level
        0.1
        >>> choose({0: -100.0, 0.1: -109.0, 0.2: -300.0}, "return", 0.9, "sigma").reason
        'return -109 there, -100 clean; at least -110 wanted: no success is defined, so 90 % of the clean return count'
    """
    clean = found[0]
    needed = share if measure in RATES else clean - (1 - share) * abs(clean)
    if clean < needed or (measure == "normalised_return" and clean <= 0):
        raise UserError(_incapable(clean, measure, share))
    kept = [level for level, value in found.items() if value >= needed and level != 0]
    if not kept:
        first = min(found, key=lambda level: (level == 0, abs(level)))
        raise UserError(
            f"no level of {strength} above 0 reaches {_wanted(measure, share)}: already {text(float(first))} leaves "
            f"{measure} {text(found[first])}; give finer `levels=[0,...]`, a lower `share=`, or `train_level=`"
        )
    level = max(kept, key=abs)
    reason = f"{measure} {text(found[level])} there, {text(clean)} clean; at least {text(float(needed))} wanted"
    if measure not in RATES:
        reason += f": no success is defined, so {share:.0%} of the clean return count".replace("%", " %")
    if level == max(found, key=abs):
        reason += "; the policy copes with all levels, so wider `levels` may be worth more"
    return Choice(level, reason, measure, {str(level): value for level, value in found.items()})


def given(level: float | None, found: dict[float, float], measure: str) -> Choice | None:
    """Returns the level that the user gave, if any, as a choice."""
    if level is None:
        return None
    return Choice(level, "as asked for", measure, {str(level): value for level, value in found.items()})


def written(folder: Path, choosing: str) -> Choice | None:
    """Returns what was chosen before in a folder, if the same things decided it.

    Args:
        folder: of the hardening.
        choosing: digest of what decides.
    """
    try:
        noted = json.loads((folder / FILE).read_text())
        return Choice(**noted["choice"]) if noted["choosing"] == choosing else None
    except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
        return None


def write(folder: Path, choosing: str, choice: Choice) -> None:
    """Writes down what was chosen, whole or not at all."""
    make_folder(folder)
    text = json.dumps({"choosing": choosing, "choice": dataclasses.asdict(choice)}, indent=1)
    write_file(folder / FILE, text + "\n")


def _wanted(measure: str, share: float) -> str:
    percent = f"{100 * share:g} %"
    return f"{percent} success" if measure in RATES else f"{percent} of the clean return"


def _incapable(clean: float, measure: str, share: float) -> str:
    if measure in RATES:
        return (
            f"the policy fails already at level 0: {measure} is {text(clean)}, {share:g} is wanted; train it first "
            "(`brittlestar train`), or give a lower `share=` or a `train_level=`"
        )
    return (
        f"the policy fails already at level 0: {measure} is {text(clean)}, no better than random actions (0); train it "
        "first (`brittlestar train`), or give a `train_level=`"
    )
