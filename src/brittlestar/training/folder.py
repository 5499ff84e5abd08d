"""The folder of a training: its name, its files, and checkpoints that a kill cannot leave half written."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from brittlestar.cells.claims import Claim
from brittlestar.cells.config_files import contents
from brittlestar.cells.files import previous, write_file, write_folder
from brittlestar.envs.ids import plain_env
from brittlestar.errors import UserError

METADATA = "metadata.json"
"""Facts and scores; a training has them when it is finished."""
RESOLVED_CONFIG = "config.json"
_RESULT = "final"
"""Folder of the acting network at the end."""
CURVE = "curve.jsonl"
"""Scores at the checkpoints."""
_PROGRESS, _FILES, _OWN = "progress.json", "files", "digest"
_NOT_IN_NAME = ("threads", "store", "save_every", "episodes")
"""Keys that change how fast a training runs and how it is scored, not what it learns."""

_NEWER = (("frames", 1), ("past_actions", False))
"""Settings of `algo` that trainings from before the keys existed have."""


def settings_of(config: dict[str, Any]) -> dict[str, Any]:
    """Returns what of a resolved config decides the result of a training."""
    identity = {key: value for key, value in config.items() if key not in _NOT_IN_NAME}
    env = plain_env(config["env"])
    # Trainings from before the keys existed keep their names.
    pixels = env.get("pixels") or {}
    newer = {"module": env.get("module"), "pixels": pixels.get("camera")}
    identity["env"] = {key: value for key, value in env.items() if newer.get(key, value) is not None}
    settings = config["algo"].get("by_env", {}).get(env.get("id"))
    algo = {key: value for key, value in config["algo"].items() if (key, value) not in _NEWER}
    identity["algo"] = algo | {"by_env": settings}
    return identity


def training_folder(config: dict[str, Any]) -> Path:
    """Returns the folder of a training; its name depends on everything that decides the result."""
    identity, env = settings_of(config), plain_env(config["env"])
    files = contents(identity["algo"])
    if files:
        identity["files"] = files
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    name = str(env.get("id")).replace("/", "_")
    return Path(config["store"]) / f"{name}-{config['algo']['name']}-{config['seed']}-{digest}"


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[Path]:
    """Claims the folder of a training for this process; one without results is removed behind it."""
    made = [folder, *(place for place in [folder.parent] if not place.exists())]
    claim = Claim(folder)
    try:
        yield folder
    finally:
        claim.release()
        with contextlib.suppress(OSError):
            for place in made:
                place.rmdir()


def write_checkpoint(folder: Path, save: Callable[[Path], None], progress: dict[str, Any]) -> None:
    """Replaces a checkpoint by what `save` writes into an empty folder; a reader finds the old or the new one."""

    def fill(fresh: Path) -> None:
        save(fresh)
        facts = progress | {_FILES: {path.name: _digest(path) for path in sorted(fresh.iterdir())}}
        (fresh / _PROGRESS).write_text(json.dumps(facts | {_OWN: _facts_digest(facts)}))

    write_folder(folder, fill)


def find_checkpoint(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Returns the newest whole checkpoint and its progress; None without one."""
    return next(iter(find_checkpoints(folder)), None)


def find_checkpoints(folder: Path, notes: list[str] | None = None) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yields the whole checkpoints of a folder with their progress, the newest first; `notes` get the damaged ones."""
    for place in (folder, previous(folder)):
        if not (place / _PROGRESS).is_file():
            continue
        try:
            progress = json.loads((place / _PROGRESS).read_text())
            # A checkpoint of an earlier version has no digest of its facts, or of its files.
            if progress.pop(_OWN, None) not in (None, _facts_digest(progress)):
                raise ValueError(f"{_PROGRESS} has another digest than it was written with")
            _check_files(place, progress.pop(_FILES, {}))
            yield place, progress
        except (ValueError, AttributeError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            if notes is not None:
                notes.append(f"{place} is damaged: {reason}")


def is_finished(folder: Path) -> bool:
    """Whether a training has its result; raises a `UserError` if that is damaged."""
    file, notes = folder / METADATA, list[str]()
    if not file.is_file():
        return False
    if next(find_checkpoints(folder / _RESULT, notes), None) is None:
        notes = notes or [f"{folder / _RESULT} has no whole checkpoint"]
    elif not _holds_facts(file):
        notes = [f"{file} is damaged"]
    else:
        return True
    raise UserError(f"{notes[0]}: remove {file}, and the same command continues from the last checkpoint")


def _holds_facts(file: Path) -> bool:
    """Whether a file holds the facts of a training."""
    with contextlib.suppress(ValueError, OSError):
        facts = json.loads(file.read_text())
        return isinstance(facts, dict) and {"clean", "disturbed", "steps"} <= facts.keys()
    return False


def drop_curve_after(folder: Path, steps: int) -> None:
    """Removes the scores of later steps, which a training that falls back to an earlier network makes again."""
    file = folder / CURVE
    if file.is_file():
        lines = [line for line in file.read_text().splitlines() if json.loads(line)["steps"] <= steps]
        write_file(file, "".join(f"{line}\n" for line in lines))


def _check_files(folder: Path, digests: dict[str, str]) -> None:
    for name, digest in digests.items():
        if not (folder / name).is_file():
            raise ValueError(f"{name} is missing")
        if _digest(folder / name) != digest:
            raise ValueError(f"{name} has another digest than it was written with")


def _facts_digest(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
