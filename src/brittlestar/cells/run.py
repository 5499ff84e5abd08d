"""One cell: reuse it from the store, or compute, check and record it."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.cells import store as records
from brittlestar.cells.auto_env import AUTO, resolve
from brittlestar.cells.identity import CONSTANT, NONE, cell_config, cell_hash, needs_world, provenance
from brittlestar.config import Config
from brittlestar.config.build import build
from brittlestar.config.hints import train_hint
from brittlestar.errors import MissingFileError, UserError, nearest

CHECKS = (None, "baseline", "models")
EPISODE_SEEDS = ("independent", "consecutive")


@dataclass
class Job:
    """A cell that somebody asked for: its resolved config, and the folder that will show it."""

    config: dict[str, Any]
    folder: str
    choices: dict[str, Any] = field(default_factory=dict)
    overrides: list[str] = field(default_factory=list)
    threads: int = 1


@dataclass
class Outcome:
    """How a job ended: `status` is done, cached or failed."""

    status: str
    folder: str
    cell: str = ""
    episodes: int = 0
    error: str = ""


def run(job: Job, on_episode: Callable[[int], None] = lambda done: None) -> Outcome:
    """Runs one job; whatever goes wrong is recorded in its folder and returned, never raised."""
    cell = ""
    try:
        cell = identify(job)
        reused = reuse(job, cell)
        if reused:
            return reused
        manifest = compute(job, cell, on_episode)
        show(job, cell, manifest)
        return Outcome("done", job.folder, cell, job.config["episodes"])
    except Exception as error:
        return fail(job, cell, error)


def identify(job: Job) -> str:
    """Checks the keys of a job and returns the hash of its cell."""
    known = [field.name for field in dataclasses.fields(Config)]
    for key in job.config:
        if key not in known:
            raise UserError(f"`{key}` does not exist; {nearest(key, known)}")
    if job.config.get("check") not in CHECKS:
        raise UserError(f"`check` must be null, baseline or models, got {job.config['check']}")
    if job.config.get("check"):
        job.config["perturbation"] = NONE
    if job.config.get("clean"):
        job.config |= {"perturbation": NONE, "stress_schedule": CONSTANT}
        job.choices = job.choices | {"perturbation": "none", "stress_schedule": "constant"}
    if job.config.get("models") and not job.config.get("model"):
        raise UserError(f"`models={job.config['models']}` is a sweep: add `-m`, and give it on the command line")
    if job.config["env"].get("id") == AUTO:
        job.config["env"] = resolve(job.config["env"], job.config["policy"])
        job.choices = job.choices | {"env": job.config["env"]["id"]}
    return cell_hash(job.config)


def reuse(job: Job, cell: str) -> Outcome | None:
    """Shows the cell from the store in the job's folder, if it is there."""
    manifest = records.read_manifest(records.store_folder(job.config["store"], cell))
    if manifest is None:
        return None
    show(job, cell, manifest)
    return Outcome("cached", job.folder, cell, job.config["episodes"])


def compute(job: Job, cell: str, on_episode: Callable[[int], None]) -> dict[str, Any]:
    """Rolls the episodes out and writes the finished cell to the store."""
    from brittlestar.engine.metrics import COLUMNS

    started, clock = time.time(), time.perf_counter()
    rows, measure = _roll(job, on_episode)
    seconds = time.perf_counter() - clock
    steps = int(rows.column("length").sum())
    manifest = {
        "format": 1,
        "cell": cell,
        "status": "done",
        "config": cell_config(job.config),
        "columns": COLUMNS,
        "phases": rows.phases,
        "measure": measure,
        "delivery": _delivery(job.config, rows),
        "record": _record(job.config),
        "provenance": provenance(job.config),
        "timing": {"started": started, "seconds": seconds, "steps": steps, "steps_per_second": steps / seconds},
    }
    more: dict[str, Any] = {}
    if rows.behaviour is not None:
        layout = rows.behaviour.layout
        manifest |= {"layout": dataclasses.asdict(layout), "behaviour_columns": layout.columns}
        more[records.BEHAVIOUR] = rows.behaviour.values
    if rows.trajectories:
        more[records.TRAJECTORIES] = rows.trajectories
    manifest["files"] = [records.ROWS, *more]
    records.write_cell(records.store_folder(job.config["store"], cell), manifest, rows.values, more)
    return manifest


def show(job: Job, cell: str, manifest: dict[str, Any]) -> None:
    """Puts a finished cell into the job's folder, under the config that asked for it."""
    folder = Path(job.folder)
    names = manifest.get("files", (records.ROWS,))
    records.link_rows(records.store_folder(job.config["store"], cell), folder, names)
    records.write_manifest(folder, manifest | _asked(job))


def fail(job: Job, cell: str, error: Exception) -> Outcome:
    """Records why a cell has no result."""
    line = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    line = " ".join(line.split())
    manifest = {"format": 1, "cell": cell, "status": "failed", "error": line, "provenance": provenance()}
    if not isinstance(error, UserError):
        manifest["traceback"] = "".join(traceback.format_exception(error))
    try:
        records.write_manifest(Path(job.folder), manifest | _asked(job))
    except UserError as unwritable:
        line = f"{line} ({unwritable})"
    return Outcome("failed", job.folder, cell, error=line)


def _asked(job: Job) -> dict[str, Any]:
    return {
        "config": job.config,
        "choices": job.choices,
        "overrides": job.overrides,
        "strength": _strength(job.config),
    }


def _strength(config: dict[str, Any]) -> dict[str, Any]:
    try:
        perturbation = build(config["perturbation"], "perturbation")
    except UserError:
        return {"name": None, "value": None}
    return {"name": perturbation.strength_field, "value": perturbation.strength}


def _roll(job: Job, on_episode: Callable[[int], None]) -> tuple[Any, str]:
    from brittlestar.engine.evaluation import evaluate
    from brittlestar.engine.plan import Plan
    from brittlestar.engine.stack import Parts

    config = job.config
    if config["episode_seeds"] not in EPISODE_SEEDS:
        raise UserError(f"`episode_seeds` must be one of {', '.join(EPISODE_SEEDS)}, got {config['episode_seeds']}")
    if config["lanes"] < 1:
        raise UserError(f"`lanes` must be at least 1, got {config['lanes']}")
    consecutive = config["episode_seeds"] == "consecutive"
    plan = Plan(
        config["episodes"],
        config["seed"],
        consecutive,
        config["deterministic"],
        config.get("divergence", False),
        config.get("record"),
    )
    cell = cell_config(config)
    parts = Parts(
        _loaded(config),
        *(build(cell[group], group) for group in ("perturbation", "mitigation", "stress_schedule")),
    )
    _check_env(parts.policy, config["env"]["id"])
    edited = needs_world(json.dumps(config["perturbation"], sort_keys=True))
    lanes = _lanes(json.dumps(config["env"]), plan.consecutive, edited)
    threads = config["threads"] or job.threads
    rows = evaluate(lanes, parts, plan, lanes=config["lanes"], threads=threads, on_episode=on_episode)
    return rows, lanes.spec.measure


def _check_env(policy: Any, env_id: str) -> None:
    trained_in = getattr(policy, "trained_in", env_id)
    if trained_in != env_id and policy.adapter is None:
        raise UserError(
            f"{policy.path} was trained in {trained_in}, not in {env_id}: take `env=auto`, or say by "
            "`policy.adapter=same` that both show the same (or `pad`, `ant_v3`)"
        )


def _loaded(config: dict[str, Any]) -> Any:
    try:
        return _policy(json.dumps(config["policy"]))
    except MissingFileError as error:
        raise UserError("; ".join(filter(None, [str(error), train_hint(config)]))) from None


@functools.lru_cache(maxsize=4)
def _policy(node: str) -> Any:
    """Loads a policy once per process."""
    from brittlestar.policies import as_policy

    return as_policy(build(json.loads(node), "policy"))


@functools.lru_cache(maxsize=4)
def _lanes(node: str, consecutive: bool, needs_model: bool) -> Any:
    """Makes environments once per process."""
    from brittlestar.engine.evaluation import make_lanes

    return make_lanes(build(json.loads(node), "env"), count=1, consecutive=consecutive, needs_model=needs_model)


def _record(config: dict[str, Any]) -> dict[str, Any] | None:
    """Returns what was recorded about the policy's clean return, if it came with a record; ten steps need none."""
    if config.get("check") == "models":
        return None
    record = getattr(_policy(json.dumps(config["policy"])), "record", None)
    return dataclasses.asdict(record) if record else None


def _delivery(config: dict[str, Any], rows: Any) -> dict[str, float | None]:
    from brittlestar.engine.delivery import measure

    schedule = build(config["stress_schedule"], "stress_schedule")
    return measure(build(cell_config(config)["perturbation"], "perturbation"), rows, schedule)
