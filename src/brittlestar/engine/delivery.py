"""Proof of delivery: what a perturbation changed in a cell."""

from typing import Any

import numpy as np

from brittlestar.engine.look import SCENE_CHANGED
from brittlestar.engine.plan import Rows
from brittlestar.errors import HarnessError
from brittlestar.perturbations import ComposedPerturbation, Perturbation
from brittlestar.perturbations.compose import DELIVERED
from brittlestar.perturbations.world import WORLD_CHANGE
from brittlestar.schedules import StressSchedule

MEASURES = ("observation_change", "observation_touched", "action_change", "reward_change")
"""Columns of an episode row that hold the change of a channel."""
_PROOFS = (*MEASURES, WORLD_CHANGE, SCENE_CHANGED)
"""What is measured from outside, and edits of the simulator; perturbations report the other effects themselves."""
BOOKKEEPING = ("violation", "regret")
"""Effects that a stressor reports about how badly it treats the policy; only the published stress scores use them."""


class EffectLog:
    """Turns what is reported step by step into means over episodes.

    Example:
        >>> log = EffectLog(episodes=1, lanes=1)
        >>> for share in (0.0, 0.5):
        ...     log.add_step({"masked": np.array([share])})
        >>> log.end(lane=0, episode=0, length=2)
        >>> log.means["masked"].tolist()
        [0.25]
    """

    def __init__(self, episodes: int, lanes: int) -> None:
        self.means: dict[str, np.ndarray] = {}
        self._sums: dict[str, np.ndarray] = {}
        self._episodes, self._lanes = episodes, lanes

    def begin(self, lane: int) -> None:
        """Clears a lane."""
        for sums in self._sums.values():
            sums[lane] = 0

    def add_step(self, effects: dict[str, np.ndarray]) -> None:
        """Adds what was reported in one step."""
        for name, values in effects.items():
            if name not in self._sums:
                self._sums[name], self.means[name] = np.zeros(self._lanes), np.zeros(self._episodes)
            self._sums[name] += values

    def end(self, lane: int, episode: int, length: int) -> None:
        """Writes the means of a finished episode."""
        for name, sums in self._sums.items():
            self.means[name][episode] = sums[lane] / length


def measure(perturbation: Perturbation, rows: Rows, schedule: StressSchedule | None = None) -> dict[str, float | None]:
    """Returns how much the perturbation changed, over all episodes of a cell; None in a channel that it never touches.

    Raises a `HarnessError` if a strength above 0, or a part of a composition, changed nothing: that would look like
    robustness. It may change nothing where it has an `idle_reason`.
    """
    delivered: dict[str, float | None] = {}
    for name in MEASURES:
        values = rows.column(name)
        # Missing in episodes before the first change, and in all episodes where the channel is never changed.
        is_missing = np.isnan(values).all()
        delivered[name] = None if is_missing else float(np.sqrt(np.mean(np.nan_to_num(values) ** 2)))
    delivered |= {name: float(np.mean(values)) for name, values in rows.effects.items()}
    may_be_idle = perturbation.is_identity or perturbation.idle_reason
    if not may_be_idle and not any(delivered.get(name) for name in _PROOFS):
        raise HarnessError(
            f"{type(perturbation).__name__} with {perturbation.strength_field} = {perturbation.strength} changed "
            f"nothing: {_why(schedule, rows)}. Its result would pass for robustness; `perturbation=none` is without any"
        )
    parts = perturbation.acting if isinstance(perturbation, ComposedPerturbation) else {}
    for name, part in parts.items():
        may_be_idle = perturbation.is_identity or part.is_identity or part.idle_reason
        if not may_be_idle and not delivered.get(DELIVERED + name):
            raise HarnessError(f"the part `{name}` of the composition changed nothing: its effect would pass for none")
    return delivered


def _why(schedule: StressSchedule | None, rows: Rows) -> str:
    lengths = rows.column("length").astype(np.int64)
    if schedule is not None and not any(
        schedule.levels(np.full(length, episode), np.arange(length)).any() for episode, length in enumerate(lengths)
    ):
        return f"the schedule {type(schedule).__name__} does not start within {len(lengths)} episodes of these lengths"
    return "no observation, no action, no reward and no model"


def result_notes(policy: Any, perturbation: Perturbation, rows: Rows) -> list[str]:
    """Returns what a reader of a result should know: notes of the policy, of the perturbation and of the rollout."""
    idle = perturbation.idle_reason
    return [*policy.notes, *([f"a level without effect: {idle}"] if idle else ()), *rows.notes]
