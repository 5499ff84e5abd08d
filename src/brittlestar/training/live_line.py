"""The line that shows how far a training is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from brittlestar.sweeps.progress import LiveLine, clock
from brittlestar.training.session import Session

LOG_SECONDS = 10.0
"""Shortest time between two lines in a stream that is no terminal."""
LOG_SHARE = 0.05
"""Smallest share of the training between two such lines."""


def live_line(name: str = "", stream: TextIO | None = None) -> Callable[[Session], None]:
    """Returns a function that writes steps, recent success or return, and the time left.

    A terminal gets one line that changes. Another stream, or a training with a name, gets a line now and then.

    Args:
        name: the name of the training, where several write to the same stream.
        stream: the standard error by default.
    """
    line, prefix = LiveLine(stream, LOG_SECONDS, live=not name), f"{name}: " if name else ""
    last_share = 0.0

    def show(session: Session) -> None:
        nonlocal last_share
        steps, total = int(session.model.num_timesteps), session.algo.steps
        if not line.is_due or (not line.live and steps / total < last_share + LOG_SHARE):
            return
        last_share = steps / total
        left = max(0, total - steps) * (time.monotonic() - session.opened) / max(steps - session.first_step, 1)
        line.draw(f"{prefix}{steps:,}/{total:,} steps{_score(session)}, {clock(left)} left")

    return show


def _score(session: Session) -> str:
    recent, count = session.lanes.recent(), len(session.lanes.ended)
    if not recent:
        return ""
    score = f"success {recent['success']:.0%}" if "success" in recent else f"return {recent['return']:.4g}"
    return f", {score} of the last {count} episodes"
