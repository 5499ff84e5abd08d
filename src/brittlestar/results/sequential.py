"""Is A better than B, by tests that hold at every look? Strength by strength, on episodes that both share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.errors import UserError, listed
from brittlestar.results.compare import HIGHER_IS_BETTER, shared_values
from brittlestar.results.difference import Sides
from brittlestar.results.load import Cell, Row
from brittlestar.statistics.hypothesis_tests import SIGNIFICANCE
from brittlestar.statistics.pair_race import PairRule, decide, pairs_left

PEEKING = (
    "The fixed tests of `compare` hold for one look, at a number of episodes chosen in advance. With a look after "
    "every pair and a stop at the first p < 0.05, they name a winner among equal policies in 22 to 30 % of races of "
    "500 pairs. The tests here hold at every look: you may stop, or add seeds, at any time."
)


@dataclass
class SequentialComparison:
    """`levels` has a row for each strength: A minus B over the pairs up to the decision, of those that both share."""

    names: tuple[str, str]
    measure: str
    alpha: float
    levels: list[Row]

    @property
    def verdict(self) -> str:
        """The result in one line."""
        a, b = self.names
        more = [row["strength"] for row in self.levels if row["decision"] == "A"]
        less = [row["strength"] for row in self.levels if row["decision"] == "B"]
        word = "better" if self.measure in HIGHER_IS_BETTER else f"higher in {self.measure}"
        parts = [f"A ({a}) is {word} at {_listed(more)}"] * bool(more)
        parts += [f"B ({b}) is {word} at {_listed(less)}"] * bool(less)
        rest = len(self.levels) - len(more) - len(less)
        parts += [f"not decided at {rest} of {len(self.levels)} strengths"] * bool(rest)
        return "; ".join(parts)


def compare_sequentially(
    a: list[Cell], b: list[Cell], names: tuple[str, str], measure: str | None, limits: tuple[float, float] | None = None
) -> SequentialComparison:
    """Compares the finished cells of two curves, pair by pair in the order of seeds and episodes.

    Args:
        a: cells of one curve.
        b: cells of the other.
        names: of both, for the verdict.
        measure: column to compare; None for the headline.
        limits: least and greatest value of the measure, where its range is not known.
    """
    measure = measure or str(a[0].manifest["measure"])
    seeds = {cell.seed for cell in a} & {cell.seed for cell in b}
    # Without a shared seed, `shared_values` names any other difference first.
    a, b = ([cell for cell in cells if cell.seed in seeds or not seeds] for cells in (a, b))
    sides = shared_values(a, b, measure)
    if not sides.paired:
        raise UserError("A and B share no episodes: `--sequential` compares pairs, so sweep both with the same seeds")
    low, high = limits or sides.span[:2]
    if not math.isfinite(high - low):
        raise UserError(
            f"the range of `{measure}` is not known: add `--range LOW HIGH`, the least and the greatest value that an "
            "episode can have"
        )
    rule = PairRule(SIGNIFICANCE / len(sides.strengths), bound=high - low)
    rows = [_level(sides.at([i]), rule, (low, high), measure) for i in range(len(sides.strengths))]
    return SequentialComparison(names, measure, SIGNIFICANCE, rows)


def _level(sides: Sides, rule: PairRule, limits: tuple[float, float], measure: str) -> Row:
    """Returns the race of both sides at one strength."""
    values = np.array([sides.a[0].ravel(), sides.b[0].ravel()])
    a, b = values[:, ~np.isnan(values).any(axis=0)]
    if a.size and (min(a.min(), b.min()) < limits[0] or max(a.max(), b.max()) > limits[1]):
        bounds = f"[{limits[0]:g}, {limits[1]:g}]"
        raise UserError(f"`{measure}` has values outside of {bounds}: set `--range LOW HIGH` to hold all of them")
    decision = decide(a - b, rule)
    more = math.inf if decision.sign else pairs_left(a - b, rule)
    return {
        "strength": sides.strengths[0], "shared_pairs": a.size, "pairs": decision.pairs,
        "a": _mean(a[: decision.pairs]), "b": _mean(b[: decision.pairs]),
        "difference": decision.difference, "low": decision.interval.low, "high": decision.interval.high,
        "decision": {1: "A", -1: "B", 0: "none"}[decision.sign],
        "more_pairs": more if math.isfinite(more) else None,
    }  # fmt: skip


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else math.nan


def _listed(strengths: list[Any]) -> str:
    return listed("strength", (f"{strength:g}" for strength in strengths), most=len(strengths))
