"""Which levels of an axis were in a policy's training: success there is fit, not generalisation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.config.build import build, imported_class, load, targets_in
from brittlestar.errors import UserError
from brittlestar.perturbations import ComposedPerturbation, Perturbation, Scheduled
from brittlestar.policies.zoo.cards import TARGET, read_card
from brittlestar.schedules import StressSchedule
from brittlestar.studies.perception.axes import Axis
from brittlestar.training.folder import RESOLVED_CONFIG

SEEN_BEFORE, NEW, NOT_KNOWN = "yes", "no", "unknown"
"""Whether a level was in training."""
_ROUNDING = 1e-9
_MOST_EPISODES = _MOST_STEPS = 1000
"""Of a training, to find the greatest level of its schedule."""
_GROUPS = ("env", "perturbation", "stress_schedule")


def read_training(policy: dict[str, Any]) -> dict[str, Any] | None:
    """Returns `env`, `perturbation` and `stress_schedule` of a policy's training; None if they are not known.

    They are in the card of a policy of the zoo, and in the folder that `brittlestar train` writes. `policy` is a config
    node. A training without perturbation has None.
    """
    try:
        if policy.get("_target_") == TARGET:
            card = read_card(str(policy.get("name")))
            return {group: card["env_config" if group == "env" else group] for group in _GROUPS}
        file = Path(str(policy.get("path"))).expanduser().absolute()
        # A training keeps its networks in folders: `final/policy.zip`, `best/policy.zip`.
        config = json.loads((file.parent.parent / RESOLVED_CONFIG).read_text())
        return {group: config[group] for group in _GROUPS}
    except (UserError, OSError, ValueError, KeyError, TypeError):
        return None


def trained_strengths(training: dict[str, Any] | None, axes: dict[str, Axis]) -> dict[str, float | None]:
    """Returns the greatest strength of every axis in a training, see `read_training`; None where it is not known.

    It is not known if the training has the perturbation of the axis with other ranges than the axis.

    Example:
        >>> from brittlestar.studies.perception.axes import standard_dr_sweeps
        >>> node = {"_target_": "brittlestar.perturbations.CameraView", "shift": 0.05}
        >>> trained_strengths({"perturbation": node, "stress_schedule": None}, standard_dr_sweeps())
        {'light': 0.0, 'view': 0.05, 'rotation': 0.0}
    """
    if training is None:
        return dict.fromkeys(axes)
    nodes = [training["perturbation"], training["stress_schedule"]]
    if any(imported_class(target) is None for node in nodes for target in targets_in(node)):
        return dict.fromkeys(axes)
    try:
        perturbation, schedule = (build(node, "training") for node in nodes)
        # Without perturbation, only the nominal scene.
        whole = Scheduled(perturbation or Perturbation(), schedule or StressSchedule())
        parts = list(_parts(whole, 1.0))
    except UserError:
        return dict.fromkeys(axes)
    return {name: _strength(axis, parts) for name, axis in axes.items()}


def _parts(perturbation: Perturbation, level: float | None) -> Iterator[tuple[Perturbation, float | None]]:
    """Yields what acts, with the greatest level that a schedule gives it; None if the level acts on other numbers."""
    if isinstance(perturbation, ComposedPerturbation):
        for part in perturbation.acting.values() if perturbation.scale else ():
            yield from _parts(part, level)
    elif isinstance(perturbation, Scheduled):
        schedule, inner = perturbation.schedule, perturbation.perturbation
        is_known = level is not None and schedule.parameter is None
        yield from _parts(inner, (level or 0.0) * _greatest_level(schedule) if is_known else None)
    else:
        yield perturbation, level


def _greatest_level(schedule: StressSchedule) -> float:
    episodes, steps = np.meshgrid(np.arange(_MOST_EPISODES), np.arange(_MOST_STEPS))
    # `Spread` comes near 1 and never reaches it.
    return round(float(np.max(schedule.levels(episodes.ravel(), steps.ravel()))), 2)


def _strength(axis: Axis, parts: list[tuple[Perturbation, float | None]]) -> float | None:
    own = load("perturbation", axis.perturbation, **{axis.strength: axis.maximum})
    ranges = [field.name for field in fields(own) if field.name != axis.strength]
    greatest = 0.0
    for part, level in parts:
        if type(part) is not type(own):
            continue
        if level is None or any(getattr(part, name) != getattr(own, name) for name in ranges):
            return None
        greatest = max(greatest, level * float(getattr(part, axis.strength)))
    return greatest


def was_trained(strength: float, greatest: float | None) -> str:
    """Returns whether a strength was in training: `SEEN_BEFORE`, `NEW` or `NOT_KNOWN`.

    Example:
        >>> was_trained(0.03, 0.05), was_trained(0.06, 0.05), was_trained(0.0, None)
        ('yes', 'no', 'unknown')
    """
    if greatest is None:
        return NOT_KNOWN
    return SEEN_BEFORE if strength <= greatest * (1 + _ROUNDING) else NEW
