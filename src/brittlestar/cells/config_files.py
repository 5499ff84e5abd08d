"""The files that a config names, whose content is part of a cell."""

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import ACTING, POLICY
from brittlestar.checkpoints.hub import fetch
from brittlestar.checkpoints.rl_zoo import statistics_files
from brittlestar.config import HUB
from brittlestar.config.build import locate

_known: dict[str, list[str]] | None = None
"""Digests by config node, while `unchanging_files` holds."""


@contextlib.contextmanager
def unchanging_files() -> Iterator[None]:
    """Looks at the files of a config node once, for the many cells of a sweep that name the same ones."""
    global _known
    before = _known
    _known = {} if before is None else before
    try:
        yield
    finally:
        _known = before


def contents(node: Any) -> list[str]:
    """Returns digests of all files that a config node names."""
    if _known is None:
        return _contents(node)
    text = json.dumps(node)
    if text not in _known:
        _known[text] = _contents(node)
    return _known[text]


def _contents(node: Any) -> list[str]:
    stats = {path: os.stat(path) for path in config_files(node)}
    return sorted(_digest(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats.items())


@functools.lru_cache(maxsize=1024)
def _digest(path: str, size: int, changed: int) -> str:
    """Returns the digest of a file's content; it is computed again when its size or the time of its change differs."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def config_files(node: Any) -> Iterator[str]:
    """Yields the files behind a config node: checkpoints by path, and the source of classes and modules from elsewhere.

    A class that reads further files names them by a static method `config_files(node) -> list[Path]`.
    """
    if isinstance(node, list):
        for item in node:
            yield from config_files(item)
    elif isinstance(node, dict):
        if "_target_" in node:
            target = locate(node["_target_"], "config")
            if hasattr(target, "config_files"):
                yield from map(str, target.config_files(node))
            yield from _source(str(node["_target_"]).rpartition(".")[0])
        for key, value in node.items():
            if key in ("path", "statistics") and isinstance(value, str):
                yield from _checkpoint(value)
            elif key == "module" and isinstance(value, str):
                yield from _source(value)
            elif key != "_target_":
                yield from config_files(value)


def _checkpoint(value: str) -> Iterator[str]:
    """Yields the files of a checkpoint, of a repository of the hub, or the source of `module:attribute`."""
    path = Path(value).expanduser().absolute()
    if value.startswith(HUB):
        yield from map(str, fetch(value))
    elif path.exists():
        # A checkpoint may be a folder, or have its records and statistics next to it, around it or in its own folder.
        folder, zipped = (path, path / POLICY) if path.is_dir() else (path.with_suffix(""), path)
        neighbours = [] if path.is_dir() else [path, *map(path.with_name, ACTING)]
        files = (*neighbours, *statistics_files(zipped), *folder.glob("*"), *folder.glob("*/*"))
        yield from (str(file) for file in files if file.is_file())
    else:
        yield from _source(value.partition(":")[0] if ":" in value else value.rpartition(".")[0])


@functools.lru_cache(maxsize=256)
def _source(module: str) -> tuple[str, ...]:
    """Returns the file of a module of another package."""
    if not module or module.partition(".")[0] == "brittlestar":
        return ()
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ()
    return (spec.origin,) if spec and spec.origin and os.path.isfile(spec.origin) else ()
