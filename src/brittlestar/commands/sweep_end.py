"""The Hydra callback that aggregates a sweep when it ends, and sets the exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback

from brittlestar.commands.gate import run_gate
from brittlestar.commands.terminal import FAILED, leave
from brittlestar.errors import UserError, counted
from brittlestar.reports.gate_names import forget_gate, has_gate
from brittlestar.sweeps.folder import claim_sweep_folder

if TYPE_CHECKING:
    from brittlestar.cells.claims import Claim
    from brittlestar.reports.trackers.base import Tracker
    from brittlestar.results.aggregate import Tables
    from brittlestar.results.failures import FailureGroup
    from brittlestar.results.requirements import Requirement

MOST_REASONS = 20


class AggregateSweep(Callback):
    """Writes and prints the tables of a sweep, and ends non-zero when a cell failed.

    Hydra turns an exception of a callback into a warning and exit code 0, except for `SystemExit`.
    """

    def __init__(self) -> None:
        self._claim: Claim | None = None
        self._requirements: list[Requirement] = []

    def on_multirun_start(self, config: Any, **kwargs: Any) -> None:
        """Claims the folder of the sweep, and warns if the sweeper does not add the extra cells of the study."""
        sys.stderr.write(_missing_cells(config))
        try:
            self._requirements = _requirements(config)
            if tracker := _tracker(config):
                tracker.prepare()
            self._claim = claim_sweep_folder(config)
            forget_gate(Path(str(config.hydra.sweep.dir)))
        except UserError as error:
            leave(str(error))

    def __getstate__(self) -> dict[str, Any]:
        # Other launchers send the callback to their workers; only this process has the folder.
        return {}

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        """Aggregates the sweep."""
        try:
            _aggregate(config, self._requirements)
        except UserError as error:
            leave(str(error))
        except Exception:
            import traceback

            traceback.print_exc()
            sys.exit(FAILED)
        finally:
            if self._claim is not None:
                self._claim.release()


def _missing_cells(config: Any) -> str:
    if config.study is None:
        return ""
    from brittlestar.config.build import locate
    from hydra_plugins.brittlestar_plugins.cells import CellSweeper

    if issubclass(locate(config.hydra.sweeper._target_, "hydra.sweeper"), CellSweeper):
        return ""
    from brittlestar.studies.base import Study

    if locate(config.study._target_, "study").extra_cells is Study.extra_cells:
        return ""
    choices = config.hydra.runtime.choices
    sweeper, study = f"`hydra/sweeper={choices['hydra/sweeper']}`", f"`study={choices['study']}`"
    return f"brittlestar: {sweeper} does not add the extra cells of {study}; `hydra/sweeper=cells` does\n"


def _requirements(config: Any) -> list[Requirement]:
    """Returns the requirements of the gate; a mistake in one ends the sweep before it starts."""
    if not has_gate(config.gate):
        return []
    from brittlestar.config import plain_config
    from brittlestar.reports.gate_plan import requirements_of

    return requirements_of(plain_config(config.gate))


def _tracker(config: Any) -> Tracker | None:
    if config.hydra.runtime.choices.get("tracker") in (None, "none"):
        return None
    from brittlestar.config import plain_config
    from brittlestar.config.build import build

    return build(plain_config(config.tracker), "tracker")


def _track(config: Any, folder: Path, tables: Tables) -> None:
    """Logs the sweep; a tracker that fails is a note, because the results are on disk."""
    tracker = _tracker(config)
    if tracker is None:
        return
    from brittlestar.reports.trackers.sweep_log import sweep_log

    try:
        place = tracker.log(sweep_log(folder, tables, config.hydra.overrides.task))
        print(f"tracker {place}", flush=True)
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        sys.stderr.write(f"brittlestar: note: the tracker failed, and the results are in {folder}: {reason}\n")


def _aggregate(config: Any, requirements: list[Requirement]) -> None:
    from brittlestar.reports.overview import models_table
    from brittlestar.reports.summary import summarise
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.results.baseline_check import objections
    from brittlestar.sweeps import workers
    from brittlestar.sweeps.missing import missing_cells

    workers.stop()
    folder = Path(str(config.hydra.sweep.dir))
    tables, overview, errors = summarise([str(folder)], folder)
    failures = tables.failures
    # The table of models has the reasons.
    print_text(f"\n{models_table(tables) if config.check == 'models' else overview}", folder)
    if config.get("videos") and tables.finished:
        _film(folder, int(config.videos))
    missing = sum(len(sweep.numbers) for sweep in missing_cells(folder))
    code = run_gate(requirements, tables, folder, missing) if requirements else 0
    _track(config, folder, tables)
    if failures and config.check == "models":
        raise UserError(f"{len(failures)} of {counted(len(failures) + len(tables.cells), 'cell')} failed")
    if missing:
        errors.insert(0, f"{counted(missing, 'cell')} without a record: the launcher ended before them")
    if failures or errors:
        raise UserError("\n".join([failure_lines(failures)] * bool(failures) + errors))
    mismatches = objections([check for _, check in tables.baseline_checks]) if config.check == "baseline" else []
    if mismatches:
        raise UserError("; ".join(mismatches))
    if code:
        sys.exit(code)


def _film(folder: Path, count: int) -> None:
    """Films the worst episodes of each curve."""
    from brittlestar.reports.films import FILMS, film_sweep
    from brittlestar.reports.page.write import refresh_films
    from brittlestar.results.load import read_cells

    for film in film_sweep(read_cells(folder), folder / FILMS, count):
        print(*film.lines, sep="\n", flush=True)
    refresh_films(folder)


def failure_lines(failures: list[dict[str, Any]]) -> str:
    """Returns how many cells failed, and one line for each reason.

    Example:
        >>> rows = [{"error": "it broke", "overrides": f"env=cartpole seed={seed}"} for seed in (0, 1)]
        >>> print(failure_lines(rows))
        2 cells failed
          2 cells: it broke (env=cartpole, first: seed=0)
    """
    from brittlestar.results.failures import failure_groups

    groups = failure_groups(failures)
    lines = [f"{counted(len(failures), 'cell')} failed"]
    for group in groups[:MOST_REASONS]:
        lines.append(f"  {counted(group['cells'], 'cell')}: {group['error']}{_place(group)}")
    if len(groups) > MOST_REASONS:
        lines.append(f"  {len(groups) - MOST_REASONS} more reasons in failures.csv")
    return "\n".join(lines)


def _place(group: FailureGroup) -> str:
    text = ", ".join(filter(None, [group["overrides"], group["first"] and f"first: {group['first']}"]))
    return f" ({text})" if text else ""
