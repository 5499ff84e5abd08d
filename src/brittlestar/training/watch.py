"""What happens while a model learns: checkpoints are written, a line is shown, curves are logged."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from brittlestar.sweeps.progress import LiveLine, clock

if TYPE_CHECKING:
    from brittlestar.training.session import Session

LOG_SECONDS = 10.0
"""Shortest time between two lines in a stream that is no terminal."""
LOG_SHARE = 0.05
"""Smallest share of the training between two such lines."""


class Watch(BaseCallback):
    """Saves every so many steps and calls a function after each; stops when the session is asked to."""

    def __init__(self, session: Session, show: Callable[[Session], None]) -> None:
        super().__init__()
        self._session, self._show = session, show
        self._saved = session.progress["steps"] // session.order.save_every

    def _on_step(self) -> bool:
        """Saves if it is time."""
        session = self._session
        # At the end the session saves, when the last steps are learnt from.
        due = self.num_timesteps // session.order.save_every > self._saved
        if due and self.num_timesteps < session.algo.steps:
            self._saved = self.num_timesteps // session.order.save_every
            session.save()
            self.log()
        self._show(session)
        return not session.asked_to_stop

    def log(self, write: bool = False) -> None:
        """Tells TensorBoard how the last episodes and the last checkpoint went.

        Args:
            write: at once, and not with what the algorithm logs next.
        """
        for name, value in _recent(self._session).items():
            self.logger.record(f"rollout/{name}", value)
        for name, value in self._session.scores.items():
            self.logger.record(f"evaluation/{name}", value)
        if write:
            self.logger.dump(self.num_timesteps)


def live_line(name: str = "", stream: TextIO | None = None) -> Callable[[Any], None]:
    """Returns a function that shows steps, recent success or return, and the time left.

    On a terminal it is one line that changes; elsewhere, or with a name, a line now and then.

    Args:
        name: of the training, where several write to the same place.
        stream: where to; by default the standard error.
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


def _recent(session: Session) -> dict[str, float]:
    """Returns mean return and success of the last episodes, where they are known."""
    if not session.lanes.ended:
        return {}
    returns, successes = (np.array(values) for values in zip(*session.lanes.ended, strict=True))
    known = {"success": float(np.nanmean(successes))} if not np.isnan(successes).all() else {}
    return {"return": float(returns.mean())} | known


def _score(session: Session) -> str:
    recent, count = _recent(session), len(session.lanes.ended)
    if not recent:
        return ""
    told = f"success {recent['success']:.0%}" if "success" in recent else f"return {recent['return']:.4g}"
    return f", {told} of the last {count} episodes"
