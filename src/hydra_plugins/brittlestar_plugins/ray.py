"""The launcher `ray`: cells on a Ray cluster."""

import functools
from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn

from hydra_plugins.brittlestar_plugins.cells import CellLauncher


class RayLauncher(CellLauncher):
    """Runs cells on a Ray cluster; the driver writes their records, so no file system is shared."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def executor(self) -> Any:
        from omegaconf import OmegaConf

        from brittlestar.sweeps.on_ray.executor import run_on_ray
        from brittlestar.sweeps.on_ray.options import RayOptions

        plain: dict[str, Any] = {
            key: OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
            for key, value in self.options.items()
        }
        return functools.partial(run_on_ray, RayOptions(**plain))

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from brittlestar.errors import UserError

        assert self.config is not None
        name = self.config.hydra.job.config_name
        if name != "config":
            # A training writes files as it goes, and the nodes share no folder with this machine.
            raise UserError(
                f"`hydra/launcher=ray` runs cells, and `{name} -m` has none; `hydra/launcher=basic` runs it here"
            )
        return super().launch(job_overrides, initial_job_idx)
