"""Runs one cell: takes it from the store, or computes, checks and stores it."""

import contextlib
import dataclasses
import functools
import json
import time
import traceback
from collections.abc import Callable
from typing import Any

from brittlestar.cells import store as records
from brittlestar.cells.env_choice import refuse_other_env
from brittlestar.cells.identity import provenance
from brittlestar.cells.job import Job, Outcome, ResolvedJob, build_env, resolve
from brittlestar.cells.planned_files import refuse_changed_files
from brittlestar.cells.process_state import own_process_state
from brittlestar.cells.record import (
    BEHAVIOUR,
    EPISODES,
    REWARDS,
    TRAJECTORIES,
    DamagedCellError,
    Record,
    encode,
)
from brittlestar.config.build import build
from brittlestar.config.hints import train_hint
from brittlestar.errors import HarnessError, MissingFileError, UserError, require_choice

EPISODE_SEEDS = ("independent", "consecutive")
_MOST_OPEN = 4
_open_lanes: dict[tuple[str, bool, bool], Any] = {}
"""The lanes of this process by environment, the last used one last."""


def run(job: Job, on_episode: Callable[[int], None] = lambda done: None) -> Outcome:
    """Takes one cell from the store, or computes it and writes it there; an error is returned, never raised."""
    clock, cell = time.perf_counter(), ""
    try:
        resolved = resolve(job)
        cell = resolved.cell
        status = "cached"
        if reuse(resolved) is None:
            status = "done"
            records.write_record(resolved.config["store"], cell, compute(resolved, on_episode))
        return Outcome(status, job.number, cell, job.config["episodes"], seconds=time.perf_counter() - clock)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return fail(job, cell, error)


def reuse(job: ResolvedJob) -> Record | None:
    """Returns the cell from the store; None if the store does not have it. A damaged one gets a note."""
    try:
        return records.load_cell(job.config["store"], job.cell)
    except DamagedCellError as error:
        path = records.cell_file(job.config["store"], job.cell)
        job.notes.append(f"{path} was damaged ({error}), so the cell was computed again")
        return None


def compute(job: ResolvedJob, on_episode: Callable[[int], None]) -> bytes:
    """Rolls the episodes out and returns the finished cell, see `cells.record`."""
    from brittlestar.engine.delivery import measure, result_notes
    from brittlestar.engine.metrics import COLUMNS
    from brittlestar.engine.reward_recorder import REWARD_COLUMNS

    started, clock = time.time(), time.perf_counter()
    plan = plan_of(job)
    with own_process_state(plan.seed, imports=True):
        # First the environment: without it, what a policy lacks does not matter.
        lanes = _lanes(_with_files(job, "env"), plan.consecutive, job.perturbation.needs_world)
        parts = parts_of(job)
    with own_process_state(plan.seed):
        rows = _roll(job, lanes, parts, plan, on_episode)
    seconds = time.perf_counter() - clock
    steps = int(rows.column("length").sum())
    remote = parts.policy.remote
    manifest = {
        "cell": job.cell,
        "status": "done",
        "config": job.cell_config,
        "columns": COLUMNS,
        "reward_columns": REWARD_COLUMNS,
        "phases": rows.phases,
        "measure": job.env.measure,
        "delivery": measure(parts.perturbation, rows, parts.schedule),
        "record": _record(job),
        "registered_steps": lanes.registered_steps,
        "notes": result_notes(parts.policy, parts.perturbation, rows),
        "provenance": provenance(job.simulator),
        "timing": {"started": started, "seconds": seconds, "steps": steps, "steps_per_second": steps / seconds},
    }
    manifest |= {} if remote is None else {"server": remote}
    arrays = {EPISODES: rows.values, REWARDS: rows.rewards}
    if rows.behaviour is not None:
        layout = rows.behaviour.layout
        manifest |= {"layout": dataclasses.asdict(layout), "behaviour_columns": layout.columns}
        arrays[BEHAVIOUR] = rows.behaviour.values
    arrays |= {f"{TRAJECTORIES}{name}": array for name, array in (rows.trajectories or {}).items()}
    return encode(manifest, arrays)


def fail(job: Job, cell: str, error: BaseException) -> Outcome:
    """Returns the outcome of a cell that has no result."""
    line = " ".join(_line_of(error).split())
    trace = "" if isinstance(error, UserError) else "".join(traceback.format_exception(error))
    return Outcome("failed", job.number, cell, error=_encodable(line), traceback=_encodable(trace))


def _line_of(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the policy or the environment ended the program by `sys.exit({error.code!r})`"
    try:
        text = str(error)
    except Exception:
        # The class of the error is code of the user, too.
        text = "(an error whose text cannot be read)"
    return text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"


def _encodable(text: str) -> str:
    """Returns a text that tables can hold; that of an error may name a file whose name is not UTF-8."""
    return text.encode(errors="backslashreplace").decode()


def manifest_of(job: Job, outcome: Outcome, record: Record | None) -> dict[str, Any]:
    """Returns the manifest of a job in its sweep: that of its cell or of its failure, with the config of the job."""
    request = {
        "number": job.number,
        "config": job.recorded_config,
        "choices": job.choices,
        "overrides": job.overrides,
        "strength": _strength(job),
    }
    if record is not None:
        return record.manifest | request | {"notes": [*job.notes, *record.manifest["notes"]]}
    failure = {"cell": outcome.cell, "status": "failed", "error": outcome.error, "provenance": provenance()}
    return failure | ({"traceback": outcome.traceback} if outcome.traceback else {}) | request


def _strength(job: Job) -> dict[str, Any]:
    # The error of a cell that cannot be built is recorded already.
    with contextlib.suppress(Exception):
        node = job.config["perturbation"]
        perturbation = job.perturbation if isinstance(job, ResolvedJob) else build(node, "perturbation")
        return {"name": perturbation.strength_field, "value": perturbation.strength}
    return {"name": None, "value": None}


def plan_of(job: ResolvedJob) -> Any:
    """Returns the `Plan` of a cell."""
    from brittlestar.engine.plan import Plan

    config = job.config
    require_choice("episode_seeds", config["episode_seeds"], EPISODE_SEEDS)
    if config["lanes"] < 1:
        raise UserError(f"`lanes` must be at least 1, got {config['lanes']}")
    recordings = config.get("divergence", False), config.get("record")
    plan = Plan(config["episodes"], config["seed"], job.consecutive, config["deterministic"], *recordings)
    if job.idle_schedule:
        raise UserError(job.idle_schedule)
    return plan


def parts_of(job: ResolvedJob) -> Any:
    """Returns the `Parts` of a cell."""
    from brittlestar.engine.stack import Parts
    from brittlestar.perturbations import Perturbation

    policy = _load_policy(job)
    refuse_other_env(policy, job.config["env"]["id"])
    if policy.outside() != job.outside:
        raise HarnessError(f"{job.config['policy'].get('url')} has changed since the cell was planned: start it again")
    # All perturbations of strength 0 share their rows.
    perturbation = Perturbation() if job.perturbation.is_identity else job.perturbation
    parts = Parts(policy, perturbation, job.mitigation, job.schedule)
    if job.has_own_files:
        refuse_changed_files(job.cell_config, job.files)
    return parts


def _roll(job: ResolvedJob, lanes: Any, parts: Any, plan: Any, on_episode: Callable[[int], None]) -> Any:
    from brittlestar.engine.evaluation import run_episodes

    threads = job.config["threads"] or job.threads
    return run_episodes(lanes, parts, plan, lanes=job.config["lanes"], threads=threads, on_episode=on_episode)


def _with_files(job: ResolvedJob, key: str) -> str:
    """Returns a part of the config with digests of the files that it names, as text."""
    return json.dumps([job.config[key], job.files.get(key)])


def _load_policy(job: ResolvedJob) -> Any:
    try:
        return _policy(_with_files(job, "policy"))
    except MissingFileError as error:
        raise UserError("; ".join(filter(None, [str(error), train_hint(job.config)]))) from None


@functools.lru_cache(maxsize=4)
def _policy(node: str) -> Any:
    """Loads a policy once per process, see `_with_files`."""
    from brittlestar.policies import as_policy

    return as_policy(build(json.loads(node)[0], "policy"))


def _lanes(node: str, consecutive: bool, needs_model: bool) -> Any:
    """Makes environments once per process; the lanes that were not used for the longest time are closed."""
    from brittlestar.engine.evaluation import make_lanes

    key = node, consecutive, needs_model
    lanes = _open_lanes.pop(key, None)
    if lanes is None:
        lanes = make_lanes(
            build_env(json.dumps(json.loads(node)[0])), count=1, consecutive=consecutive, needs_model=needs_model
        )
    _open_lanes[key] = lanes
    if len(_open_lanes) > _MOST_OPEN:
        _open_lanes.pop(next(iter(_open_lanes))).close()
    return lanes


def _record(job: ResolvedJob) -> dict[str, Any] | None:
    """Returns the recorded clean return of the policy, if it has one; `check=models` compares with none."""
    if job.config.get("check") == "models":
        return None
    record = getattr(_load_policy(job), "record", None)
    return dataclasses.asdict(record) if record else None
