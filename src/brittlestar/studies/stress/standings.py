"""What an agent's place on the leaderboard stands on: its numbers, and bootstrap replicates of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.load import Row
from brittlestar.statistics.arrays import moments
from brittlestar.statistics.intervals import LEVEL, t_stretch
from brittlestar.statistics.resampling import RESAMPLES, bootstrap_weights, weighted_means
from brittlestar.studies.stress.agents import Agent, Run, Stressor
from brittlestar.studies.stress.runs import acts_the_same, agent_label, clean_runs

INVERSION = "valence_inversion"
"""The stressor of the published correlation."""
METRICS = ("identity", "rate_shock", "excess", "return_mean", "clean_return", "rate_inverted")


@dataclass
class Standing:
    """The numbers of one agent in one environment and mode.

    Attributes:
        label: see `agent_label`.
        place: environment and mode: agents of the same place compete.
        stressors: names of those that count.
        seeds: of its runs.
        point: its numbers, in the order of `METRICS`.
        draws: bootstrap replicates of them, `(2, RESAMPLES, metrics)`: over seeds, and over the episodes of each seed,
            since seeds may agree by chance; with one seed, over episodes twice.
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
        """What its intervals stand on."""
        several = f"{len(self.seeds)} seeds, t-scaled, at least over episodes"
        over = several if len(self.seeds) > 1 else "the episodes of one seed"
        return f"bootstrap over {over}, {RESAMPLES} resamples, {100 * LEVEL:g} %"


def standings(agents: list[Agent], scoring: str) -> list[Standing]:
    """Returns the numbers of every agent that was put under stress, whatever the order of the sweeps."""
    harmless = reward_stressors(agents)
    found = []
    for agent in agents:
        behaviour = [one for one in agent.stressors if not one.is_baseline and one.runs and _key(one) not in harmless]
        every = [one for one in agent.stressors if not one.is_baseline and one.runs]
        rated = behaviour if scoring == "rigorous" else every
        if every:
            found.append(
                _standing(agent, every, [_key(one) for one in rated], [_key(one) for one in behaviour], scoring)
            )
    return found


def reward_stressors(agents: Iterable[Agent]) -> set[tuple]:
    """Returns the stressors under which no agent takes another action, of those that can be compared with a baseline.

    An agent that stays the same under a stressor that moves others is stable; such a stressor counts.
    """
    moved: set[tuple] = set()
    compared: set[tuple] = set()
    for agent in agents:
        clean = clean_runs(agent)
        for stressor in agent.stressors:
            runs = [run for run in stressor.runs if run.seed in clean]
            if not stressor.is_baseline and runs:
                compared.add(_key(stressor))
                if not all(acts_the_same(run, clean[run.seed]) for run in runs):
                    moved.add(_key(stressor))
    return compared - moved


def false_alarms(agent: Agent, scoring: str) -> list[np.ndarray]:
    """Returns the events without stress, an array per seed; compat learns its threshold from PRE: that is left out."""
    runs = agent.baseline.runs if agent.baseline else []
    return [run.scored.event if scoring == "rigorous" else run.scored.event[~run.scored.within("pre")] for run in runs]


def _key(stressor: Stressor) -> tuple:
    return tuple(stressor.label.values())


def _standing(agent: Agent, every: list[Stressor], rated: list, behaviour: list, scoring: str) -> Standing:
    label, clean = agent_label(agent), clean_runs(agent)
    environment = tuple(value for name, value in label.items() if name.partition(".")[0] in ("env", "env_id"))
    place = (*environment, label["deterministic"])
    seeds = tuple(sorted({run.seed for stressor in every for run in stressor.runs}))
    phases = every[0].runs[0].scored.phases
    values = np.full((len(METRICS), len(every), len(seeds), len(phases)), np.nan)
    for i, stressor in enumerate(every):
        counts = _counts(stressor, _key(stressor) in rated, _key(stressor) in behaviour)
        for run in stressor.runs:
            episodes = _episodes(run, clean.get(run.seed))
            values[:, i, seeds.index(run.seed)] = np.where(counts[:, None], episodes, np.nan)
    point, draws = _draw(values, phases, f"leaderboard/{place}/{seeds}")
    alarms = false_alarms(agent, scoring)
    names = tuple(str(stressor.label["perturbation"]) for stressor in every if _key(stressor) in rated)
    return Standing(
        label,
        place,
        names,
        seeds,
        point,
        draws,
        float(np.mean(np.concatenate(alarms))) if alarms else math.nan,
        agent.config["env"].get("returns") or {},
    )


def _draw(values: np.ndarray, phases: Sequence[str], stream: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns means of `(metrics, stressors, seeds, episodes)`, and replicates of them, `(2, resamples, metrics)`."""
    n, by_seed = values.shape[2], moments(values, axis=-1)[1]
    point = _means(by_seed, np.ones((1, n)))[0]
    weights = np.concatenate([_episode_weights(tuple(phases), f"{stream}/{i}") for i in range(n)], axis=1)
    drawn = _means(values.reshape(*values.shape[:2], -1), weights)
    if n == 1:
        return point, np.stack([drawn, drawn])
    seeds = _means(by_seed, bootstrap_weights(n, RESAMPLES, generator(0, stream)))
    return point, np.stack([point + _stretch(n) * (seeds - point), drawn])


def _counts(stressor: Stressor, rated: bool, behaviour: bool) -> np.ndarray:
    """Says which metrics a stressor counts for."""
    return np.array([rated, rated, behaviour, rated, True, stressor.name == INVERSION])


def _episodes(run: Run, clean: Run | None) -> np.ndarray:
    """Returns the metrics of each episode, `(metrics, episodes)`; nan where an episode says nothing about one."""
    scored, pre, shock = run.scored, run.scored.within("pre"), run.scored.within("shock")
    events = np.where(shock, scored.event.astype(np.float64), np.nan)
    excess = np.full(len(events), np.nan)
    if clean is not None and len(clean.names) == len(run.names):
        excess = events - clean.scored.event
    true = np.where(pre, run.episodes.behaviour.column("return"), np.nan)
    return np.stack([scored.identity, events, excess, scored.returns, true, events])


@functools.lru_cache(maxsize=64)
def _episode_weights(phases: tuple[str, ...], stream: str) -> np.ndarray:
    """How often each episode of a seed is drawn: as many of each phase as there are."""
    rng = generator(0, stream)
    weights = np.zeros((RESAMPLES, len(phases)))
    for phase in dict.fromkeys(phases):
        rows = np.array([name == phase for name in phases])
        weights[:, rows] = bootstrap_weights(int(rows.sum()), RESAMPLES, rng)
    return weights


def _means(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of `(metrics, stressors, units)` over units and then over stressors, `(resamples, metrics)`."""
    return moments(weighted_means(values, weights), axis=-1)[1]


def _stretch(n: int) -> float:
    """How much wider replicates must spread than a bootstrap over `n` seeds, for intervals to be Student's.

    Example:
        >>> round(_stretch(3), 2), round(_stretch(100), 2)
        (2.69, 1.02)
    """
    return float(t_stretch(math.sqrt(n), n)) * math.sqrt(n / (n - 1))
