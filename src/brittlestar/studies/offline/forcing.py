"""What a policy would have done in recorded episodes: it sees the recorded observations, not those of its actions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from brittlestar.envs.batches import entries
from brittlestar.errors import UserError
from brittlestar.policies.base import Policy
from brittlestar.randomness import LaneDraws
from brittlestar.training.recordings import RecordedEpisode

_LANES = 64


@dataclass
class Forced:
    """The actions of a policy in one recorded episode, and the log probability of the recorded ones, if it has one."""

    actions: np.ndarray
    log_probability: np.ndarray | None


def force(policy: Policy, episodes: Sequence[RecordedEpisode], seen: spaces.Space, acted: spaces.Space) -> list[Forced]:
    """Asks a policy for its deterministic action in every recorded step, episodes side by side.

    Args:
        policy: it keeps its memory within an episode.
        episodes: recorded ones.
        seen: the space of observations.
        acted: the space of actions.
    """
    forced = []
    for start in range(0, len(episodes), _LANES):
        forced += _force(policy, list(episodes[start : start + _LANES]), seen, acted)
    return forced


def _force(policy: Policy, episodes: list[RecordedEpisode], seen: spaces.Space, acted: spaces.Space) -> list[Forced]:
    count, lengths = len(episodes), np.array([len(episode) for episode in episodes])
    draws = LaneDraws(0, "policy", count)
    policy.bind(seen, acted, draws)
    keys = list(seen.spaces) if isinstance(seen, spaces.Dict) else [""]
    recorded = [entries(episode.observations) for episode in episodes]
    actions = np.zeros((int(lengths.max()), count, *(acted.shape or ())), dtype=np.float64)
    likelihood: list[np.ndarray | None] = []
    state = None
    for step in range(len(actions)):
        # An episode that has ended repeats its last step, which nothing uses.
        places = np.minimum(step, lengths - 1)
        rows = {key: np.stack([part[key][i] for part, i in zip(recorded, places, strict=True)]) for key in keys}
        batch = rows if isinstance(seen, spaces.Dict) else rows[""]
        taken = np.stack([episode.actions[i] for episode, i in zip(episodes, places, strict=True)])
        first = np.full(count, step == 0)
        draws.at(np.arange(count), np.full(count, step))
        likelihood.append(policy.log_probability(taken, batch, state, first))
        answer, state = policy.predict(batch, state, first)
        actions[step] = _checked(np.asarray(answer), actions.shape[1:])
    return [
        Forced(actions[:length, lane], _column(likelihood, length, lane))
        for lane, length in enumerate(lengths.tolist())
    ]


def _checked(answer: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if answer.shape != shape:
        raise UserError(f"the policy returned actions of shape {answer.shape}, expected {shape}")
    if not np.isfinite(answer).all():
        raise UserError("the policy returned an action that is not a finite number")
    return answer


def _column(likelihood: list[np.ndarray | None], length: int, lane: int) -> np.ndarray | None:
    rows = [row for row in likelihood[:length] if row is not None]
    return np.array([row[lane] for row in rows]) if len(rows) == length else None
