"""What runs on a node: one training in a process of its own, whose output and checkpoints go to the driver."""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.cells.job import Outcome
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.shipped_files import renamed
from brittlestar.sweeps.on_ray.task import FINISHED, NEWS, REFUSED, STARTED, Parcel, other_simulator
from brittlestar.sweeps.workers import Death, Worker
from brittlestar.training.folder import METADATA
from brittlestar.training.job import TrainingJob
from brittlestar.training.on_ray.archive import pack_folder, pieces_of, unpack_folder
from brittlestar.training.spec import TrainingSpec

if TYPE_CHECKING:
    from brittlestar.training.session import Session

_LOOK_SECONDS = 0.5
_ATTEMPTS = 2
"""Processes that may die on one node: another task may have taken its memory."""
Item = tuple[str, Any]


@dataclass
class NodeTraining:
    """A training as it travels to a node."""

    job: TrainingJob
    cores: int
    checkpoint_seconds: float
    """Time between two checkpoints that go to the driver."""
    archive: str | None = None
    """File of the driver with the folder from which the training continues."""
    config: dict[str, Any] = field(default_factory=dict)
    """The config with the files of the node."""
    place: Path = Path()
    """Folder of this task on the node."""

    @property
    def home(self) -> Path:
        """Where the node trains."""
        return self.place / "training"

    @property
    def output(self) -> Path:
        """What the training prints."""
        return self.place / "output"

    @property
    def checkpoint(self) -> Path:
        """An archive that the driver has not got yet."""
        return self.place / "checkpoint"

    def outcome(self, error: str = "") -> Outcome:
        """Returns how it ended."""
        return Outcome("failed" if error else "done", self.job.number, self.job.cell, error=" ".join(error.split()))


def run_training(parcel: Parcel, root: str, folder: str) -> Iterator[Item]:
    """Runs one training; its folder goes to the driver as news, before the outcome."""
    (task,) = parcel.jobs
    task.config, task.place = renamed(task.job.config, parcel.places, root), Path(folder)
    task.home.mkdir()
    if task.archive:
        unpack_folder(Path(root + task.archive), task.home)
    difference = _difference(task)
    if difference:
        yield REFUSED, difference
        return
    yield STARTED, None
    outcome = yield from _followed(task)
    _name_driver_files(task.home / METADATA, parcel.places, root)
    if pack_folder(task.home, task.checkpoint):
        yield from _new_items(task)
    outcome.error = outcome.error.replace(root, "")
    yield FINISHED, (outcome, None)


def _difference(task: NodeTraining) -> str:
    """Returns how the simulator of this node differs from that of the driver; empty if it does not."""
    # What cannot be built fails this training alone, when it runs.
    with contextlib.suppress(UserError):
        spec = TrainingSpec.build(task.config, task.cores)
        simulator = spec.env.simulator(False, spec.parts.perturbation.needs_world)
        return other_simulator(spec.env.id, simulator, task.job.simulator)
    return ""


def _followed(task: NodeTraining) -> Generator[Item, None, Outcome]:
    """Trains in another process, which continues from its checkpoint if it dies; yields what it prints and saves."""
    printed, result = 0, Death("")
    for _ in range(_ATTEMPTS):
        worker = Worker()
        try:
            worker.give(train_here, task)
            is_running = True
            while is_running:
                is_running = not worker.pipe.poll(_LOOK_SECONDS)
                lines, printed = _new_lines(task.output, printed)
                yield from ((NEWS, line) for line in lines)
                yield from _new_items(task)
            result = worker.result()
        finally:
            worker.end()
        if not isinstance(result, Death):
            return result
    return task.outcome(result.reason.replace("the cell", "the training"))


def _new_lines(file: Path, start: int) -> tuple[list[str], int]:
    """Returns the whole lines of a file from a position on, and the position behind them."""
    if not file.exists():
        return [], start
    with file.open("rb") as stream:
        stream.seek(start)
        whole, newline, _ = stream.read().rpartition(b"\n")
    lines = [line for line in whole.decode(errors="replace").splitlines() if line.strip()]
    return lines, start + len(whole) + len(newline)


def _new_items(task: NodeTraining) -> Iterator[Item]:
    """Yields the pieces of an archive that is there."""
    if task.checkpoint.exists():
        sent = task.checkpoint.rename(task.place / "sent")
        yield from ((NEWS, piece) for piece in pieces_of(sent))
        sent.unlink()


def _name_driver_files(metadata: Path, places: dict[str, str], root: str) -> None:
    """Replaces the files of the node in the facts of a training by those of the driver."""
    if metadata.is_file():
        text = metadata.read_text()
        for value, place in sorted(places.items(), key=lambda item: -len(item[1])):
            text = text.replace(json.dumps(root + place)[1:-1], json.dumps(value)[1:-1])
        metadata.write_text(text)


def train_here(task: NodeTraining) -> Outcome:
    """Trains in this process; an error is returned, never raised."""
    from brittlestar.training.train import live_line, run_session, set_threads

    with (
        task.output.open("a", buffering=1) as stream,
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
    ):
        try:
            set_threads(task.cores)
            spec = TrainingSpec.build(task.config, task.cores)
            on_step = sending_checkpoints(task, live_line(task.job.name))
            run_session(spec, task.job.config, task.home, on_step)
        except UserError as error:
            return task.outcome(str(error))
        except Exception as error:
            traceback.print_exc()
            return task.outcome(f"{type(error).__name__}: {error}")
        return task.outcome()


def sending_checkpoints(task: NodeTraining, show: Callable[[Session], None]) -> Callable[[Session], None]:
    """Returns a function that also packs a new checkpoint for the driver, after some time."""
    packed, steps = time.monotonic(), -1

    def on_step(session: Session) -> None:
        nonlocal packed, steps
        show(session)
        steps = session.first_step if steps < 0 else steps
        if session.progress["steps"] != steps and time.monotonic() - packed >= task.checkpoint_seconds:
            fresh = task.place / "packing"
            pack_folder(task.home, fresh)
            fresh.rename(task.checkpoint)
            packed, steps = time.monotonic(), session.progress["steps"]

    return on_step
