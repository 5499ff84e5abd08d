"""Reads the cells of a stress study back: one agent, its seeds, its stressors and its reference passes, scored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from brittlestar.cells import store as records
from brittlestar.engine.behaviour import Behaviour, Layout
from brittlestar.envs.atari import is_atari
from brittlestar.errors import UserError
from brittlestar.results.grouping import group, sort_key
from brittlestar.results.load import Cell, Row
from brittlestar.studies.stress.references import REFERENCE, agent_key
from brittlestar.studies.stress.scoring import BASELINE, Episodes, Scored, score_study, thirds

MODES = {True: "deterministic", False: "stochastic"}
"""Names of `deterministic` in tables."""
_KINDS = re.compile(r"pre|shock|post")


@dataclass
class Run:
    """One stressor with one seed: what was recorded, and how it scores."""

    seed: int
    episodes: Episodes
    scored: Scored
    names: list[str]
    """The phase of each episode, as the schedule calls it."""


@dataclass
class Stressor:
    """One stressor of an agent; its runs are in the order of their seeds."""

    label: Row
    runs: list[Run] = field(default_factory=list)
    is_baseline: bool = False

    @property
    def name(self) -> str:
        """What tables call it."""
        return str(self.label["perturbation"])


@dataclass
class Agent:
    """One policy in one environment and mode, with all its stressors; the one without stress comes first."""

    label: Row
    stressors: list[Stressor]
    config: Row = field(default_factory=dict)
    """The resolved config of its first cell: what all of its cells have in common, and more."""

    @property
    def baseline(self) -> Stressor | None:
        """The episodes without stress."""
        return next((stressor for stressor in self.stressors if stressor.is_baseline), None)


def split_passes(cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Returns the finished cells of a sweep whose behaviour was recorded, and the finished reference passes."""
    recorded = [cell for cell in cells if cell.done and "layout" in cell.manifest]
    passes = [cell for cell in recorded if cell.role == REFERENCE]
    return [cell for cell in recorded if cell.role is None], passes


def score_agents(cells: list[Cell], passes: list[Cell], scoring: str, alpha: float) -> list[Agent]:
    """Scores every agent, seed by seed.

    Args:
        cells: stressed cells and baselines, see `split_passes`.
        passes: their reference passes.
        scoring: one of `SCORINGS`.
        alpha: accepted false-alarm rate of the rigorous one.
    """
    references = {agent_key(cell.config): cell for cell in passes}
    grouping = group(cells)
    own = [column.startswith("perturbation") for column in grouping.columns]
    agents: dict[tuple, dict[tuple, dict[int, Cell]]] = {}
    for cell, label in zip(cells, grouping.labels, strict=True):
        agent = tuple(value for value, mine in zip(label, own, strict=True) if not mine)
        stressor = tuple(value for value, mine in zip(label, own, strict=True) if mine)
        seeds = agents.setdefault(agent, {}).setdefault((*stressor, cell.strength_name, cell.strength), {})
        seeds[cell.seed] = cell
    names = [column for column, mine in zip(grouping.columns, own, strict=True) if not mine]
    ours = [column for column, mine in zip(grouping.columns, own, strict=True) if mine] + ["strength_name", "strength"]
    found = []
    for agent in sorted(agents, key=sort_key):
        # Without stress first: in compat its threshold holds for those that follow.
        order = sorted(agents[agent], key=lambda label: (label[-1] != 0, sort_key(label)))
        stressors = {
            label: Stressor(dict(zip(ours, label, strict=True)), is_baseline=label[-1] == 0) for label in order
        }
        for seed in sorted({seed for members in agents[agent].values() for seed in members}):
            members = {label: agents[agent][label][seed] for label in order if seed in agents[agent][label]}
            for label, run in _score(members, references, scoring, alpha).items():
                stressors[label].runs.append(run)
        first = agents[agent][order[0]]
        config = first[min(first)].config
        found.append(Agent(dict(zip(names, agent, strict=True)), list(stressors.values()), config))
    return found


def _score(members: dict[tuple, Cell], references: dict[str, Cell], scoring: str, alpha: float) -> dict[tuple, Run]:
    # Two cells without stress may stand beside each other; only one is called the baseline.
    baseline = next((label for label in members if label[-1] == 0), None)
    keys = {label: BASELINE if label == baseline else repr(label) for label in members}
    episodes = {label: _episodes(cell) for label, cell in members.items()}
    first = members[baseline] if baseline else next(iter(members.values()))
    calm = _calm(first, references, scoring, baseline is not None)
    schedules = {keys[label]: part for label, (part, _) in episodes.items()}
    scored = score_study(scoring, Episodes(calm, thirds(len(calm))), schedules, alpha)
    return {
        label: Run(cell.seed, episodes[label][0], scored[keys[label]], episodes[label][1])
        for label, cell in members.items()
    }


def _calm(first: Cell, references: dict[str, Cell], scoring: str, is_baseline: bool) -> Behaviour:
    """Returns the reference episodes of an agent.

    The published protocol resets its environment for the reference pass as for every schedule. So the episodes are
    those that the baseline begins with, unless actions are sampled.
    """
    again = scoring != "rigorous" and is_baseline and first.config["deterministic"]
    source = first if again else references.get(agent_key(first.config))
    if source is None:
        raise UserError(f"{first.folder} has no reference pass in this sweep: run it again with `study=stress`")
    calm = _behaviour(source)
    if scoring == "rigorous":
        return calm
    return calm.pick(slice(_compat_episodes(len(first.rows()), str(first.config["env"].get("id")))))


def _compat_episodes(episodes: int, env_id: str) -> int:
    """Returns how many reference episodes the published protocol takes.

    Example:
        >>> _compat_episodes(120, "CartPole-v1"), _compat_episodes(120, "PongNoFrameskip-v4")
        (60, 30)
    """
    if is_atari(env_id):
        return min(max(episodes // 4, 20), 40)
    return min(max(episodes // 2, 60), 120)


def _behaviour(cell: Cell) -> Behaviour:
    assert cell.folder is not None
    return Behaviour(Layout(**cell.manifest["layout"]), records.read_rows(cell.folder, records.BEHAVIOUR))


def _episodes(cell: Cell) -> tuple[Episodes, list[str]]:
    codes = cell.rows()[:, list(cell.manifest["columns"]).index("phase")].astype(int).tolist()
    names = [str(cell.manifest["phases"][code]) for code in codes]
    # Several shocks may have names of their own.
    kinds = [found.group() if (found := _KINDS.match(name)) else name for name in names]
    return Episodes(_behaviour(cell), kinds), names
