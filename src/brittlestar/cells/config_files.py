"""The files that a config names, whose content is part of a cell."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from brittlestar.cells.module_files import module_files
from brittlestar.checkpoints.file_names import ACTING, POLICY
from brittlestar.checkpoints.hub import fetch
from brittlestar.checkpoints.rl_zoo import statistics_files
from brittlestar.config import HUB
from brittlestar.config.build import locate

_NAMING = ("path", "statistics")
"""Keys whose values name checkpoints, or objects of modules."""
_known: dict[str, FileDigests] | None = None
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


class FileDigests(NamedTuple):
    """Digests of the content of all files that a config node names."""

    behind: list[str]
    """Those of `config_files`, which must not change between the planning of a cell and its run."""
    named: list[str]
    """Those of other values, such as `kwargs.weights=net.npz`. A policy may write to such a file."""


def contents(node: Any) -> list[str]:
    """Returns digests of all files behind a config node, see `config_files`."""
    return file_digests(node).behind


def file_digests(node: Any) -> FileDigests:
    """Returns digests of all files that a config node names."""
    if _known is None:
        return _file_digests(node)
    text = json.dumps(node)
    if text not in _known:
        _known[text] = _file_digests(node)
    return _known[text]


def _file_digests(node: Any) -> FileDigests:
    return FileDigests(_digests(config_files(node)), _digests(_value_files(node)))


def _digests(files: Iterable[str]) -> list[str]:
    return sorted(map(content_digest, set(files)))


def content_digest(path: str) -> str:
    """Returns the digest of a file's content; it is computed again when its size or the time of its change differs."""
    stat = os.stat(path)
    return _digest(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _digest(path: str, size: int, changed: int) -> str:
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
            yield from module_files(str(node["_target_"]).rpartition(".")[0])
        for key, value in node.items():
            if key in _NAMING and isinstance(value, str):
                yield from _checkpoint(value)
            elif key == "module" and isinstance(value, str):
                yield from module_files(value)
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
        yield from (str(file) for file in files if file.is_file() and file.parent.name != "__pycache__")
    else:
        yield from module_files(value.partition(":")[0] if ":" in value else value.rpartition(".")[0])


def _value_files(node: Any) -> Iterator[str]:
    """Yields the files that a config node names by values of any key, except for those of `config_files`."""
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for value in (value for key, value in items if key not in ("_target_", *_NAMING) or not isinstance(value, str)):
            yield from _value_files(value)
    elif isinstance(node, str) and "\0" not in node and os.path.isfile(path := os.path.expanduser(node)):
        yield os.path.abspath(path)
