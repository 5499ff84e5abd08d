"""What a tracker is, and what it needs."""

import importlib.util
from dataclasses import dataclass

from brittlestar.errors import UserError
from brittlestar.reports.trackers.sweep_log import SweepLog


@dataclass
class Tracker:
    """Logs nothing. Other trackers derive from it.

    Example:
        >>> Tracker().prepare()
    """

    def prepare(self) -> None:
        """Raises a `UserError` before a sweep starts, if the tracker cannot log it."""

    def log(self, sweep: SweepLog) -> str:
        """Logs a finished sweep as one run, and returns where it is; empty for nowhere."""
        return ""


def require_package(name: str, module: str) -> None:
    """Raises a `UserError` with the command that installs the package of a tracker, if a module is missing."""
    if importlib.util.find_spec(module) is None:
        raise UserError(f"`tracker={name}` needs the package {module}: pip install 'brittlestar[{name}]'")
