"""Reward over time for a page: mean and band of every level, at few steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brittlestar.reports.page.curves import MOST_CURVES_ON_PAGE
from brittlestar.reports.page.numbers import rounded
from brittlestar.reports.verdicts import labelled_curves
from brittlestar.results.aggregate import Tables
from brittlestar.results.reward_curves import RewardCurve

_MOST_STEPS = 60
_MOST_NUMBERS = 60_000
_DIGITS = 4


def rewards_data(curves: Sequence[RewardCurve], tables: Tables) -> dict[str, Any]:
    """Returns the reward over time of every curve that has a record, by the place of the curve; the first ones."""
    places = {key: i for i, key in enumerate(labelled_curves(tables))}
    groups: dict[int, list[RewardCurve]] = {}
    for curve in curves:
        groups.setdefault(places[tuple(curve.label[c] for c in tables.grouping.columns)], []).append(curve)
    found, numbers = [], 0
    for place, members in groups.items():
        levels = [_level(curve) for curve in sorted(members, key=lambda curve: abs(curve.strength))]
        numbers += 4 * sum(len(level["steps"]) for level in levels)
        if numbers > _MOST_NUMBERS or place >= MOST_CURVES_ON_PAGE:
            break
        found.append({"curve": place, "strength": members[0].strength_name or "strength", "levels": levels})
    return {"curves": found, "left_out": len(groups) - len(found)}


def _level(curve: RewardCurve) -> dict[str, Any]:
    places = np.unique(np.linspace(0, len(curve.steps) - 1, _MOST_STEPS).round().astype(int))
    columns = {"steps": curve.steps, "mean": curve.mean, "low": curve.low, "high": curve.high}
    return {"level": curve.strength} | {name: rounded(v[places].tolist(), _DIGITS) for name, v in columns.items()}
