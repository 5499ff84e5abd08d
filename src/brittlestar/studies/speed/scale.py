"""What a sweep costs per cell beyond its rollouts: the figures behind docs/scale.md."""

import contextlib
import io
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from brittlestar.cells import run as cell
from brittlestar.cells.config_files import unchanging_files
from brittlestar.cells.job import Outcome, ResolvedJob
from brittlestar.cells.record import Record, encode
from brittlestar.cells.store import write_record
from brittlestar.sweeps.compose import composer_of
from brittlestar.sweeps.launch import compose_jobs, run_jobs
from brittlestar.sweeps.progress import Progress

from .sweeps import make_launcher
from .timing import Figure

_MICROSECONDS = 1e6
_EPISODES = 20


def scale(quick: bool) -> list[Figure]:
    """Composes many cells, has a made-up executor finish them, and counts files, bytes and memory per cell."""
    count = 2_000 if quick else 50_000
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
        folder, store = Path(place), f"{place}/store"
        launcher = make_launcher(folder / "sweep")
        overrides = [_cell(number, store) for number in range(count)]
        record = _real_cell(launcher, _cell(-1, store))
        before = _megabytes()
        started = time.perf_counter()
        with unchanging_files():
            jobs = compose_jobs(launcher, overrides)
        composed, memory = time.perf_counter() - started, _megabytes() - before
        started = time.perf_counter()
        run_jobs(jobs, folder / "sweep", _Finisher(record))
        recorded = time.perf_counter() - started
        started = time.perf_counter()
        run_jobs(jobs, folder / "again", _Finisher(record))
        reused = time.perf_counter() - started
        files = sum(1 for path in Path(store).rglob("*") if path.is_file())
        sizes = [path.stat().st_size for path in (folder / "sweep").iterdir()]
    return [
        Figure(f"composing and hashing one of {count:,} cells", composed / count * _MICROSECONDS, "µs", at_most=1000),
        Figure("writing a cell to the store and to the index of its sweep", recorded / count * _MICROSECONDS, "µs"),
        Figure("taking a cell from the store into the index of a sweep", reused / count * _MICROSECONDS, "µs"),
        Figure("memory of the driver per cell", memory / count * 1024, "kB"),
        Figure("files per cell in the store", files / count, at_most=2),
        Figure("files of all cells in the folder of the sweep", len(sizes)),
        Figure("bytes of a cell of 20 episodes in the index", sum(sizes) / count),
    ]


class _Finisher:
    """An executor that gives every cell the numbers of one real cell, as fast as they can be written."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def __call__(self, jobs: Sequence[ResolvedJob], progress: Progress) -> Iterator[Outcome]:
        for job in jobs:
            manifest = self.record.manifest | {"cell": job.cell}
            write_record(job.config["store"], job.cell, encode(manifest, self.record.arrays))
            yield Outcome("done", job.number, job.cell, _EPISODES)


def _cell(number: int, store: str) -> list[str]:
    words = ["env=cartpole", "policy=constant", "env.max_steps=20", f"episodes={_EPISODES}", f"store={store}"]
    return [*words, f"perturbation.sigma={number % 10 / 10 + 0.1}", f"seed={max(0, number) // 10}"]


def _real_cell(launcher: object, overrides: list[str]) -> Record:
    (job,) = compose_jobs(launcher, [overrides])
    composer_of.cache_clear()
    assert isinstance(job, ResolvedJob)
    outcome, record = cell.run(job), cell.reuse(job)
    assert record is not None, outcome.error
    return record


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
