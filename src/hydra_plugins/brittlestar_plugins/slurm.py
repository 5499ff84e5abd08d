"""Launcher of cells, trainings and hardenings as Slurm jobs."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn

from hydra_plugins.brittlestar_plugins.cells import CellLauncher


class SlurmLauncher(CellLauncher):
    """Runs cells in Slurm jobs, many cells in each; `conf/hydra/launcher/slurm.yaml` lists the options."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options

    def executor(self) -> Any:
        from brittlestar.sweeps.on_slurm.work import CELLS

        return self._executor(CELLS)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        assert self.config is not None
        if self.config.hydra.job.config_name == "config":
            return super().launch(job_overrides, initial_job_idx)
        from brittlestar.sweeps.on_slurm.work import CALLS, launch_calls

        returns, failures = launch_calls(self, job_overrides, initial_job_idx, self._executor(CALLS))
        self._report([(call.number, call.overrides, error) for call, error in failures])
        return returns

    def _executor(self, work: Any) -> Any:
        from brittlestar.sweeps.on_slurm.executor import run_on_slurm
        from brittlestar.sweeps.on_slurm.job_options import SlurmOptions
        from brittlestar.sweeps.on_slurm.slurm_commands import require_slurm

        # Before anything is composed.
        require_slurm()
        return functools.partial(run_on_slurm, SlurmOptions(**self._options), work)

    def _report(self, failures: list[tuple[int, list[str], str]]) -> None:
        """Records failed trainings for the table of the grid; a failed call of another command is an error."""
        from brittlestar.errors import UserError
        from brittlestar.training.grid import TrainingOutcome

        assert self.config is not None
        if self.config.hydra.job.config_name == "train":
            for number, overrides, error in failures:
                folder = Path(str(self.config.hydra.sweep.dir)) / str(number)
                TrainingOutcome(overrides, error=error).write(folder)
        elif failures:
            raise UserError("\n".join(f"{' '.join(overrides)}: {error}" for _, overrides, error in failures))
