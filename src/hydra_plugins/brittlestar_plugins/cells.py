"""Sweeper and launcher for many cheap cells: Hydra's own basic sweeper and joblib launcher, less their overhead."""

from collections.abc import Sequence
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn
from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher


class CellLauncher(JoblibLauncher):
    """Fans cells out over joblib workers; composes configs once, and never starts a cell that is in the store."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from brittlestar.launch import launch

        return launch(self, job_overrides, initial_job_idx)


class CellSweeper(BasicSweeper):
    """The basic sweeper; with `CellLauncher`, which composes every cell first, it does not compose them twice."""

    def validate_batch_is_legal(self, batch: Any) -> None:
        if not isinstance(self.launcher, CellLauncher):
            super().validate_batch_is_legal(batch)
