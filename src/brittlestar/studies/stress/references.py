"""The reference pass: the same agent without stress, on episodes that nobody else uses, as a cell of its own."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from brittlestar.cells import run as cell
from brittlestar.cells.identity import NONE
from brittlestar.errors import UserError
from brittlestar.results.load import load_cells, split_references

ITSELF = "itself"
"""Value of `reference` in the config of a reference pass."""

_SEEDS = 2**61
"""Added to the seed of an agent: its reference episodes are no others than these."""
_AGENT = ("env", "policy", "mitigation", "deterministic", "episode_seeds")
_CONSTANT = {"_target_": "brittlestar.schedules.Constant", "level": 1.0, "parameter": None}


def reference_jobs(jobs: Iterable[cell.Job], folder: Path) -> list[cell.Job]:
    """Returns the reference passes that some jobs ask for by `reference`, each once; finished ones are found by hash.

    Args:
        jobs: the cells of a sweep.
        folder: of the sweep; passes are shown in `reference/0`, `reference/1`, ... below it.
    """
    found: dict[str, cell.Job] = {}
    for job in jobs:
        if job.config.get("reference") in (None, ITSELF):
            continue
        config = _reference_config(job.config)
        place = str(folder / "reference" / str(len(found)))
        choices = job.choices | {"perturbation": "none", "stress_schedule": "constant"}
        found.setdefault(agent_of(config), cell.Job(config, place, choices, list(job.overrides)))
    return list(found.values())


def missing_jobs(folder: Path) -> list[cell.Job]:
    """Returns the reference passes that the finished cells of a sweep lack: launchers of Hydra do not add them."""
    cells, passes = split_references(load_cells([folder]))
    known = {agent_of(one.config) for one in passes if one.done}
    jobs = [
        cell.Job(one.config, str(one.folder), one.manifest["choices"], one.manifest["overrides"])
        for one in cells
        if one.done
    ]
    return [job for job in reference_jobs(jobs, folder) if agent_of(job.config) not in known]


def agent_of(config: dict[str, Any]) -> str:
    """Returns what a cell and its reference pass have in common: agent, environment, mode and seed.

    Example:
        >>> stressed = {"env": {}, "policy": {}, "mitigation": {}, "seed": 3, "reference": 300, "perturbation": {}}
        >>> agent_of(stressed) == agent_of(_reference_config(stressed))
        True
    """
    agent = {key: config.get(key) for key in _AGENT} | {"seed": config["seed"] % _SEEDS}
    agent["env"] = {key: value for key, value in config["env"].items() if key != "lanes"}
    return json.dumps(agent, sort_keys=True)


def _reference_config(config: dict[str, Any]) -> dict[str, Any]:
    episodes = config["reference"]
    if not isinstance(episodes, int) or isinstance(episodes, bool) or episodes < 1:
        raise UserError(f"`reference` must be null or a number of episodes, got {episodes}")
    changed = {"perturbation": NONE, "stress_schedule": _CONSTANT, "record": "behaviour", "reference": ITSELF}
    changed |= {"episodes": episodes, "seed": _SEEDS + config["seed"], "divergence": False}
    return copy.deepcopy(config | changed)
