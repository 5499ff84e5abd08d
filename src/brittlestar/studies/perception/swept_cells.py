"""What the perception studies share: checks before cells run, the cells of every policy, and files."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.cells.identity import CONSTANT, NO_PERTURBATION
from brittlestar.cells.job import Job, resolve
from brittlestar.config.build import locate
from brittlestar.envs.pixels import RENDER
from brittlestar.errors import UserError
from brittlestar.policies.controllers import PController
from brittlestar.reports.curve_names import curve_names
from brittlestar.results.grouping import group
from brittlestar.results.load import RATES, Cell, Row
from brittlestar.studies.perception.axes import Axis
from brittlestar.studies.perception.training_ranges import read_training, trained_strengths

Label = tuple[tuple[str, Any], ...]
_STATE = {"observation", "desired_goal"}
"""What the scripted controllers read."""


@dataclass(frozen=True)
class SweptPolicy:
    """A policy of a sweep: what distinguishes it in tables, its name, its cells, and the strengths of its training."""

    label: Row
    name: str
    cells: list[Cell]
    trained: dict[str, float | None]
    """Greatest strength of every axis in training; None if it is not known."""


def check_cell(cell: Job) -> None:
    """Refuses a cell that no axis can be added to: perturbed already, without a camera, or with a policy that is blind.

    A policy is blind if it reads the state, which pictures replace.
    """
    if cell.config["perturbation"] != NO_PERTURBATION:
        raise UserError("a perception sweep adds its perturbations by itself: leave `perturbation=none`")
    if cell.config["stress_schedule"] != CONSTANT:
        raise UserError("a perception sweep sets the level by itself: leave `stress_schedule=constant`")
    try:
        config = resolve(cell).config
        policy, env, pixels = config["policy"], config["env"], config["env"].get("pixels") or {}
        is_scripted = locate(policy["_target_"], "policy").__module__ == PController.__module__
    except Exception:
        # The cell reports any other error.
        return
    name, kept, training = cell.choices.get("policy"), set(pixels.get("keep") or ()), read_training(policy)
    if training is not None and not kept and (training["env"].get("pixels") or {}).get("camera") is None:
        raise UserError(f"`policy={name}` was trained on the state of {env['id']}, not on pictures: it cannot see")
    if pixels.get("camera") == RENDER:
        raise UserError(f"`env.pixels.camera=render`: {env['id']} draws itself, so no light or camera can be changed")
    if pixels.get("camera") is None:
        raise UserError(f"`policy={name}`: the policy sees no camera of {env['id']}: set `env.pixels.camera`")
    if is_scripted and not kept >= _STATE:
        needs = f"`policy={name}` needs {' and '.join(sorted(_STATE))} of the state, and `env.pixels` replaces it"
        raise UserError(f"{needs}: add `env.pixels.keep=[observation,desired_goal]`, or take a policy that sees")


def agents_of(cells: list[Cell], axes: dict[str, Axis]) -> list[SweptPolicy]:
    """Returns the policies of a sweep: those that differ in anything but the perturbation and the seed."""
    grouping = group(cells)
    members: dict[Label, list[Cell]] = {}
    for cell, label in zip(cells, grouping.labels, strict=True):
        pairs = zip(grouping.columns, label, strict=True)
        key = tuple((name, value) for name, value in pairs if name.partition(".")[0] != "perturbation")
        members.setdefault(key, []).append(cell)
    columns = [name for name, _ in next(iter(members))]
    names = curve_names(columns, [tuple(value for _, value in label) for label in members])
    agents = []
    for (label, own), name in zip(members.items(), names.values(), strict=True):
        training, seen = read_training(own[0].setting("policy")), own[0].setting("env").get("pixels")
        # With other cameras, no level was in training.
        known = training if training is None or training["env"].get("pixels") == seen else None
        trained = trained_strengths(known, axes)
        agents.append(SweptPolicy(dict(label), name or own[0].choice("policy"), own, trained))
    return agents


def successes_of(cell: Cell) -> np.ndarray:
    """Returns the success of every episode; an environment without one is an error."""
    measure = str(cell.manifest["measure"])
    if measure not in RATES:
        raise UserError(f"an area under success needs `env.success`; {cell.choice('env')} is measured by {measure}")
    return cell.column(measure)


def varied_columns_before(rows: list[Row], column: str) -> list[str]:
    """Returns the columns in front of another one that have several values: what distinguishes policies."""
    labels = list(rows[0])[: list(rows[0]).index(column)]
    return [name for name in labels if len({row[name] for row in rows}) > 1]


def write_scores(path: Path, key: str, results: list[tuple[SweptPolicy, dict[str, Any]]]) -> None:
    """Writes the results of one policy under a key, for several policies a list of such."""
    parts = [{key: _without_nan(result), "policy": agent.label} for agent, result in results]
    write_file(path, json.dumps(parts[0] if len(parts) == 1 else {"policies": parts}, indent=1) + "\n")


def _without_nan(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_nan(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_without_nan(value) for value in node]
    return None if isinstance(node, float) and not math.isfinite(node) else node
