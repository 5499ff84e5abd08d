"""Sweeper and launcher for many cheap cells: Hydra's own basic sweeper and joblib launcher, less their overhead."""

from collections.abc import Sequence
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.types import Override
from hydra.core.utils import JobReturn
from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher


class CellLauncher(JoblibLauncher):
    """Fans cells out over joblib workers; composes configs once, and never starts a cell that is in the store."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from brittlestar.commands.sweep_end import import_table_modules
        from brittlestar.sweeps.launch import launch

        return launch(self, job_overrides, initial_job_idx, import_table_modules)


class CellSweeper(BasicSweeper):
    """The basic sweeper, which also takes a list of models, adds the cells of a study, and composes nothing twice."""

    def split_arguments(self, overrides: list[Override], max_batch_size: int | None) -> list[list[list[str]]]:  # type: ignore[override]
        from brittlestar.sweeps.compose import add_extra_cells, refuse_swept_study
        from brittlestar.sweeps.model_list import models_of, without_policies
        from brittlestar.sweeps.option_globs import expand_options

        assert self.hydra_context is not None and self.config is not None
        refuse_swept_study(overrides)
        loader, jobs = self.hydra_context.config_loader, []
        # Hydra puts those of the experiment first.
        overrides = expand_options(without_policies(overrides, len(self.params)), loader)
        for model in models_of(overrides, loader, lenient=self.config.check == "models"):
            (rest,) = super().split_arguments([o for o in overrides if o.key_or_group not in model], None)
            jobs += [[*combination, *model.values()] for combination in rest]
        jobs = add_extra_cells(self.launcher, jobs)
        return [list(chunk) for chunk in self.split_overrides_to_chunks(jobs, max_batch_size)]

    def validate_batch_is_legal(self, batch: Any) -> None:
        if not isinstance(self.launcher, CellLauncher):
            super().validate_batch_is_legal(batch)
