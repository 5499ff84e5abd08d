"""What runs on a node: places the files of a task, has its jobs run there, and computes cells."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.cells.job import ResolvedJob
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.shipped_code import MODULES
from brittlestar.sweeps.on_ray.shipped_files import renamed

if TYPE_CHECKING:
    from brittlestar.cells.job import Outcome

STARTED, FINISHED, REFUSED, NEWS = "started", "finished", "refused", "news"
_FOLDER = Path.cwd()
"""The folder that Ray made for this sweep on this node: it holds the code, and Ray removes it."""


@dataclass
class Parcel:
    """The jobs of a task, and what the driver knows about them."""

    jobs: Sequence[Any]
    run: NodeFunction
    workers: int
    timeout_minutes: float | None
    places: dict[str, str]
    """Absolute path on the driver of each value of a config that names a file or a folder."""
    code: dict[str, Any]
    """What `code_identity` returns for the driver."""
    argv: list[str]


NodeFunction = Callable[[Parcel, str, str], Iterator[tuple[str, Any]]]
"""Runs the jobs of a parcel, with the root of its files and a folder of its own; yields how the task goes on, and:

- `REFUSED`: why this node cannot run them,
- `STARTED`: nothing,
- `NEWS`: what `RayWork.hear` takes, from a task of one job,
- `FINISHED`: the outcome of a job, and its result.
"""


def code_identity(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Returns what must be the same on every node: the engine and the packages that can change a result."""
    from brittlestar.cells.identity import engine_digest, versions
    from brittlestar.envs.backends import package_version

    own = {"engine": engine_digest(), "python": ".".join(map(str, sys.version_info[:2])), **versions()}
    return {name: package_version(name) for name in packages} | own


def compute_parcel(parcel: bytes, files: dict[str, Any], fetch: Callable[[Any], bytes]) -> Iterator[bytes]:
    """Yields what the function of a parcel yields, pickled.

    `files` maps the absolute paths of files on the driver to digests of their content and what `fetch` takes.
    """
    sys.path += [path for path in [str(_FOLDER / MODULES)] if path not in sys.path]
    content: Parcel = pickle.loads(parcel)
    sys.argv = content.argv
    with _temporary_folder() as folder, _without_main_module():
        difference = _other_code(content.code)
        if difference:
            yield pickle.dumps((REFUSED, difference))
            return
        for item in content.run(content, _place_files(files, fetch), folder):
            yield pickle.dumps(item)


def run_cells(parcel: Parcel, root: str, folder: str) -> Iterator[tuple[str, Any]]:
    """Computes cells into a store of their own; the result of each is its record."""
    jobs = [_here(job, folder, parcel.places, root) for job in parcel.jobs]
    for job in {str(job.config["env"]): job for job in jobs}.values():
        fresh = copy.copy(job)
        vars(fresh).pop("simulator")
        difference = other_simulator(job.config["env"]["id"], fresh.simulator, job.simulator)
        if difference:
            yield REFUSED, difference
            return
    yield STARTED, None
    for outcome, record in _compute(jobs, parcel, folder):
        outcome.error = outcome.error.replace(root, "")
        yield FINISHED, (outcome, record)


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
    here = code_identity(code)
    for name, version in code.items():
        if here[name] != version:
            return f"the node {os.uname().nodename} has {name} {here[name]}, this sweep has {name} {version}"
    return ""


def other_simulator(env: str, here: dict[str, str], there: dict[str, str]) -> str:
    """Returns that another simulator steps an environment here than on the driver; empty if it is the same."""
    if here == there:
        return ""
    return f"the node {os.uname().nodename} simulates {env} by {here}, this sweep by {there}"


def _here(job: ResolvedJob, store: str, places: dict[str, str], root: str) -> ResolvedJob:
    """Returns a job that uses the store and the files of this node; the hash of its cell is that of the driver."""
    job = copy.copy(job)
    job.config = renamed(job.config, places, root) | {"store": store}
    # Copies have the digests of the files that were sent, and do not change.
    job.has_own_files = False
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
def _temporary_folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="task-", dir=_FOLDER)
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
