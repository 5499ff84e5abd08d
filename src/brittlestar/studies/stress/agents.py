"""The agents of a stress study: the cells of each, read back and scored against their reference passes."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from brittlestar.cells.job import Job
from brittlestar.cells.record import BEHAVIOUR
from brittlestar.engine.behaviour import Behaviour, Layout
from brittlestar.envs.atari import is_atari
from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import training_name
from brittlestar.results.grouping import group, sort_key
from brittlestar.results.load import Cell, Row
from brittlestar.studies.base import with_keys
from brittlestar.studies.stress.scoring import BASELINE, Episodes, Scored, score_schedules, thirds

MODES = {True: "deterministic", False: "stochastic"}
"""Names of `deterministic` in tables."""
REFERENCE = "reference"
"""Role of a reference pass: no stress, and episodes that no other cell uses."""
_REFERENCE_SEEDS = 2**61
"""Added to the seed of an agent for its reference pass."""
_AGENT = ("env", "policy", "mitigation", "deterministic", "episode_seeds")
_KINDS = re.compile(r"^(pre|shock|post).*", re.DOTALL)


@dataclass
class Run:
    """One stressor with one seed: its recorded episodes, and their scores."""

    seed: int
    episodes: Episodes
    scored: Scored
    names: list[str]
    """The phase of each episode, as the schedule calls it."""
    training: str = ""
    """The policy of the zoo that ran, where seeds choose among its trainings."""


@dataclass
class StressorRuns:
    """The runs of one stressor, in the order of their seeds."""

    label: Row
    runs: list[Run] = field(default_factory=list)
    is_baseline: bool = False

    @property
    def name(self) -> str:
        """The perturbation, as tables call it."""
        return str(self.label["perturbation"])

    @property
    def key(self) -> tuple:
        """The perturbation with its settings and strength."""
        return tuple(self.label.values())


@dataclass
class Agent:
    """One policy in one environment and mode, with all its stressors; the one without stress comes first."""

    label: Row
    stressors: list[StressorRuns]
    config: Row = field(default_factory=dict)
    """The resolved config of its first cell."""

    @property
    def stressed(self) -> list[StressorRuns]:
        """The stressors that have runs, without the baseline."""
        return [stressor for stressor in self.stressors if stressor.runs and not stressor.is_baseline]

    @property
    def baseline(self) -> list[Run]:
        """The runs without stress; none where there is no baseline."""
        return next((stressor.runs for stressor in self.stressors if stressor.is_baseline), [])

    def twin(self, run: Run) -> Run | None:
        """Returns the run of the same episodes without stress."""
        same = (twin for twin in self.baseline if (twin.seed, len(twin.names)) == (run.seed, len(run.names)))
        return next(same, None)


def reference_pass(cell: Job, episodes: int) -> Job:
    """Returns the reference pass of the agent of a cell."""
    seed = _REFERENCE_SEEDS + cell.config["seed"]
    values = {"episodes": episodes, "seed": seed, "record": "behaviour", "divergence": False}
    job = with_keys(cell, **values, clean=True, role=REFERENCE)
    training = cell.config["policy"].get("training")
    if training is None:
        return job
    # `policy.training=${seed}` would choose another training by the seed of the pass.
    others = [text for text in job.overrides if text.lstrip("+").partition("=")[0] != "policy.training"]
    return replace(job, overrides=[*others, f"++policy.training={training}"])


def agent_key(config: Row) -> str:
    """Returns what a cell and its reference pass have in common: agent, environment, mode and seed.

    Example:
        >>> stressed = Job({"env": {}, "policy": {}, "mitigation": {}, "seed": 3})
        >>> agent_key(stressed.config) == agent_key(reference_pass(stressed, 300).config)
        True
    """
    agent = {key: config.get(key) for key in _AGENT} | {"seed": config["seed"] % _REFERENCE_SEEDS}
    agent["env"] = {key: value for key, value in config["env"].items() if key != "lanes"}
    return json.dumps(agent, sort_keys=True)


def split_passes(cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Returns the finished cells of a sweep whose behaviour was recorded, and the finished reference passes."""
    recorded = [cell for cell in cells if cell.done and "layout" in cell.manifest]
    passes = [cell for cell in recorded if cell.role == REFERENCE]
    return [cell for cell in recorded if cell.role is None], passes


def score_agents(cells: list[Cell], passes: list[Cell], scoring: str, alpha: float) -> list[Agent]:
    """Scores the agents of stressed cells and baselines, seed by seed; `split_passes` returns cells and passes."""
    references = {agent_key(cell.config): cell for cell in passes}
    grouping = group(cells)
    of_stressor = [name.startswith("perturbation") for name in grouping.columns]
    members: dict[tuple, dict[tuple, dict[int, Cell]]] = {}
    for cell, label in zip(cells, grouping.labels, strict=True):
        agent, stressor = _split(label, of_stressor)
        seeds = members.setdefault(agent, {}).setdefault((*stressor, cell.strength_name, cell.strength), {})
        seeds[cell.seed] = cell
    agent_columns, stressor_columns = _split(tuple(grouping.columns), of_stressor)
    agents = []
    for agent in sorted(members, key=sort_key):
        # The baseline first: in compat its threshold holds for the schedules that follow.
        order = sorted(members[agent], key=lambda label: (label[-1] != 0, sort_key(label)))
        columns = (*stressor_columns, "strength_name", "strength")
        stressors = {
            label: StressorRuns(dict(zip(columns, label, strict=True)), is_baseline=label[-1] == 0) for label in order
        }
        for seed in sorted({seed for seeds in members[agent].values() for seed in seeds}):
            schedules = {label: members[agent][label][seed] for label in order if seed in members[agent][label]}
            for label, run in _score(schedules, references, scoring, alpha).items():
                stressors[label].runs.append(run)
        first = members[agent][order[0]]
        row = dict(zip(agent_columns, agent, strict=True))
        agents.append(Agent(row, list(stressors.values()), first[min(first)].config))
    return agents


def _split(values: tuple, of_stressor: list[bool]) -> tuple[tuple, tuple]:
    """Returns the values that describe the agent, and those that describe the stressor."""
    pairs = list(zip(values, of_stressor, strict=True))
    return tuple(value for value, stress in pairs if not stress), tuple(value for value, stress in pairs if stress)


def _score(cells: dict[tuple, Cell], references: dict[str, Cell], scoring: str, alpha: float) -> dict[tuple, Run]:
    # Several cells may be without stress; only one is called the baseline.
    baseline = next((label for label in cells if label[-1] == 0), None)
    keys = {label: BASELINE if label == baseline else repr(label) for label in cells}
    names = {label: _phases(cell) for label, cell in cells.items()}
    # Several shocks may have names of their own, such as `shock_2`.
    kinds = {label: [_KINDS.sub(r"\1", name) for name in phases] for label, phases in names.items()}
    episodes = {label: Episodes(_behaviour(cell), kinds[label]) for label, cell in cells.items()}
    first = cells[baseline] if baseline else next(iter(cells.values()))
    calm = _reference(first, references, scoring, baseline is not None)
    schedules = {keys[label]: schedule for label, schedule in episodes.items()}
    scored = score_schedules(scoring, Episodes(calm, thirds(len(calm))), schedules, alpha)
    return {
        label: Run(cell.seed, episodes[label], scored[keys[label]], names[label], _training(cell.config["policy"]))
        for label, cell in cells.items()
    }


def _training(policy: Row) -> str:
    number = policy.get("training")
    return "" if number is None else training_name(str(policy.get("name")), number)


def _reference(first: Cell, references: dict[str, Cell], scoring: str, is_baseline: bool) -> Behaviour:
    """Returns the reference episodes of an agent.

    The published protocol resets its environment for the reference pass as for every schedule. So the episodes are
    those that the baseline begins with, unless actions are sampled.
    """
    again = scoring != "rigorous" and is_baseline and first.config["deterministic"]
    source = first if again else references.get(agent_key(first.config))
    if source is None:
        cell = " ".join(first.manifest["overrides"])
        raise UserError(
            f"`{cell}` has no reference pass in this sweep: it failed, or the sweeper did not add it; "
            "run it again with `study=stress hydra/sweeper=cells`"
        )
    calm = _behaviour(source)
    if scoring == "rigorous":
        return calm
    return calm.pick(slice(_compat_episodes(len(first.rows()), str(first.config["env"].get("id")))))


def _compat_episodes(episodes: int, env_id: str) -> int:
    """Returns how many reference episodes the published protocol takes."""
    if is_atari(env_id):
        return min(max(episodes // 4, 20), 40)
    return min(max(episodes // 2, 60), 120)


def _behaviour(cell: Cell) -> Behaviour:
    return Behaviour(Layout(**cell.manifest["layout"]), cell.array(BEHAVIOUR))


def _phases(cell: Cell) -> list[str]:
    codes = cell.rows()[:, list(cell.manifest["columns"]).index("phase")].astype(int).tolist()
    return [str(cell.manifest["phases"][code]) for code in codes]
