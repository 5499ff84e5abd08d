"""What Hydra calls when a sweep ends: the tables, and the exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback

from brittlestar.errors import UserError


class Tables(Callback):
    """Aggregates the cells of a sweep, prints the result, and ends non-zero when a cell failed.

    Hydra turns an exception of a callback into a warning and exit code 0, except for `SystemExit`.
    """

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        """Writes and prints the tables."""
        from brittlestar import workers
        from brittlestar.report import models_table, summarise
        from brittlestar.single import mismatches

        workers.stop()
        folder = Path(str(config.hydra.sweep.dir))
        try:
            if config.reference is not None:
                _add_references(folder)
            tables, shown = summarise([str(folder)], folder)
        except UserError as error:
            sys.exit(f"brittlestar: {error}")
        except Exception:
            import traceback

            traceback.print_exc()
            sys.exit(1)
        print(f"\n{models_table(tables) if config.check == 'models' else shown}")
        if tables.failures:
            sys.exit(_failed(tables.failures))
        if config.check == "baseline" and mismatches(tables):
            sys.exit(f"brittlestar: {'; '.join(mismatches(tables))}")


def _add_references(folder: Path) -> None:
    from brittlestar import cell
    from brittlestar.stress.references import missing_jobs

    jobs = missing_jobs(folder.absolute())
    for number, job in enumerate(jobs, 1):
        sys.stderr.write(f"reference pass {number} of {len(jobs)}\n")
        outcome = cell.run(job)
        if outcome.error:
            raise UserError(f"the reference pass failed: {outcome.error}")


def _failed(failures: list[dict[str, Any]]) -> str:
    lines = [f"  {row['overrides']}: {row['error']}" for row in failures]
    return "\n".join([f"brittlestar: {len(failures)} {'cell' if len(failures) == 1 else 'cells'} failed", *lines])
