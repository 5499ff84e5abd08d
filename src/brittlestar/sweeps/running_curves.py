"""The results of a sweep so far, by curve: from the rows of cells as they end, without reading a file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from brittlestar.cells.record import EPISODES, Record

FINAL = "success_final"
_BARE = ("env", "policy", "perturbation", "model")
"""Keys whose values need no word before them."""


@dataclass
class RunningCurve:
    """The cells of one curve so far."""

    name: str
    sums: dict[float, tuple[float, int]] = field(default_factory=dict)
    """Sum and number of episodes by strength."""
    order: int = 0
    """The number of the last cell that ended, in the order of ends."""

    def add(self, strength: float, total: float, count: int) -> None:
        """Adds the episodes of a cell."""
        before = self.sums.get(strength, (0.0, 0))
        self.sums[strength] = before[0] + total, before[1] + count

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return sum(count for _, count in self.sums.values())

    @property
    def mean(self) -> float:
        """The mean over all episodes."""
        return sum(total for total, _ in self.sums.values()) / max(self.episodes, 1)

    def at(self, strengths: Sequence[float]) -> list[float]:
        """Returns the mean at some strengths; nan where no episode has ended."""
        pairs = (self.sums.get(strength, (math.nan, 1)) for strength in strengths)
        return [total / max(count, 1) for total, count in pairs]


class RunningCurves:
    """Sums up cells by curve, which the overrides of the jobs distinguish, except for seed and strength."""

    def __init__(self, jobs: Sequence[Any] = ()) -> None:
        counts = Counter(text for job in jobs for text in job.overrides)
        self._varied = {text for text, count in counts.items() if count < len(jobs)}
        self.curves: dict[tuple[str, ...], RunningCurve] = {}
        self.measure, self.strength_name = "", ""
        self._count = 0

    @property
    def strengths(self) -> list[float]:
        """The strengths of the cells that ended, from the clean end on."""
        return sorted({strength for curve in list(self.curves.values()) for strength in list(curve.sums)}, key=abs)

    def add(self, job: Any, record: Record | None) -> None:
        """Adds the result of a job; a cell that a study added, or one without a result, counts in no curve."""
        if record is None or job.config.get("role") is not None:
            return
        manifest, perturbation = record.manifest, job.perturbation
        strength_name = perturbation.strength_field or ""
        # A success that is lost again is none that counts.
        measure = FINAL if manifest["measure"].startswith("success") else manifest["measure"]
        if self.measure and measure != self.measure:
            # Numbers of two kinds share no axis.
            return
        self.measure, self.strength_name = measure, strength_name or self.strength_name
        values = record.arrays[EPISODES][:, list(manifest["columns"]).index(measure)]
        values = values[values == values]
        places = (f"perturbation.{strength_name}", "seed")
        key = tuple(text for text in job.overrides if text in self._varied and _key(text) not in places)
        if key not in self.curves:
            self.curves[key] = RunningCurve(", ".join(map(_name, key)) or str(job.choices.get("policy") or measure))
        self._count += 1
        self.curves[key].order = self._count
        self.curves[key].add(float(perturbation.strength or 0.0), float(values.sum()), len(values))

    def name_of(self, job: Any) -> str:
        """Names a cell by what distinguishes it from the others."""
        return " ".join(text for text in job.overrides if text in self._varied) or " ".join(job.overrides)

    def latest(self, most: int) -> list[RunningCurve]:
        """Returns the curves whose cells ended last, in the order of their first cells."""
        curves = list(self.curves.values())
        last = sorted(curves, key=lambda curve: -curve.order)[:most]
        return [curve for curve in curves if any(curve is other for other in last)]


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+")


def _name(override: str) -> str:
    """Names a curve by an override.

    Example:
        >>> _name("policy=zoo/sac"), _name("mitigation.alpha=0.3")
        ('zoo/sac', 'alpha 0.3')
    """
    key, value = _key(override), override.partition("=")[2]
    return value if key in _BARE else f"{key.rpartition('.')[2]} {value}"
