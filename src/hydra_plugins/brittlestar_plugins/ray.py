"""The launcher `ray`: cells, trainings and hardenings on a Ray cluster."""

import functools
from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn

from hydra_plugins.brittlestar_plugins.cells import CellLauncher


class RayLauncher(CellLauncher):
    """Runs cells and trainings on a Ray cluster; the driver writes what comes back, so no file system is shared."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def executor(self) -> Any:
        from brittlestar.sweeps.on_ray.executor import run_on_ray

        return functools.partial(run_on_ray, self._ray_options())

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        assert self.config is not None
        if self.config.hydra.job.config_name == "config":
            return super().launch(job_overrides, initial_job_idx)
        from brittlestar.cells.job import ResolvedJob
        from brittlestar.sweeps.deferred import launch_deferred
        from brittlestar.training.job import TrainingJob

        options = self._ray_options()
        executors = {
            ResolvedJob: functools.partial(_compute_cells, options),
            TrainingJob: functools.partial(_train, options),
        }
        return launch_deferred(self, job_overrides, initial_job_idx, executors)

    def _ray_options(self) -> Any:
        from omegaconf import OmegaConf

        from brittlestar.sweeps.on_ray.options import RayOptions

        plain: dict[str, Any] = {
            key: OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
            for key, value in self.options.items()
        }
        return RayOptions(**plain)


def _compute_cells(options: Any, jobs: Any, progress: Any) -> Any:
    from brittlestar.sweeps.backend_notes import print_backends
    from brittlestar.sweeps.on_ray.executor import run_on_ray

    print_backends(jobs)
    return run_on_ray(options, jobs, progress)


def _train(*arguments: Any) -> Any:
    # Imports Stable-Baselines3, which a command without trainings does not need.
    from brittlestar.training.on_ray.driver import train_on_ray

    return train_on_ray(*arguments)
