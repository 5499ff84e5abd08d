"""Areas of one policy against those of another, on the same episodes."""

from __future__ import annotations

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.format import bounded, markdown, text
from brittlestar.results.load import Row
from brittlestar.statistics.effects import paired_effect
from brittlestar.statistics.hypothesis_tests import SIGNIFICANCE, holm
from brittlestar.studies.perception.scores import PerceptionScores

DIFFERENCE_METHODS = [
    "Difference of two policies: the mean difference of the areas of the same episodes. Two tests must agree: signs "
    "flipped within seeds, and Student's t over episodes and seeds.",
    f"Decided: p below {SIGNIFICANCE:g} after Holm's correction over all rows of the table.",
]


def difference_rows(policies: dict[str, PerceptionScores]) -> list[Row]:
    """Returns a row for each axis of each policy but the first: its area minus that of the first.

    Policies with other seeds or episodes than the first have none.

    Example:
        >>> from brittlestar.studies.perception.scores import score
        >>> strong, weak = ({0.0: {0: np.ones(30)}, 1.0: {0: np.full(30, last)}} for last in (1, 0))
        >>> row = difference_rows({"weak": score({"light": weak}), "strong": score({"light": strong})})[0]
        >>> row["difference"], row["verdict"]
        (0.5, 'higher')
    """
    (first, reference), *others = policies.items()
    rows: list[Row] = []
    for name, scores in others:
        for axis, areas in scores.episode_areas.items():
            own, before = (_table(part) for part in (areas, reference.episode_areas.get(axis, {})))
            if own.shape != before.shape or areas.keys() != reference.episode_areas[axis].keys():
                continue
            effect = paired_effect(own, before, generator(0, f"perception/{name}/{axis}"))
            place: Row = {"policy": name, "minus": first, "axis": axis, "difference": effect.difference}
            rows.append(place | {"low": effect.low, "high": effect.high, "p": effect.p_value})
    for row, p in zip(rows, holm([row["p"] for row in rows]).tolist() if rows else [], strict=True):
        row["p_holm"], is_decided = p, p < SIGNIFICANCE
        row["verdict"] = ("higher" if row["difference"] > 0 else "lower") if is_decided else "undecided"
    return rows


def _table(areas: dict[int, np.ndarray]) -> np.ndarray:
    """Returns the areas of episodes, `(seeds, episodes)`; empty if seeds have different numbers of them."""
    is_even = len({len(values) for values in areas.values()}) == 1
    return np.stack([areas[seed] for seed in sorted(areas)]) if is_even else np.empty((0, 0))


def differences_table(rows: list[Row]) -> str:
    """Returns the rows as Markdown."""
    shown = [
        row | {"AUSC difference": bounded(row["difference"], row["low"], row["high"]), "p (Holm)": text(row["p_holm"])}
        for row in rows
    ]
    return markdown(shown, ["policy", "minus", "axis", "AUSC difference", "p (Holm)", "verdict"])
