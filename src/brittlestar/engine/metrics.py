"""Episode metrics, accumulated over all lanes at once while they roll."""

import copy
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.engine.lanes import Batch
from brittlestar.engine.motion import Jerk, Motion, Path, row_squares
from brittlestar.engine.recovery import Recovery
from brittlestar.engine.stack import Acted, Observed
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import goal_distance

_MOTION = ("smoothness", "peak_action", "action_energy")
_JERK = ("jerk_rms", "velocity_variance")
_MOTION_EXECUTED = tuple(f"{name}_executed" for name in _MOTION)

_SUMS = (
    "return", "return_observed", "in_success", "collisions", "observation", "touched", "action", "reward", "divergence",
)  # fmt: skip

COLUMNS = (
    "episode", "reset_seed", "phase", "length", "terminated", "truncated", "return", "normalised_return",
    "success_any", "success_final", "dwell", "solved_at_reset", "time_to_success", "cycle_time",
    "completion_fraction", "collision_any", "collision_rate", *_MOTION, *_MOTION_EXECUTED, *_JERK, "path_length",
    "path_length_observed", "final_distance", "time_to_failure", "recovery_time", "return_observed",
    "action_divergence", "observation_change", "observation_touched", "action_change", "reward_change",
)  # fmt: skip
"""Columns of an episode row. A metric without a meaning in an environment is missing (nan), never zero."""


class EpisodeMetrics:
    """Everything an episode row holds, for lanes that start and end at different times."""

    def __init__(self, spec: EnvSpec, lanes: int, action_space: spaces.Space, step_seconds: float | None) -> None:
        self._spec, self._step_seconds = spec, step_seconds
        size = int(np.prod(action_space.shape or (1,)))
        self._motion = [Motion(lanes, size)] if isinstance(action_space, spaces.Box) else []
        self._jerk = Jerk(lanes, size) if self._motion else None
        self._action_size = size if self._motion else 1
        # Pictures show no position.
        paths = (1 if spec.pixels.cameras else 2) if spec.signals.position_indices else 0
        self._paths = [Path(lanes, spec.signals) for _ in range(paths)]
        self.length = np.zeros(lanes, dtype=np.int64)
        self._sums = {name: np.zeros(lanes) for name in _SUMS}
        self._recovery = Recovery(lanes)
        self._calm = self._stressed = np.zeros(lanes, dtype=bool)
        self._rewards_seen = self._diverges = False
        self._first_success = np.zeros(lanes, dtype=np.int64)
        self._now, self._at_reset, self._completion, self._start_distance = np.full((4, lanes), np.nan)
        self._shows_collisions = False
        self._perturbed_sizes: dict[str, int] = {}

    def begin(self, lane: int, observation: Any) -> None:
        """Starts an episode; `observation` holds the true first observations of all lanes."""
        self.length[lane] = self._first_success[lane] = 0
        for total in self._sums.values():
            total[lane] = 0
        self._recovery.begin(lane)
        for motion in self._motion:
            motion.begin(lane)
        if self._jerk is not None:
            self._jerk.begin(lane)
        for path in self._paths:
            path.begin(lane)
        self._now[lane] = self._completion[lane] = self._at_reset[lane] = np.nan
        if _has_goals(observation):
            self._start_distance[lane] = goal_distance(observation)[lane]
        solved = self._spec.success.at_reset(observation) if self._spec.success else None
        if solved is not None:
            self._at_reset[lane] = solved[lane]

    def observe(self, state: Any, observed: Observed) -> None:
        """Takes the state before a step, and the observation of it."""
        first, true, seen = self.length == 0, observed.true, observed.perturbed
        for path, observation in zip(self._paths, (state, seen), strict=False):
            path.update(observation, first)
        self._stressed = self._calm
        if pairs := _changed_arrays(true, seen):
            change = _squared_change(pairs.values())
            self._perturbed_sizes |= {key: before[0].size for key, (before, _) in pairs.items()}
            self._sums["observation"] += change
            self._sums["touched"] += _count_changes(pairs.values())
            self._stressed = change > 0

    def act(self, acted: Acted) -> None:
        """Takes the policy's action and what became of it, and which simulators are edited in this step."""
        first, (commanded, mitigated, executed, edited) = self.length == 0, acted
        if executed is not commanded and len(self._motion) == 1:
            # Until now every action was sent as commanded, so both have the same past.
            self._motion.append(copy.deepcopy(self._motion[0]))
        for motion, action in zip(self._motion, (commanded, executed), strict=False):
            motion.update(action.reshape(len(first), -1), first)
        if self._jerk is not None:
            self._jerk.update(commanded.reshape(len(first), -1), self.length)
        if pairs := _changed_arrays(mitigated, executed):
            change = _squared_change(pairs.values())
            self._sums["action"] += change
            self._stressed = self._stressed | (change > 0)
        if edited is not None:
            self._stressed = self._stressed | edited

    def compare(self, commanded: np.ndarray, clean: np.ndarray) -> None:
        """Takes the policy's action, and its action on the true observation."""
        self._diverges = True
        if clean is not commanded:
            gap = (commanded.astype(np.float64) - clean).reshape(len(clean), -1)
            self._sums["divergence"] += np.sqrt(row_squares(gap)) if self._motion else gap.any(axis=1)

    def update(self, batch: Batch, seen_reward: np.ndarray) -> None:
        """Takes the results of a step, and the reward that a learner sees."""
        self.length += 1
        self._sums["return"] += batch.reward
        self._recovery.update(self._stressed, batch.reward)
        self._sums["return_observed"] += seen_reward
        if seen_reward is not batch.reward:
            self._rewards_seen = True
            self._sums["reward"] += (seen_reward - batch.reward) ** 2
        spec = self._spec
        now = spec.success.at_step(batch.observation, batch.infos, batch.terminated) if spec.success else None
        if now is not None:
            self._sums["in_success"] += now
            self._first_success = np.where(now & (self._first_success == 0), self.length, self._first_success)
            self._now = now.astype(np.float64)
        if spec.signals.collision_key:
            hits = [info.get(spec.signals.collision_key) for info in batch.infos]
            self._sums["collisions"] += [bool(hit) for hit in hits]
            self._shows_collisions |= any(hit is not None for hit in hits)
        if spec.signals.completion_key:
            self._completion = np.array([info.get(spec.signals.completion_key, np.nan) for info in batch.infos])

    @property
    def cumulative_reward(self) -> np.ndarray:
        """The reward of each lane so far."""
        return self._sums["return"]

    def row(self, lane: int, batch: Batch) -> dict[str, float]:
        """Returns the metrics of an episode that has just ended."""
        length, total = int(self.length[lane]), float(self._sums["return"][lane])
        row = {
            "length": length,
            "terminated": batch.terminated[lane],
            "truncated": batch.truncated[lane],
            "return": total,
            **self._success(lane, length, total),
            # `finish` divides these by the size of what was perturbed, which only the whole run shows.
            "observation_change": self._sums["observation"][lane],
            "observation_touched": self._sums["touched"][lane],
            "return_observed": self._sums["return_observed"][lane],
            "reward_change": _rms(self._sums["reward"][lane], length),
            "action_change": _rms(self._sums["action"][lane], length * self._action_size),
            # An environment may end an episode because its task is done.
            **self._recovery.values(lane, length, bool(batch.terminated[lane]) and self._now[lane] != 1),
        }
        if self._diverges:
            row["action_divergence"] = self._sums["divergence"][lane] / length
        if self._spec.returns.is_complete:
            row["normalised_return"] = self._spec.returns.normalise(total)
        if self._motion:
            row |= zip(_MOTION, self._motion[0].values(lane, length), strict=True)
            row |= zip(_MOTION_EXECUTED, self._motion[-1].values(lane, length), strict=True)
        if self._jerk is not None:
            row |= zip(_JERK, self._jerk.values(lane, length), strict=True)
        if self._paths:
            row["path_length"] = self._paths[0].length_to(lane, batch.observation)
            row["path_length_observed"] = self._paths[1].length[lane] if len(self._paths) > 1 else np.nan
        row["completion_fraction"] = self._completion[lane]
        if _has_goals(batch.observation):
            row["final_distance"] = distance = float(goal_distance(batch.observation)[lane])
            if self._spec.signals.completion_key is None:
                row["completion_fraction"] = self._approach(lane, distance)
        if self._spec.signals.collision_key:
            collisions = self._sums["collisions"][lane]
            row |= {"collision_any": float(collisions > 0), "collision_rate": collisions / length}
        return row

    def finish(self, rows: np.ndarray) -> None:
        """Completes the rows of a run by what only all of its steps show, whatever the number of lanes.

        Collisions are missing if no step has shown their key, and perturbed rewards if there are none.
        """
        change, touched = COLUMNS.index("observation_change"), COLUMNS.index("observation_touched")
        numbers = rows[:, COLUMNS.index("length")] * max(1, sum(self._perturbed_sizes.values()))
        rows[:, change], rows[:, touched] = np.sqrt(rows[:, change] / numbers), rows[:, touched] / numbers
        missing = [] if self._rewards_seen else ["return_observed", "reward_change"]
        if self._spec.signals.collision_key and not self._shows_collisions:
            missing += ["collision_any", "collision_rate"]
        rows[:, [COLUMNS.index(name) for name in missing]] = np.nan

    def _approach(self, lane: int, distance: float) -> float:
        """Returns the share of the way to the goal that an episode has gone: 1 at the goal, 0 if it is no nearer."""
        start = self._start_distance[lane]
        if self._now[lane] == 1 or distance == 0:
            return 1.0
        return max(0.0, 1.0 - distance / start) if start > 0 else 0.0

    def _success(self, lane: int, length: int, total: float) -> dict[str, float]:
        success = self._spec.success
        if success is None:
            return {}
        if np.isnan(self._now[lane]):
            done = float(success.at_end(total))
            return {"success_any": done, "success_final": done}
        first = int(self._first_success[lane])
        row = {
            "success_any": float(first > 0),
            "success_final": self._now[lane],
            "dwell": self._sums["in_success"][lane] / length,
            "solved_at_reset": self._at_reset[lane],
        }
        if first:
            row["time_to_success"] = first
            row["cycle_time"] = first * self._step_seconds if self._step_seconds else np.nan
        return row


_Pair = tuple[np.ndarray, np.ndarray]


def _has_goals(observation: Any) -> bool:
    return isinstance(observation, dict) and {"achieved_goal", "desired_goal"} <= observation.keys()


def _changed_arrays(before: Any, after: Any) -> dict[str, _Pair]:
    """Returns the arrays, before and after, that a part has replaced; untouched entries keep their identity."""
    if after is before:
        return {}
    if not isinstance(before, dict):
        return {"": (before, after)}
    return {key: (before[key], after[key]) for key in before if after[key] is not before[key]}


def _squared_change(pairs: Iterable[_Pair]) -> np.ndarray:
    """Returns per lane the sum of the squared differences."""
    gaps = (after.astype(np.float64) - before for before, after in pairs)
    return functools.reduce(np.add, (row_squares(gap.reshape(len(gap), -1)) for gap in gaps))


def _count_changes(pairs: Iterable[_Pair]) -> np.ndarray:
    """Returns per lane how many numbers differ."""
    return np.sum([(before != after).reshape(len(before), -1).sum(axis=1) for before, after in pairs], axis=0)


def _rms(squares: float, numbers: int) -> float:
    return float(np.sqrt(squares / numbers)) if numbers else np.nan
