"""Scores the schedules of one agent against its reference pass, in one of three ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from brittlestar.engine.behaviour import Behaviour
from brittlestar.errors import require, require_choice
from brittlestar.studies.stress import compat, rigorous
from brittlestar.studies.stress.compat_channels import CHANNELS, REFERENCE_WEIGHTS, compat_channels

BASELINE = "baseline"
"""Name of the schedule without stress."""
PHASES = ("pre", "shock", "post")
SCORINGS = ("rigorous", "compat_1_4", "compat_1_0")
_LEAST_RECALIBRATED = 10


class _Phased:
    """Episodes with a phase each."""

    phases: Sequence[str]

    def within(self, phase: str) -> np.ndarray:
        """Returns which episodes are in a phase."""
        return np.array([name == phase for name in self.phases])


@dataclass(frozen=True)
class Episodes(_Phased):
    """Episodes in order: the behaviour and the phase of each."""

    behaviour: Behaviour
    phases: Sequence[str]

    def __post_init__(self) -> None:
        require(len(self.behaviour) >= 1, "episodes", "at least 1", len(self.behaviour))
        require(len(self.phases) == len(self.behaviour), "phases", f"{len(self.behaviour)} names", len(self.phases))


@dataclass(frozen=True)
class Scored(_Phased):
    """The scores of the episodes of a schedule.

    Attributes:
        phases: of each episode.
        returns: of each episode, as the scoring sees them: stressed in compat, true in rigorous.
        channels: `(episodes, 5)`, in the order of `CHANNELS`.
        identity: weighted mean of the channels.
        score: of collapse, in [0, 1].
        event: whether the score is beyond the threshold.
        threshold: the one printed; compat prints that of the reference pass even where it uses another.
        shock_score: of the shock as a whole: compat scores its mean channels, rigorous takes the mean score.
        shock_event: whether that is an event.
        mads: median absolute deviation of each channel over the calm episodes; empty in rigorous.
    """

    phases: Sequence[str]
    returns: np.ndarray
    channels: np.ndarray
    identity: np.ndarray
    score: np.ndarray
    event: np.ndarray
    threshold: float
    shock_score: float
    shock_event: bool
    mads: np.ndarray = field(default_factory=lambda: np.zeros(0))


def thirds(episodes: int) -> list[str]:
    """Returns the phases of the published protocol: thirds, and the rest goes to the last.

    Example:
        >>> thirds(7)
        ['pre', 'pre', 'shock', 'shock', 'post', 'post', 'post']
    """
    third = max(1, episodes // 3)
    return (["pre"] * third + ["shock"] * third + ["post"] * max(1, episodes - 2 * third))[:episodes]


def score_schedules(
    scoring: str, reference: Episodes, schedules: Mapping[str, Episodes], alpha: float = 0.05
) -> dict[str, Scored]:
    """Scores every schedule of one agent, seed and mode against episodes without stress that no schedule contains.

    In compat the order of schedules matters: the threshold of `baseline` holds for all after it. `alpha` is the
    accepted false-alarm rate of the rigorous scoring; the published one is always .05.
    """
    require_choice("scoring", scoring, SCORINGS)
    if scoring == "rigorous":
        return _rigorous(reference, schedules, alpha)
    return _compat(compat.raw_1_4 if scoring == "compat_1_4" else compat.raw_1_0, reference, schedules)


def _rigorous(reference: Episodes, schedules: Mapping[str, Episodes], alpha: float) -> dict[str, Scored]:
    normal = rigorous.fit(reference.behaviour, alpha)
    results = {}
    for name, episodes in schedules.items():
        channels = rigorous.channels(normal, episodes.behaviour)
        score = rigorous.rigorous_score(normal, episodes.behaviour)
        shock, returns = mean_or_nan(score[episodes.within("shock")]), episodes.behaviour.column("return")
        results[name] = Scored(
            episodes.phases, returns, channels, channels.mean(axis=1), score, score > normal.threshold,
            normal.threshold, shock, shock > normal.threshold,
        )  # fmt: skip
    return results


def _compat(raw: compat.Raw, reference: Episodes, schedules: Mapping[str, Episodes]) -> dict[str, Scored]:
    proxy = raw is compat.raw_1_4
    channels = compat_channels(reference.behaviour, reference.phases, proxy)
    calm = reference.within("pre")
    calm = calm if calm.any() else np.ones_like(calm)
    first = compat.calibrate(raw, channels[calm], compat.weighted_sum(channels, REFERENCE_WEIGHTS)[calm])
    weights, threshold, results = compat.weights(channels), first.threshold, {}
    for name, episodes in schedules.items():
        channels = compat_channels(episodes.behaviour, episodes.phases, proxy)
        identity, calm, norm = compat.weighted_sum(channels, weights), episodes.within("pre"), first
        if name == BASELINE and calm.sum() >= _LEAST_RECALIBRATED:
            norm = compat.calibrate(raw, channels[calm], identity[calm])
            # The benchmark's slip: this threshold holds for the schedules that follow, too.
            threshold = norm.threshold
        score = compat.compat_score(raw, norm, norm.signs(channels, identity))
        shock, returns = _shock_score(raw, norm, channels, identity, episodes), episodes.behaviour.column("return_seen")
        results[name] = Scored(
            episodes.phases, returns, channels, identity, score, score >= threshold, first.threshold, shock,
            shock >= threshold, norm.channel_mads,
        )  # fmt: skip
    return results


def _shock_score(
    raw: compat.Raw, norm: compat.Norm, channels: np.ndarray, identity: np.ndarray, episodes: Episodes
) -> float:
    shock, calm = episodes.within("shock"), episodes.within("pre")
    drop = mean_or_nan(identity[calm]) - mean_or_nan(identity[shock])
    integrity, meaning = (mean_or_nan(channels[shock, CHANNELS.index(name)]) for name in ("integrity", "meaning"))
    # Where a phase is missing, the benchmark takes 0.
    return float(compat.compat_score(raw, norm, np.nan_to_num(np.array([[integrity, drop, meaning]])))[0])


def mean_or_nan(values: np.ndarray) -> float:
    """Returns the mean, and nan of nothing."""
    return float(values.mean()) if len(values) else float("nan")
