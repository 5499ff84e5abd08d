"""What happens while a model learns: episodes are counted, checkpoints written, a line is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

if TYPE_CHECKING:
    from brittlestar.training.session import Session


class Watch(BaseCallback):
    """Saves every so many steps and calls a function after each."""

    def __init__(self, session: Session, show: Callable[[Session], None]) -> None:
        super().__init__()
        self._session, self._show = session, show
        self._saved = session.progress["steps"] // session.order.save_every

    def _on_step(self) -> bool:
        """Counts the episodes that ended, and saves if it is time."""
        session = self._session
        for info in self.locals.get("infos", ()):
            if "episode" in info:
                session.recent.append((info["episode"]["r"], float(info.get("is_success", np.nan))))
        if self.num_timesteps // session.order.save_every > self._saved:
            self._saved = self.num_timesteps // session.order.save_every
            session.save()
            self._log()
        self._show(session)
        return True

    def _log(self) -> None:
        returns, successes = zip(*self._session.recent, strict=True) if self._session.recent else ((), ())
        if returns:
            self.logger.record("rollout/return", float(np.mean(returns)))
        if successes and not np.isnan(successes).all():
            self.logger.record("rollout/success", float(np.nanmean(successes)))


def live_line() -> Callable[[Any], None]:
    """Returns a function that shows steps, recent success or return, and the time left."""
    live, last = sys.stderr.isatty(), [0.0]

    def show(session: Session) -> None:
        now = time.monotonic()
        if not live or now - last[0] < 0.5:
            return
        last[0] = now
        steps, total = int(session.model.num_timesteps), session.algo.steps
        done = max(steps - session.first_step, 1)
        left = (total - steps) * (now - session.opened) / done
        sys.stderr.write(f"\r\x1b[2K{steps:,}/{total:,} steps{_score(session)}, {_clock(left)} left")
        sys.stderr.flush()

    return show


def _score(session: Session) -> str:
    if not session.recent:
        return ""
    returns, successes = (np.array(values) for values in zip(*session.recent, strict=True))
    if not np.isnan(successes).all():
        return f", success {np.nanmean(successes):.0%} of the last {len(successes)} episodes"
    return f", return {returns.mean():.4g} over the last {len(returns)} episodes"


def _clock(seconds: float) -> str:
    """Writes a time.

    Example:
        >>> _clock(3725)
        '1:02:05'
    """
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
