"""The Hydra callback that aggregates a sweep when it ends and sets the exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback

from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.results.failures import FailureGroup

SHOWN_REASONS = 20


class AggregateSweep(Callback):
    """Aggregates the cells of a sweep, prints the result, and ends non-zero when a cell failed.

    Hydra turns an exception of a callback into a warning and exit code 0, except for `SystemExit`.
    """

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        """Writes and prints the tables."""
        try:
            message = _report(config)
        except UserError as error:
            message = f"brittlestar: {error}"
        except Exception:
            import traceback

            traceback.print_exc()
            sys.exit(1)
        if message:
            sys.exit(message)


def _report(config: Any) -> str:
    """Prints the result of a sweep and returns why it counts as failed, if it does."""
    from brittlestar.reports.overview import models_table
    from brittlestar.reports.summary import summarise
    from brittlestar.results.baseline_check import objections
    from brittlestar.sweeps import workers

    workers.stop()
    folder = Path(str(config.hydra.sweep.dir))
    tables, shown = summarise([str(folder)], folder)
    print(f"\n{models_table(tables) if config.check == 'models' else shown}")
    if tables.failures and config.check == "models":
        # The table says why.
        return f"brittlestar: {len(tables.failures)} of {_cells(len(tables.failures + tables.cells))} failed"
    if tables.failures:
        return failure_lines(tables.failures)
    against = objections([check for _, check in tables.baseline_checks]) if config.check == "baseline" else []
    return f"brittlestar: {'; '.join(against)}" if against else ""


def failure_lines(failures: list[dict[str, Any]]) -> str:
    """Returns one line per reason, however many cells it took down.

    Example:
        >>> rows = [{"error": "it broke", "overrides": f"env=cartpole seed={seed}"} for seed in (0, 1)]
        >>> print(failure_lines(rows))
        brittlestar: 2 cells failed
          2 cells: it broke (env=cartpole, first: seed=0)
    """
    from brittlestar.results.failures import failure_groups

    groups = failure_groups(failures)
    lines = [f"  {_cells(group['cells'])}: {group['error']}{_which(group)}" for group in groups[:SHOWN_REASONS]]
    more = [f"  {len(groups) - SHOWN_REASONS} more reasons in failures.csv"] if len(groups) > SHOWN_REASONS else []
    return "\n".join([f"brittlestar: {_cells(len(failures))} failed", *lines, *more])


def _which(group: FailureGroup) -> str:
    parts = [group["overrides"], f"first: {group['first']}" if group["first"] else ""]
    cells = ", ".join(filter(None, parts))
    return f" ({cells})" if cells else ""


def _cells(count: int) -> str:
    return f"{count} {'cell' if count == 1 else 'cells'}"
