"""Chooses the strength to train at: the largest one at which the policy still succeeds."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import make_folder, write_file
from brittlestar.errors import UserError
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Cell

FILE = "choice.json"


@dataclass
class Choice:
    """The strength to train at, and the reason for it."""

    level: float
    reason: str
    measure: str
    means: Mapping[Any, float]
    """Mean of the measure at every level; the levels are text, as in JSON."""

    def __post_init__(self) -> None:
        self.means = {str(level): mean for level, mean in self.means.items()}


def level_means(cells: list[Cell], measure: str) -> dict[float, float]:
    """Returns the mean of a measure over all episodes at each level, from the clean end."""
    values: dict[float, list[np.ndarray]] = {}
    for cell in sorted(cells, key=lambda cell: abs(cell.strength)):
        values.setdefault(cell.strength, []).append(cell.column(measure))
    return {level: float(np.nanmean(np.concatenate(columns))) for level, columns in values.items()}


def choose_level(means: dict[float, float], measure: str, share: float, strength: str) -> Choice:
    """Returns the largest level that keeps a share: of all episodes for a success rate, else of the clean return.

    Example:
        >>> choose_level({0: 1.0, 0.1: 0.95, 0.2: 0.4}, "success_any", 0.9, "sigma").level
        0.1
        >>> choose_level({0: -100.0, 0.1: -109.0, 0.2: -300.0}, "return", 0.9, "sigma").reason
        'return -109 there, -100 clean; at least -110 wanted: no success is defined, so 90 % of the clean return count'
    """
    clean = means[0]
    needed = share if measure in RATES else clean - (1 - share) * abs(clean)
    if clean < needed or (measure == "normalised_return" and clean <= 0):
        raise UserError(f"the policy fails already at level 0: {_incapable(clean, measure, share)}")
    enough = [level for level, value in means.items() if value >= needed and level != 0]
    if not enough:
        first = min(means, key=lambda level: (level == 0, abs(level)))
        raise UserError(
            f"no level of {strength} above 0 reaches {_wanted(measure, share)}: already {text(float(first))} leaves "
            f"{measure} {text(means[first])}; give finer `levels=[0,...]`, a lower `share=`, or `train_level=`"
        )
    level = max(enough, key=abs)
    reason = f"{measure} {text(means[level])} there, {text(clean)} clean; at least {text(float(needed))} wanted"
    if measure not in RATES:
        reason += f": no success is defined, so {share:.0%} of the clean return count".replace("%", " %")
    if level == max(means, key=abs):
        reason += "; the policy copes with all levels, so wider `levels` may be worth more"
    return Choice(level, reason, measure, means)


def read_choice(folder: Path, choosing: str) -> Choice | None:
    """Returns the choice that an earlier run wrote to a folder; None if the digest of what decides differs."""
    try:
        record = json.loads((folder / FILE).read_text())
        return Choice(**record["choice"]) if record["choosing"] == choosing else None
    except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
        return None


def write_choice(folder: Path, choosing: str, choice: Choice) -> None:
    """Writes a choice to a folder, whole or not at all."""
    make_folder(folder)
    record = json.dumps({"choosing": choosing, "choice": dataclasses.asdict(choice)}, indent=1)
    write_file(folder / FILE, record + "\n")


def _wanted(measure: str, share: float) -> str:
    percent = f"{100 * share:g} %"
    return f"{percent} success" if measure in RATES else f"{percent} of the clean return"


def _incapable(clean: float, measure: str, share: float) -> str:
    wanted, share_option = "no better than random actions (0)", ""
    if measure in RATES:
        wanted, share_option = f"{share:g} is wanted", "lower `share=` or a "
    train = f"train it first (`brittlestar train`), or give a {share_option}`train_level=`"
    return f"{measure} is {text(clean)}, {wanted}; {train}"
