"""A sweep in this process: parts in, finished cells out, without Hydra and without files."""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from brittlestar.cells.auto_env import AUTO
from brittlestar.cells.env_choice import notes_on_other_env, refuse_other_env
from brittlestar.cells.known_env import BY_HAND, complete_env, shipped_envs
from brittlestar.cells.process_state import own_process_state
from brittlestar.config import options
from brittlestar.config.build import build, load
from brittlestar.engine.cores import cores
from brittlestar.engine.delivery import measure, result_notes
from brittlestar.engine.evaluation import make_lanes, run_episodes
from brittlestar.engine.metrics import COLUMNS
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.ids import plain_env
from brittlestar.errors import UserError
from brittlestar.perturbations import Perturbation
from brittlestar.perturbations.base import scheduled_fields
from brittlestar.policies import Policy, as_policy
from brittlestar.schedules import Constant, StressSchedule


def at_strengths(perturbation: Any, strengths: Sequence[float] | None) -> list[Perturbation]:
    """Returns a perturbation, or a shipped one by its name, at each of some strengths; None for its own strength."""
    base = _part("perturbation", perturbation)
    if strengths is None:
        return [base]
    if base.strength_field is None:
        raise UserError(f"{type(base).__name__} has no strength to sweep")
    return [dataclasses.replace(base, **{base.strength_field: value}) for value in strengths]


def run_in_memory(
    env: str | EnvSpec,
    parts: tuple[Any, Any, StressSchedule | None],
    perturbations: list[Perturbation],
    episodes: int,
    seeds: Iterable[int],
) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Runs one cell per perturbation and seed, and returns manifests with episode rows.

    `parts` are policy, mitigation and schedule; a string names a shipped config.
    """
    policy, mitigation, schedule = parts[0], _part("mitigation", parts[1]), parts[2] or Constant()
    name = _policy_name(policy)
    policy = find_policy(policy)
    spec, notes = find_env(env, policy)
    choices = {
        "env": env if isinstance(env, str) and env in options("env") and env != AUTO else spec.id,
        "policy": name,
    }
    choices |= {"perturbation": type(perturbations[-1]).__name__, "mitigation": type(mitigation).__name__}
    plans = [Plan(episodes, seed) for seed in seeds]
    needs_model = any(perturbation.needs_world for perturbation in perturbations)
    cells = []
    with closing(make_lanes(spec, 1, threads=cores(), needs_model=needs_model)) as lanes:
        refuse_other_env(policy, spec.id)
        notes = [*notes, *notes_on_other_env(vars(policy), spec.id)]
        for perturbation in perturbations:
            scheduled_fields(perturbation, schedule.parameter)
            acting = Perturbation() if perturbation.is_identity else perturbation
            for plan in plans:
                with own_process_state(plan.seed):
                    rows = run_episodes(lanes, Parts(policy, acting, mitigation, schedule), plan)
                measure(acting, rows, schedule)
                manifest = _manifest(spec, choices, perturbation, plan.seed)
                manifest["config"]["env"]["backend"] = spec.simulator(needs_model=needs_model)["backend"]
                every = [*notes, *result_notes(policy, acting, rows)]
                cells.append((manifest | {"phases": rows.phases, "notes": every}, rows.values))
    return cells


def _manifest(spec: EnvSpec, choices: dict[str, str], perturbation: Perturbation, seed: int) -> dict[str, Any]:
    strength = {"name": perturbation.strength_field, "value": perturbation.strength}
    return {
        "status": "done",
        "cell": hashlib.sha256(repr((choices, strength, seed)).encode()).hexdigest()[:32],
        "config": {"env": {"id": spec.id}, "seed": seed},
        "choices": choices,
        "strength": strength,
        "columns": COLUMNS,
        "measure": spec.measure,
    }


def find_policy(policy: Any) -> Policy:
    """Returns a policy, or a shipped one by its name."""
    node = load("policy", policy) if isinstance(policy, str) else policy
    return as_policy(node, name=f"policy `{_policy_name(policy)}`")


def _policy_name(policy: Any) -> str:
    """Returns the name of a policy in tables."""
    return policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)


def find_env(env: str | EnvSpec, policy: Any) -> tuple[EnvSpec, list[str]]:
    """Returns an environment by its name, with a note on where its success and returns come from."""
    if isinstance(env, EnvSpec):
        return env, []
    if env == AUTO:
        # The option of a policy of the zoo also has its cameras.
        env = getattr(policy, "env_option", None) or getattr(policy, "trained_in", None) or env
        if env == AUTO:
            raise UserError(f"`env` {env!r} needs a policy that names the environment of its training: give an id")
    if env in options("env"):
        return load("env", env), []
    node, notes = complete_env(plain_env(shipped_envs()[BY_HAND] | {"id": env}))
    return build(node, "env"), notes


def _part(group: str, part: Any) -> Any:
    return load(group, part or "none") if part is None or isinstance(part, str) else part
