"""The tracker TensorBoard."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.reports.trackers.base import Tracker, require_package
from brittlestar.reports.trackers.sweep_log import SweepLog
from brittlestar.results.format import markdown


@dataclass
class TensorBoardTracker(Tracker):
    """Writes an event file to a folder; null is the folder `tensorboard` of the sweep."""

    folder: str | None = None

    def prepare(self) -> None:
        """Raises a `UserError` if TensorBoard is not installed."""
        require_package("tensorboard", "tensorboard")

    def log(self, sweep: SweepLog) -> str:
        """Writes the numbers, config and summary as text, the report and the pictures."""
        from torch.utils.tensorboard import SummaryWriter

        place = Path(self.folder).expanduser() / sweep.name if self.folder else sweep.folder / "tensorboard"
        for events in place.glob("events.out.tfevents.*"):
            # Of the same sweep: two runs in one folder would be drawn over each other.
            events.unlink()
        with SummaryWriter(str(place)) as writer:
            log: Any = writer
            for step, numbers in sweep.steps():
                for name, value in numbers.items():
                    log.add_scalar(name, value, step)
            for name, value in sweep.summary.items():
                log.add_scalar(f"summary/{name}", value, 0)
            rows = [{"key": key, "value": str(value)} for key, value in sweep.config.items()]
            log.add_text("config", markdown(rows, ["key", "value"]))
            for path in (path for path in sweep.files if path.suffix == ".md"):
                log.add_text(path.name, path.read_text())
            for path in sweep.pictures:
                log.add_image(f"picture/{path.stem}", _pixels(path), dataformats="HWC")
        return f"{place}: tensorboard --logdir {place}"


def _pixels(path: Path) -> Any:
    import numpy as np
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
