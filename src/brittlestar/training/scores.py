"""Evaluates what a training has so far, in environments that are made once."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.engine.evaluation import evaluate, make_lanes
from brittlestar.engine.rollout import Parts, Plan, Rows
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.context import Calibration
from brittlestar.policies.base import Policy
from brittlestar.results.format import bounded
from brittlestar.results.load import RATES
from brittlestar.statistics import stats
from brittlestar.training.normalising import random_pass
from brittlestar.training.spec import TrainingSpec

_OTHER_EPISODES = 10**6
"""Added to the seed: start states that the training does not see."""
_MOMENTS = ("mean", "std", "speed", "acceleration")
_NUMBERS = ("median_length", "reward_std")


class Scorer:
    """Runs policies by the engine, disturbed as in a training or clean."""

    def __init__(self, order: TrainingSpec, folder: Path) -> None:
        self.order, self._file = order, folder / "calibration.json"
        self._lanes: Any = None
        self.calibration: Calibration | None = None

    @property
    def is_disturbed(self) -> bool:
        """Whether anything stands between policy and environment in the training."""
        return not self.order.perturbation.is_identity or type(self.order.mitigation) is not Mitigation

    def calibrate(self) -> Calibration:
        """Returns what a clean pass of random actions measured; a training keeps it, however often it is resumed.

        A policy that is still to be trained cannot calibrate, as the evaluated one does in `brittlestar run`.
        """
        if self.calibration is None and self._file.is_file():
            kept = json.loads(self._file.read_text())
            moments = [{key: np.array(row) for key, row in kept[name].items()} for name in _MOMENTS]
            mean, std, speed, acceleration = moments
            self.calibration = Calibration(mean, std, speed, acceleration, *(kept[name] for name in _NUMBERS))
        if self.calibration is None:
            self.calibration = random_pass(self.order.env)
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self.calibrated()) + "\n")
        return self.calibration

    def calibrated(self) -> dict[str, Any] | None:
        """Returns the calibration as plain data; None where nothing asked for one."""
        if self.calibration is None:
            return None
        found = {name: getattr(self.calibration, name) for name in _MOMENTS}
        moments = {name: {key: array.tolist() for key, array in by_key.items()} for name, by_key in found.items()}
        return moments | {name: getattr(self.calibration, name) for name in _NUMBERS}

    def rows(self, policy: Policy, episodes: int, clean: bool = False) -> Rows:
        """Runs episodes."""
        order = self.order
        if self._lanes is None:
            self._lanes = make_lanes(order.env, 1, order.threads, needs_model=order.perturbation.needs_world)
        around = () if clean else copy.deepcopy((order.perturbation, order.mitigation, order.schedule))
        plan = Plan(episodes, seed=order.seed + _OTHER_EPISODES)
        # The calibration of the training, so that a policy is scored under what it learns under.
        return evaluate(self._lanes, Parts(policy, *around), plan, calibration=self.calibration)

    def close(self) -> None:
        """Closes the environments."""
        if self._lanes is not None:
            self._lanes.close()


def means(rows: Rows) -> dict[str, float]:
    """Returns mean return and success rates, without those that make no sense in the environment."""
    found = {name: rows.column(name) for name in ("return", *RATES)}
    return {name: float(np.mean(values)) for name, values in found.items() if np.isfinite(values).all()}


def with_intervals(rows: Rows) -> dict[str, Any]:
    """Returns mean return and success rates with 95 % intervals over episodes: Student t and Wilson, as in tables."""
    found: dict[str, Any] = {"episodes": len(rows.values)}
    for name, mean in means(rows).items():
        values = rows.column(name)
        if name in RATES:
            interval = stats.wilson(int(values.sum()), len(values))
            found[name] = {"mean": mean, "low": float(interval.low), "high": float(interval.high)}
        else:
            std = float(values.std(ddof=1))
            half = float(stats.t_half_width(std, len(values)))
            found[name] = {"mean": mean, "std": std, "low": mean - half, "high": mean + half}
    return found


def in_words(scores: dict[str, Any]) -> str:
    """Writes scores in a line.

    Example:
        >>> in_words({"episodes": 9, "success_any": {"mean": 0.5, "low": 0.25, "high": 0.75}})
        'success_any 50.0 % [25.0, 75.0], 9 episodes'
    """
    parts = []
    for name, each in scores.items():
        if name in RATES:
            mean, low, high = (100 * each[key] for key in ("mean", "low", "high"))
            parts.append(f"{name} {bounded(mean, low, high, '.1f', unit=' %')}")
        elif isinstance(each, dict):
            parts.append(f"{name} {bounded(each['mean'], each['low'], each['high'])}")
    return ", ".join([*parts, f"{scores['episodes']} episodes"])
