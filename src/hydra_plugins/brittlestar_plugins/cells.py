"""Sweeper and launcher for many cheap cells: Hydra's basic ones without their overhead."""

import functools
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.types import Override
from hydra.core.utils import JobReturn

from hydra_plugins.brittlestar_plugins.rounds import RoundsOfSweep


class CellLauncher(BasicLauncher):
    """Runs cells on workers of this machine; composes configs once, and takes cells that the store has from there."""

    def __init__(self, n_jobs: int = -1) -> None:
        super().__init__()
        self.n_jobs = n_jobs

    def executor(self) -> Any:
        """Returns what computes the cells that the store does not have, see `sweeps.launch`."""
        from brittlestar.sweeps.launch import run_locally

        return functools.partial(run_locally, self.n_jobs)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from brittlestar.reports.preload import prepare_report
        from brittlestar.sweeps.launch import launch

        threading.Thread(target=prepare_report, daemon=True).start()
        return launch(self, job_overrides, initial_job_idx, self.executor())


class ProtocolLauncher(CellLauncher):
    """Prints the evaluation protocol of a sweep, and runs nothing: `brittlestar plan key=value ...`."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from brittlestar.reports.protocol import planned_cells, protocol
        from brittlestar.sweeps.launch import compose_jobs

        print(protocol(planned_cells(compose_jobs(self, job_overrides))))
        # Hydra would call the callback that aggregates results.
        sys.exit()


class CellSweeper(BasicSweeper):
    """The basic sweeper, with lists of models and the cells that a study adds, or chooses in rounds."""

    def __init__(self, max_batch_size: int | None = None, params: Any = None) -> None:
        super().__init__(max_batch_size, params)
        self._rounds: RoundsOfSweep | None = None

    def split_arguments(self, overrides: list[Override], max_batch_size: int | None) -> list[list[list[str]]]:  # type: ignore[override]
        from brittlestar.errors import UserError
        from brittlestar.sweeps.compose import add_extra_cells, refuse_empty_dicts, refuse_swept_study
        from brittlestar.sweeps.model_list import models_of, without_policies
        from brittlestar.sweeps.option_globs import expand_options
        from brittlestar.sweeps.ranges import move_ranges

        assert self.hydra_context is not None and self.config is not None
        refuse_swept_study(overrides)
        refuse_empty_dicts(overrides, self.config)
        loader, jobs = self.hydra_context.config_loader, []
        # Hydra puts the overrides of the experiment first.
        overrides = expand_options(without_policies(overrides, len(self.params)), loader)
        overrides = move_ranges(overrides, self.config)
        for model in models_of(overrides, loader, lenient=self.config.check == "models"):
            (combinations,) = super().split_arguments([o for o in overrides if o.key_or_group not in model], None)
            jobs += [[*combination, *model.values()] for combination in combinations]
        if not jobs:
            raise UserError("the sweep has no cells: one of its keys has no values")
        folder = Path(str(self.config.hydra.sweep.dir))
        self._rounds = RoundsOfSweep.of_study(self.launcher, jobs, folder)
        if self._rounds is not None:
            return []
        self._check_gate(jobs)
        jobs = add_extra_cells(self.launcher, jobs)
        self._plan(jobs, 0)
        return [list(chunk) for chunk in self.split_overrides_to_chunks(jobs, max_batch_size)]

    def is_done(self) -> bool:
        if self._rounds is None:
            return super().is_done()
        first = len(self._rounds.jobs)
        is_last = not self._rounds.advance()
        if not is_last:
            self._plan(self._rounds.jobs, first)
        return is_last

    def get_job_batch(self) -> Sequence[Sequence[str]]:
        if self._rounds is not None and not isinstance(self.launcher, CellLauncher):
            from brittlestar.sweeps.launch import print_round

            print_round(self.launcher)
        return super().get_job_batch() if self._rounds is None else self._rounds.batch

    def _plan(self, jobs: list[list[str]], first: int) -> None:
        """Prepares the cells from `first` on for a launcher that starts each cell without a look at the others."""
        if isinstance(self.launcher, CellLauncher):
            return
        from brittlestar.cells.store import check_store
        from brittlestar.sweeps.compose import composer_of
        from brittlestar.sweeps.index_writer import write_plan
        from brittlestar.sweeps.launch import refuse_foreign_policies

        assert self.config is not None
        composer = composer_of(self.launcher)
        planned = [composer.job(overrides, first + i) for i, overrides in enumerate(jobs[first:])]
        refuse_foreign_policies(planned)
        for store in {os.path.expanduser(str(job.config.get("store", ""))) for job in planned} - {""}:
            check_store(store)
        write_plan(Path(str(self.config.hydra.sweep.dir)), jobs, first)

    def _check_gate(self, jobs: list[list[str]]) -> None:
        """Refuses a gate on curves or levels that the sweep does not have."""
        from brittlestar.reports.gate_names import has_gate

        gate = self.config.gate if self.config is not None else None
        if not has_gate(gate):
            return
        from brittlestar.config import plain_config
        from brittlestar.reports.gate_plan import refuse_unmeasured, requirements_of
        from brittlestar.sweeps.compose import composer_of

        composer = composer_of(self.launcher)
        # Seeds change neither curves nor levels.
        distinct = {tuple(text for text in job if not text.startswith("seed=")): job for job in jobs}
        planned = (composer.job(job, number) for number, job in enumerate(distinct.values()))
        refuse_unmeasured(requirements_of(plain_config(gate)), planned)

    def validate_batch_is_legal(self, batch: Any) -> None:
        if not isinstance(self.launcher, CellLauncher):
            super().validate_batch_is_legal(batch)
