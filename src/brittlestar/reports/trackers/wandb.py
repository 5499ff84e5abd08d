"""The tracker Weights & Biases."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.errors import UserError
from brittlestar.reports.trackers.base import Tracker, require_package
from brittlestar.reports.trackers.sweep_log import SweepLog


@dataclass
class WandbTracker(Tracker):
    """Logs a run to a project; a null setting is that of the environment variables and files of W&B.

    `mode` is online, offline or disabled. `name` is null for the name of the sweep's folder.
    """

    project: str = "brittlestar"
    entity: str | None = None
    mode: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        modes = (None, "online", "offline", "disabled")
        if self.mode not in modes:
            raise UserError(f"`tracker.mode` must be null, online, offline or disabled, got {self.mode}")

    def prepare(self) -> None:
        """Raises a `UserError` if W&B is not installed, or has no login in online mode."""
        require_package("wandb", "wandb")
        if (self.mode or os.environ.get("WANDB_MODE") or "online") == "online":
            import wandb

            try:
                # It asks on a terminal, now rather than after hours of computing.
                wandb.login()
            except wandb.Error as error:
                reason = " ".join(str(error).split())
                raise UserError(f"`tracker=wandb` has no login ({reason}); or take `tracker.mode=offline`") from None

    def log(self, sweep: SweepLog) -> str:
        """Logs the numbers, then pictures, page and files."""
        import wandb

        start: Any = wandb.init
        run = start(
            project=self.project,
            entity=self.entity,
            mode=self.mode,
            name=self.name or sweep.name,
            config=sweep.config,
            settings=wandb.Settings(silent=True, console="off"),
        )
        with run:
            _define_axes(run, sweep)
            # W&B wants steps that grow, and levels have a step of their own.
            for _, numbers in sweep.steps():
                run.log(numbers)
            run.summary.update({f"summary/{name}": value for name, value in sweep.summary.items()})
            for path in sweep.pictures:
                run.log({f"picture/{path.stem}": wandb.Image(str(path))})
            for path in sweep.files:
                if path.suffix == ".html":
                    run.log({path.stem: wandb.Html(str(path))})
                place = Path(run.dir) / path.relative_to(sweep.folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)
        # Its process writes the end of the run when it ends.
        wandb.teardown()
        # The address of an offline run is a warning.
        return f"wandb sync {Path(run.dir).parent}" if run.offline else run.url or "disabled"


def _define_axes(run: Any, sweep: SweepLog) -> None:
    """Makes the number of the cell, and the strength, the x axes of the charts."""
    run.define_metric("cell/*", step_metric="cell/number")
    for curve in sweep.curves:
        run.define_metric(f"curve/{curve}/*", step_metric=f"curve/{curve}/strength")
