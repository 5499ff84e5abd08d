"""Delays in steps, fixed or jittering, of a perturbation with the numbers `delay_steps` and `jitter_steps`."""

from __future__ import annotations

from typing import Any

import numpy as np

from brittlestar.errors import require
from brittlestar.perturbations.base import Step


def check_delay(owner: Any) -> None:
    """Refuses delays that make no sense."""
    for name in ("delay_steps", "jitter_steps"):
        value = getattr(owner, name)
        require(value >= 0 and value % 1 == 0, name, "a whole number, at least 0", value)


def longest_delay(owner: Any) -> int:
    """Returns the largest delay that can be drawn."""
    return int(owner.delay_steps + owner.jitter_steps)


def draw_delay(owner: Any, step: Step) -> np.ndarray:
    """Returns the delay of every lane: `delay_steps + U{0..jitter_steps}`, drawn at every step; no jitter on 0."""
    delay = np.broadcast_to(np.rint(step.of(owner, "delay_steps", step.level)), step.level.shape)
    if owner.jitter_steps:
        jitter = np.rint(step.of(owner, "jitter_steps", step.level))
        delay = np.where(delay > 0, delay + np.floor(step.draws.uniform() * (jitter + 1)), 0)
    return delay.astype(np.int64)
