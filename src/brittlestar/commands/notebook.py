"""The Python API: evaluations and sweeps without Hydra, for notebooks and other code."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine import evaluation
from brittlestar.engine.cores import cores
from brittlestar.engine.delivery import measure
from brittlestar.engine.metrics import COLUMNS
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.mitigations import Mitigation
from brittlestar.perturbations import Perturbation
from brittlestar.policies import as_policy
from brittlestar.results.aggregate import aggregate
from brittlestar.results.load import Cell
from brittlestar.schedules import Constant, StressSchedule

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Result:
    """The tables of an evaluation or a sweep, as data frames."""

    episodes: pd.DataFrame
    cells: pd.DataFrame
    curve: pd.DataFrame
    summary: pd.DataFrame


def evaluate(
    env: str | EnvSpec,
    policy: Any,
    *,
    perturbation: str | Perturbation | None = None,
    mitigation: str | Mitigation | None = None,
    schedule: StressSchedule | None = None,
    episodes: int = 100,
    seeds: Iterable[int] = (0,),
) -> Result:
    """Evaluates a policy at one strength.

    Args:
        env: name of a shipped config (`"fetch_reach"`), a registered id (`"CartPole-v1"`) or an `EnvSpec`.
        policy: name of a shipped config, a `Policy`, an object with `predict`, or a function of one observation.
        perturbation: name of a shipped config, an object, or None.
        mitigation: name of a shipped config, an object, or None.
        schedule: when the perturbation acts; None is always.
        episodes: number of episodes per seed.
        seeds: independent repetitions.

    Returns:
        The tables `episodes`, `cells`, `curve` and `summary`.

    Example:
        >>> result = evaluate("CartPole-v1", lambda observation: int(observation[2] > 0), episodes=3)
        >>> len(result.episodes)
        3
    """
    return _tables(_cells(env, policy, [_part("perturbation", perturbation)], mitigation, schedule, episodes, seeds))


def sweep(
    env: str | EnvSpec,
    policy: Any,
    *,
    perturbation: str | Perturbation,
    strength: Sequence[float],
    mitigation: str | Mitigation | None = None,
    schedule: StressSchedule | None = None,
    episodes: int = 100,
    seeds: Iterable[int] = (0, 1, 2),
) -> Result:
    """Evaluates a policy at several strengths of one perturbation: a degradation curve.

    Args:
        env: as for `evaluate`.
        policy: as for `evaluate`.
        perturbation: name of a shipped config, or an object.
        strength: values of its strength field, the x axis of the curve.
        mitigation: as for `evaluate`.
        schedule: as for `evaluate`.
        episodes: number of episodes per strength and seed.
        seeds: independent repetitions; every strength has the same episodes.

    Example:
        >>> noise = load("perturbation", "gaussian_observation")
        >>> policy = lambda observation: int(observation[2] > 0)
        >>> curve = sweep("cartpole", policy, perturbation=noise, strength=[0, 0.5], episodes=3).curve
        >>> list(curve["strength"])
        [0.0, 0.5]
    """
    base = _part("perturbation", perturbation)
    if base.strength_field is None:
        raise UserError(f"{type(base).__name__} has no strength to sweep")
    steps = [dataclasses.replace(base, **{base.strength_field: value}) for value in strength]
    return _tables(_cells(env, policy, steps, mitigation, schedule, episodes, seeds))


def _cells(
    env: Any,
    policy: Any,
    steps: list[Perturbation],
    mitigation: Any,
    schedule: Any,
    episodes: int,
    seeds: Iterable[int],
) -> list[Cell]:
    spec = _env(env)
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)
    policy = as_policy(load("policy", policy) if isinstance(policy, str) else policy)
    mitigation, schedule = _part("mitigation", mitigation), schedule or Constant()
    plans = [Plan(episodes, seed) for seed in seeds]
    needs_model = any(step.needs_world for step in steps)
    choices = {"env": env if isinstance(env, str) else spec.id, "policy": name}
    choices |= {"perturbation": type(steps[-1]).__name__, "mitigation": type(mitigation).__name__}
    cells = []
    with closing(evaluation.make_lanes(spec, 1, threads=cores(), needs_model=needs_model)) as lanes:
        for step in steps:
            parts = Parts(policy, Perturbation() if step.is_identity else step, mitigation, schedule)
            for plan in plans:
                rows = evaluation.evaluate(lanes, parts, plan)
                measure(parts.perturbation, rows, schedule)
                cells.append(Cell(_manifest(spec, choices, step, plan.seed, rows.phases), held=rows.values))
    return cells


def _manifest(spec: EnvSpec, choices: dict[str, str], step: Perturbation, seed: int, phases: list[str]) -> dict:
    strength = {"name": step.strength_field, "value": step.strength}
    return {
        "status": "done",
        "cell": hashlib.sha256(repr((choices, strength, seed)).encode()).hexdigest()[:32],
        "config": {"env": {"id": spec.id}, "seed": seed},
        "choices": choices,
        "strength": strength,
        "columns": COLUMNS,
        "phases": phases,
        "measure": spec.measure,
    }


def _tables(cells: list[Cell]) -> Result:
    import pandas as pd

    tables = aggregate(cells)
    frames = []
    for label, cell in tables.episodes():
        frame = pd.DataFrame(cell.rows(), columns=list(cell.manifest["columns"]))
        frame["phase"] = [cell.manifest["phases"][int(code)] for code in frame["phase"]]
        for place, (key, value) in enumerate(label.items()):
            frame.insert(place, key, value)
        frames.append(frame)
    rest = (pd.DataFrame(rows) for rows in (tables.cells, tables.curve, tables.summary))
    return Result(pd.concat(frames, ignore_index=True), *rest)


def _env(env: str | EnvSpec) -> EnvSpec:
    if isinstance(env, EnvSpec):
        return env
    shipped = (config_folder() / "env" / f"{env}.yaml").is_file()
    return load("env", env) if shipped else EnvSpec(id=env)


def _part(group: str, part: Any) -> Any:
    return load(group, part or "none") if part is None or isinstance(part, str) else part
