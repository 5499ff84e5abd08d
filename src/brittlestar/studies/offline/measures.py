"""The measures of one policy on recorded episodes, and in closed loop beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from gymnasium import spaces

from brittlestar.config.build import build
from brittlestar.engine.plan import Rows
from brittlestar.envs import EnvSpec
from brittlestar.envs.batches import entries
from brittlestar.errors import UserError
from brittlestar.results.load import RATES, Row
from brittlestar.results.ranges import cut, range_of
from brittlestar.statistics.intervals import t_half_width, wilson
from brittlestar.statistics.trajectories import action_mse, dtw_distance, dtw_distances, frechet_distance
from brittlestar.studies.offline.candidates import Candidate
from brittlestar.studies.offline.features import Features, feature_sets
from brittlestar.studies.offline.forcing import Forced, force
from brittlestar.training.recorder import record_policy
from brittlestar.training.recordings import RecordedEpisode, Recording

LOWER_IS_BETTER = ("action_mse", "action_error_rate", "action_dtw", "trajectory_dtw", "frechet_distance")
OFFLINE_MEASURES = (
    "action_mse", "action_error_rate", "action_dtw", "log_likelihood", "trajectory_dtw", "frechet_distance",
)  # fmt: skip
"""The measures, in the order of the table; the last two need the policy in closed loop."""


@dataclass
class Bench:
    """What every policy is measured on.

    Attributes:
        recording: the recorded episodes.
        features: features of an episode, for `trajectory_dtw` and `frechet_distance`.
        observation_space: of the policies.
        action_space: of the policies.
        env: for closed loops; None without them.
        threads: that step the environments.
        floor: Fréchet distance between two halves of the recorded episodes; nan for fewer than 2.
        notes: what a reader must know about the numbers.
    """

    recording: Recording
    features: Features | None
    observation_space: spaces.Space
    action_space: spaces.Space
    env: EnvSpec | None = None
    threads: int = 1
    floor: float = float("nan")
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sets = feature_sets(self.recording.episodes, self.features) if self.features else []
        halves = [np.concatenate(self.sets[i::2]) for i in (0, 1)] if len(self.sets) > 1 else []
        if halves and min(map(len, halves)) > 1:
            self.floor = frechet_distance(*halves)

    def note(self, text: str) -> None:
        """Adds a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def measure_policy(candidate: Candidate, bench: Bench) -> Row:
    """Returns the row of one policy: every measure with its interval, missing where it has no meaning."""
    row: Row = {"policy": candidate.name}
    if candidate.rollouts is not None:
        return row | _closed_loop(candidate.rollouts.episodes, bench)
    policy = build(candidate.node, candidate.name)
    episodes = bench.recording.episodes
    row |= _on_recorded(force(policy, episodes, bench.observation_space, bench.action_space), bench)
    if bench.env is None:
        return row
    rolled, rows = record_policy(bench.env, policy, len(episodes), bench.recording.seed or 0, bench.threads)
    row |= _success(rows, bench.env.measure)
    return row | _closed_loop(rolled, bench)


def _on_recorded(forced: list[Forced], bench: Bench) -> Row:
    episodes = bench.recording.episodes
    pairs = [(_flat(each.actions), _flat(episode.actions)) for each, episode in zip(forced, episodes, strict=True)]
    row: Row = {}
    if isinstance(bench.action_space, spaces.Box):
        row |= _mean("action_mse", [action_mse(ours, theirs) for ours, theirs in pairs])
        row |= _mean("action_dtw", [dtw_distance(ours, theirs) / len(theirs) for ours, theirs in pairs])
    else:
        row |= _mean("action_error_rate", [float(np.mean((a != b).any(axis=1))) for a, b in pairs])
    likelihoods = [each.log_probability for each in forced]
    if all(each is not None for each in likelihoods):
        row |= _mean("log_likelihood", [float(np.mean(each)) for each in likelihoods if each is not None])
    return row


def _closed_loop(rolled: Sequence[RecordedEpisode], bench: Bench) -> Row:
    if bench.features is None:
        return {}
    sets, recorded = feature_sets(rolled, bench.features), bench.sets
    if sets[0].shape[1] != recorded[0].shape[1]:
        raise UserError(f"features of rollouts have {sets[0].shape[1]} numbers, those recorded {recorded[0].shape[1]}")
    row: Row = {}
    if max(map(len, sets)) == 1:
        bench.note("one feature vector for each episode: there is no `trajectory_dtw`")
    elif _same_starts(bench.recording.episodes, rolled):
        row |= _mean("trajectory_dtw", [dtw_distance(a, b) / len(b) for a, b in zip(sets, recorded, strict=True)])
    else:
        bench.note("rollouts have other start states: `trajectory_dtw` is the distance to the nearest recorded episode")
        row |= _mean("trajectory_dtw", [float(dtw_distances(a, recorded).min()) / len(a) for a in sets])
    ours, theirs = np.concatenate(sets), np.concatenate(recorded)
    if min(len(ours), len(theirs)) < 2:
        bench.note("`frechet_distance` needs 2 feature vectors in each set")
        return row
    if min(len(ours), len(theirs)) <= ours.shape[1]:
        bench.note(
            f"`frechet_distance` is strongly biased upwards: {min(len(ours), len(theirs))} vectors of "
            f"{ours.shape[1]} numbers do not determine a covariance"
        )
    return row | {"frechet_distance": frechet_distance(ours, theirs)}


def _mean(name: str, values: Sequence[float]) -> Row:
    """Returns the mean over episodes with Student's interval, cut to the range of the measure."""
    mean, half = float(np.mean(values)), float("nan")
    if len(values) > 1 and np.isfinite(values).all():
        half = float(t_half_width(np.std(values, ddof=1), len(values)))
    low, high = cut(range_of(name), mean, mean - half, mean + half)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _success(rows: Rows, name: str) -> Row:
    """Returns success, or the return, of the closed loop without a perturbation, with its interval over episodes."""
    values = rows.column(name)
    if name not in RATES:
        half = float(t_half_width(values.std(ddof=1), len(values))) if len(values) > 1 else float("nan")
        return {name: float(values.mean()), f"{name}_low": values.mean() - half, f"{name}_high": values.mean() + half}
    low, high = wilson(int(values.sum()), len(values))
    return {name: float(values.mean()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _same_starts(recorded: Sequence[RecordedEpisode], rolled: Sequence[RecordedEpisode]) -> bool:
    def starts(episode: RecordedEpisode) -> np.ndarray:
        return np.concatenate([np.ravel(part[0]) for _, part in sorted(entries(episode.observations).items())])

    pairs = [(starts(a), starts(b)) for a, b in zip(recorded, rolled, strict=False)]
    return len(recorded) == len(rolled) and all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in pairs)


def _flat(actions: np.ndarray) -> np.ndarray:
    return np.asarray(actions, dtype=np.float64).reshape(len(actions), -1)
