"""Several trainings of one command: how they share the machine, and the table of what they gave."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback

from brittlestar.results.format import bounded, markdown
from brittlestar.training.folder import METADATA

_FILE = "training.json"


@dataclass
class Outcome:
    """How one training of a grid ended."""

    overrides: list[str]
    folder: str | None = None
    error: str | None = None

    def write(self, folder: Path) -> None:
        """Leaves it where the table finds it: trainings may run in other processes, or on other machines."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps(asdict(self)) + "\n")


def share_of_cores(hydra: Any) -> int:
    """Returns how many cores one of the trainings may use: those of joblib run side by side on this machine."""
    from brittlestar.engine.cores import cores

    workers = int(hydra.launcher.get("n_jobs", 1))
    return max(1, cores() // (workers if workers > 0 else cores()))


class Trainings(Callback):
    """Prints a table when a grid of trainings ends, and ends non-zero when one of them failed."""

    def on_multirun_start(self, config: Any, **kwargs: Any) -> None:
        """Forgets what another grid left in the same folder."""
        for path in Path(str(config.hydra.sweep.dir)).glob(f"*/{_FILE}"):
            path.unlink()

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        """Prints the table."""
        paths = Path(str(config.hydra.sweep.dir)).glob(f"*/{_FILE}")
        outcomes = [Outcome(**json.loads(path.read_text())) for path in sorted(paths, key=_number)]
        if any(outcome.folder for outcome in outcomes):
            print(f"\n{table(outcomes)}")
        failed = [f"  {' '.join(each.overrides)}: {each.error}" for each in outcomes if each.error]
        if failed:
            noun = "training" if len(failed) == 1 else "trainings"
            # Hydra turns any other exception of a callback into a warning and exit code 0.
            sys.exit("\n".join([f"brittlestar: {len(failed)} {noun} failed", *failed]))


def table(outcomes: list[Outcome]) -> str:
    """Writes what the trainings reached, in Markdown."""
    columns = ("training", "steps", "seconds", "clean return", "clean success", "folder")
    rows = []
    for outcome in outcomes:
        if outcome.folder is not None:
            facts = json.loads((Path(outcome.folder) / METADATA).read_text())
            cells = [" ".join(outcome.overrides), f"{facts['steps']:,}", f"{facts['seconds']:.0f}"]
            cells += [_score(facts["clean"].get(name)) for name in ("return", "success_final")]
            rows.append(dict(zip(columns, [*cells, outcome.folder], strict=True)))
    return markdown(rows, columns)


def _score(score: Any) -> str:
    if not isinstance(score, dict):
        # Trainings of before had no intervals.
        return "" if score is None else f"{score:.4g}"
    return bounded(score["mean"], score["low"], score["high"])


def _number(path: Path) -> tuple[int, str]:
    return (int(path.parent.name), "") if path.parent.name.isdigit() else (sys.maxsize, path.parent.name)
