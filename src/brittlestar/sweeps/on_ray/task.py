"""What runs on a node: computes the cells of a task into a store of its own, and yields their records."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.cells.job import ResolvedJob
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.shipped_code import MODULES
from brittlestar.sweeps.on_ray.shipped_files import renamed

if TYPE_CHECKING:
    from brittlestar.cells.job import Outcome

STARTED, FINISHED, REFUSED = "started", "finished", "refused"
_FOLDER = Path.cwd()
"""The folder that Ray made for this sweep on this node: it holds the code, and Ray removes it."""


@dataclass
class Parcel:
    """The cells of a task, and what the driver knows about them."""

    jobs: Sequence[ResolvedJob]
    workers: int
    timeout_minutes: float | None
    places: dict[str, str]
    """Absolute path on the driver of each value of a config that names a file or a folder."""
    code: dict[str, Any]
    """What `code_identity` returns for the driver."""
    argv: list[str]


def code_identity() -> dict[str, Any]:
    """Returns what must be the same on every node: the engine and the packages that can change a result."""
    from brittlestar.cells.identity import engine_digest, versions

    return {"engine": engine_digest(), "python": ".".join(map(str, sys.version_info[:2])), **versions()}


def compute_parcel(parcel: bytes, files: dict[str, Any], fetch: Callable[[Any], bytes]) -> Iterator[bytes]:
    """Yields pickled pairs: how the task goes on, and an outcome with the record of the cell.

    `files` maps the absolute paths of files on the driver to digests of their content and what `fetch` takes.
    """
    sys.path += [path for path in [str(_FOLDER / MODULES)] if path not in sys.path]
    content: Parcel = pickle.loads(parcel)
    sys.argv = content.argv
    with _temporary_store() as store, _without_main_module():
        root, jobs, difference = "", list[ResolvedJob](), _other_code(content.code)
        if not difference:
            root = _place_files(files, fetch)
            jobs = [_here(job, store, content.places, root) for job in content.jobs]
            difference = _other_simulator(jobs)
        if difference:
            yield pickle.dumps((REFUSED, difference))
            return
        yield pickle.dumps((STARTED, None))
        for outcome, record in _compute(jobs, content, store):
            outcome.error = outcome.error.replace(root, "")
            yield pickle.dumps((FINISHED, (outcome, record)))


def _compute(jobs: list[ResolvedJob], parcel: Parcel, store: str) -> Iterator[tuple[Outcome, bytes | None]]:
    from brittlestar.cells.store import cell_file, read_record
    from brittlestar.sweeps import workers

    try:
        for outcome in workers.run_on_workers(jobs, parcel.workers, parcel.timeout_minutes):
            yield outcome, read_record(store, outcome.cell) if outcome.status != "failed" else None
            cell_file(store, outcome.cell).unlink(missing_ok=True)
    finally:
        # Between tasks, a node gets back the memory of the workers.
        workers.stop()


def _other_code(code: dict[str, Any]) -> str:
    """Returns what differs here from the driver and can change a result; empty if nothing does."""
    here = code_identity()
    for name, version in code.items():
        if here[name] != version:
            return f"the node {os.uname().nodename} has {name} {here[name]}, this sweep has {name} {version}"
    return ""


def _other_simulator(jobs: list[ResolvedJob]) -> str:
    """Returns which environment another simulator steps here than on the driver; empty if there is none."""
    for job in {str(job.config["env"]): job for job in jobs}.values():
        fresh = copy.copy(job)
        vars(fresh).pop("simulator")
        if fresh.simulator != job.simulator:
            place = f"the node {os.uname().nodename} simulates {job.config['env']['id']}"
            return f"{place} by {fresh.simulator}, this sweep by {job.simulator}"
    return ""


def _here(job: ResolvedJob, store: str, places: dict[str, str], root: str) -> ResolvedJob:
    """Returns a job that uses the store and the files of this node; the hash of its cell is that of the driver."""
    job = copy.copy(job)
    job.config = renamed(job.config, places, root) | {"store": store}
    return job


def _place_files(files: dict[str, Any], fetch: Callable[[Any], bytes]) -> str:
    """Writes files below a folder, each content once per node, and returns the folder.

    Its name comes from all contents: the next sweep may have other files of the same names.
    """
    name = hashlib.sha256(repr(sorted((path, digest) for path, (digest, _) in files.items())).encode()).hexdigest()
    root = str(_FOLDER / "files" / name[:16])
    for path, (digest, reference) in files.items():
        content, place = _FOLDER / "contents" / digest, Path(root + path)
        if not content.exists():
            _write_content(content, fetch(reference), path)
        place.parent.mkdir(parents=True, exist_ok=True)
        # Another task may place the same file now.
        with contextlib.suppress(FileExistsError):
            os.link(content, place)
    return root


def _write_content(content: Path, data: bytes, path: str) -> None:
    if hashlib.sha256(data).hexdigest() != content.name:
        raise UserError(f"{path} changed while the sweep was running")
    content.parent.mkdir(parents=True, exist_ok=True)
    temporary = content.with_name(f"{content.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.rename(content)


@contextlib.contextmanager
def _temporary_store() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="cells-", dir=_FOLDER)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Saves each worker process the import of Ray's main module, which Python would run there again."""
    main = sys.modules["__main__"]
    path = vars(main).pop("__file__", None)
    try:
        yield
    finally:
        if path is not None:
            main.__file__ = path
