"""The numbers of each agent on the leaderboard, and bootstrap replicates of them."""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.load import Row
from brittlestar.statistics.arrays import moments
from brittlestar.statistics.intervals import LEVEL, normal_quantile, t_stretch, wilson
from brittlestar.statistics.resampling import RESAMPLES, bootstrap_weights, weighted_means
from brittlestar.studies.stress.agents import Agent, Run
from brittlestar.studies.stress.runs import acts_the_same, agent_label

METRICS = ("identity", "rate_shock", "excess", "return_mean", "clean_return", "rate_inverted")
_INVERSION = "valence_inversion"
"""The stressor of the published correlation."""
_RATES = (METRICS.index("rate_shock"), METRICS.index("excess"))
"""Metrics that are 0 or 1 in an episode, or the difference of two such."""


@dataclass
class AgentScores:
    """The numbers of one agent in one environment and mode.

    Attributes:
        label: see `agent_label`.
        place: environment and mode: agents of the same place compete.
        stressors: names of those that count.
        seeds: of its runs.
        point: its numbers, in the order of `METRICS`.
        draws: bootstrap replicates of them, `(2, RESAMPLES, metrics)`: over seeds, and over the episodes of each seed,
            since seeds may agree by chance; with one seed, over episodes twice. Episodes may agree, too: see
            `_vary_rates`.
        alarms: share of events without stress.
        returns: fixed random and reference return of the environment.
    """

    label: Row
    place: tuple
    stressors: tuple[str, ...]
    seeds: tuple[int, ...]
    point: np.ndarray
    draws: np.ndarray
    alarms: float
    returns: Row

    @property
    def method(self) -> str:
        """How its intervals are made."""
        several = f"{len(self.seeds)} seeds, t-scaled, at least over episodes"
        over = several if len(self.seeds) > 1 else "the episodes of one seed"
        return f"bootstrap over {over}, {RESAMPLES} resamples, at least Wilson's where all agree, {100 * LEVEL:g} %"


def agent_scores(agents: list[Agent], scoring: str) -> list[AgentScores]:
    """Returns the numbers of every agent that has runs with stress."""
    harmless = reward_stressors(agents)
    return [_scores(agent, harmless, scoring) for agent in agents if agent.stressed]


def reward_stressors(agents: Iterable[Agent]) -> set[tuple]:
    """Returns the stressors under which no agent takes another action, of those that can be compared with a baseline.

    An agent whose actions remain the same under a stressor that changes those of others is stable: it counts.
    """
    same: dict[tuple, bool] = {}
    for agent in agents:
        for stressor in agent.stressed:
            twins = [(run, agent.twin(run)) for run in stressor.runs]
            if any(clean is not None for _, clean in twins):
                unmoved = all(acts_the_same(run, clean) for run, clean in twins if clean is not None)
                same[stressor.key] = same.get(stressor.key, True) and unmoved
    return {key for key, unmoved in same.items() if unmoved}


def calm_events(agent: Agent, scoring: str) -> list[np.ndarray]:
    """Returns the events without stress, an array per seed; without PRE in compat, which fits its threshold there."""
    scores = [run.scored for run in agent.baseline]
    return [run.event if scoring == "rigorous" else run.event[~run.within("pre")] for run in scores]


def _scores(agent: Agent, harmless: set[tuple], scoring: str) -> AgentScores:
    label, stressors = agent_label(agent), agent.stressed
    environment = tuple(value for name, value in label.items() if name.partition(".")[0] in ("env", "env_id"))
    place = (*environment, label["deterministic"])
    seeds = tuple(sorted({run.seed for stressor in stressors for run in stressor.runs}))
    phases = stressors[0].runs[0].scored.phases
    values = np.full((len(METRICS), len(stressors), len(seeds), len(phases)), np.nan)
    rated = [stressor for stressor in stressors if scoring != "rigorous" or stressor.key not in harmless]
    for i, stressor in enumerate(stressors):
        is_rated, acts = stressor in rated, stressor.key not in harmless
        counts = np.array([is_rated, is_rated, acts, is_rated, True, stressor.name == _INVERSION])
        for run in stressor.runs:
            episodes = _episodes(run, agent.twin(run))
            values[:, i, seeds.index(run.seed)] = np.where(counts[:, None], episodes, np.nan)
    point, draws = _draw(values, phases, f"leaderboard/{place}/{seeds}")
    events = calm_events(agent, scoring)
    alarms = float(np.mean(np.concatenate(events))) if events else math.nan
    names, returns = tuple(stressor.name for stressor in rated), agent.config["env"].get("returns") or {}
    return AgentScores(label, place, names, seeds, point, draws, alarms, returns)


def _episodes(run: Run, clean: Run | None) -> np.ndarray:
    """Returns the metrics of each episode, `(metrics, episodes)`; nan where an episode has none."""
    scored, pre, shock = run.scored, run.scored.within("pre"), run.scored.within("shock")
    events = np.where(shock, scored.event.astype(np.float64), np.nan)
    excess = np.full(len(events), np.nan) if clean is None else events - clean.scored.event
    true = np.where(pre, run.episodes.behaviour.column("return"), np.nan)
    return np.stack([scored.identity, events, excess, scored.returns, true, events])


def _draw(values: np.ndarray, phases: Sequence[str], stream: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns means of `(metrics, stressors, seeds, episodes)`, and replicates of them, `(2, resamples, metrics)`."""
    n, by_seed = values.shape[2], moments(values, axis=-1)[1]
    point = _over_stressors(weighted_means(by_seed, np.ones((1, n))))[0]
    weights = np.concatenate([_episode_weights(tuple(phases), f"{stream}/{i}") for i in range(n)], axis=1)
    over_episodes = _over_stressors(_vary_rates(values, weighted_means(_pool_seeds(values), weights), stream))
    if n == 1:
        return point, np.stack([over_episodes, over_episodes])
    over_seeds = _over_stressors(weighted_means(by_seed, bootstrap_weights(n, RESAMPLES, generator(0, stream))))
    # Replicates must spread wider than a bootstrap over so few seeds, for intervals to be Student's.
    stretch = float(t_stretch(math.sqrt(n), n)) * math.sqrt(n / (n - 1))
    return point, np.stack([point + stretch * (over_seeds - point), over_episodes])


@functools.lru_cache(maxsize=64)
def _episode_weights(phases: tuple[str, ...], stream: str) -> np.ndarray:
    """Returns how often each episode of a seed is drawn: as many of each phase as there are."""
    rng = generator(0, stream)
    weights = np.zeros((RESAMPLES, len(phases)))
    for phase in dict.fromkeys(phases):
        rows = np.array([name == phase for name in phases])
        weights[:, rows] = bootstrap_weights(int(rows.sum()), RESAMPLES, rng)
    return weights


def _over_stressors(values: np.ndarray) -> np.ndarray:
    """Returns means of `(resamples, metrics, stressors)` over stressors."""
    return moments(values, axis=-1)[1]


def _pool_seeds(values: np.ndarray) -> np.ndarray:
    """Returns `(metrics, stressors, seeds, episodes)` with the episodes of all seeds in one row."""
    return values.reshape(*values.shape[:2], -1)


def _vary_rates(values: np.ndarray, draws: np.ndarray, stream: str) -> np.ndarray:
    """Varies replicates of rates whose episodes all agree, and which no resampling varies, as wide as Wilson's.

    One draw serves all stressors of the same rate, because stressors share their episodes.
    """
    count, mean, std = moments(_pool_seeds(values)[list(_RATES)], axis=-1)
    width = np.where((count > 0) & ~(std > 0), wilson(0, np.maximum(count, 1)).high, 0.0) / normal_quantile(LEVEL)
    none, some = generator(0, f"{stream}/rates").standard_normal((2, len(draws), 1, 1))
    # A rate of 0 can only be higher, an excess of 0 may also be lower.
    rises = np.broadcast_to(none, (len(draws), len(_RATES), 1)).copy()
    rises[:, _RATES.index(METRICS.index("rate_shock"))] = np.abs(none[:, 0])
    varied = draws.copy()
    varied[:, list(_RATES)] += width * np.where(mean == 0, rises, -np.sign(mean) * np.abs(some))
    return varied
