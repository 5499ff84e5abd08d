"""Several trainings of one command: their share of the machine, and the table of their scores."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback

from brittlestar.engine.cores import cores
from brittlestar.errors import counted
from brittlestar.reports.terminal_text import print_text
from brittlestar.results.format import markdown
from brittlestar.training.folder import METADATA
from brittlestar.training.scores import score_text

_FILE = "training.json"
_COLUMNS = ("training", "steps", "seconds", "clean return", "clean success", "folder")


@dataclass
class TrainingOutcome:
    """How one training of a grid ended."""

    overrides: list[str]
    folder: str | None = None
    error: str | None = None

    def write(self, folder: Path) -> None:
        """Writes a file for the table, because trainings may run in other processes or on other machines."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps(asdict(self)) + "\n")

    def row(self) -> dict[str, str]:
        """Returns the row of a finished training."""
        facts = json.loads((Path(str(self.folder)) / METADATA).read_text())
        scores = [score_text(facts["clean"].get(name)) for name in ("return", "success_final")]
        cells = [" ".join(self.overrides), f"{facts['steps']:,}", f"{facts['seconds']:.0f}", *scores, str(self.folder)]
        return dict(zip(_COLUMNS, cells, strict=True))


def share_of_cores(hydra: Any) -> int:
    """Returns how many cores one training may use; the joblib launcher runs several on this machine."""
    workers = int(hydra.launcher.get("n_jobs", 1))
    return max(1, cores() // (workers if workers > 0 else cores()))


class Trainings(Callback):
    """Prints a table when a grid of trainings ends; the exit code is not zero if one of them failed."""

    def on_multirun_start(self, config: Any, **kwargs: Any) -> None:
        """Removes the outcomes of an earlier grid from the folder."""
        for path in _files(config):
            path.unlink()

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        """Prints the table."""
        outcomes = [TrainingOutcome(**json.loads(path.read_text())) for path in sorted(_files(config), key=_number)]
        rows = [outcome.row() for outcome in outcomes if outcome.folder]
        if rows:
            print_text(f"\n{markdown(rows, _COLUMNS)}")
        failures = [f"  {' '.join(outcome.overrides)}: {outcome.error}" for outcome in outcomes if outcome.error]
        if failures:
            # Hydra turns any other exception of a callback into a warning and exit code 0.
            sys.exit("\n".join([f"brittlestar: {counted(len(failures), 'training')} failed", *failures]))


def _files(config: Any) -> list[Path]:
    return list(Path(str(config.hydra.sweep.dir)).glob(f"*/{_FILE}"))


def _number(path: Path) -> tuple[int, str]:
    return (int(path.parent.name), "") if path.parent.name.isdigit() else (sys.maxsize, path.parent.name)
