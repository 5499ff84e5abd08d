"""The files that the configs of cells name: they travel to the nodes, and configs name the copies there."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from brittlestar.cells.config_files import config_files
from brittlestar.checkpoints.hub import fetch
from brittlestar.config import HUB
from brittlestar.config.build import locate
from brittlestar.sweeps.on_ray.shipped_code import PACKAGE_FOLDER

_NAMING = ("path", "statistics")
"""Keys whose values name files."""


class Luggage(NamedTuple):
    """The files of a config."""

    files: dict[str, str]
    """Digest of the content of each file, by absolute path."""
    places: dict[str, str]
    """Absolute path of each value of the config that names a file or a folder."""
    sources: frozenset[str]
    """Files of the modules that the config names."""


@functools.lru_cache(maxsize=4096)
def luggage_of(node: str) -> Luggage:
    """Returns the files that a config node, as JSON, names."""
    config = json.loads(node)
    files, places = set[str](), dict[str, str]()
    for value, place, named in _named(config):
        places[value] = place
        files |= named
    sources = {os.path.abspath(path) for path in config_files(config)} - files
    return Luggage({path: _digest(path) for path in sorted(files)}, places, frozenset(sources))


def join(parts: Iterator[Luggage]) -> Luggage:
    """Returns the files of several configs."""
    files, places, sources = dict[str, str](), dict[str, str](), set[str]()
    for part in parts:
        files |= part.files
        places |= part.places
        sources |= part.sources
    return Luggage(files, places, frozenset(sources))


def renamed(node: Any, places: dict[str, str], root: str, key: str = "") -> Any:
    """Returns a config whose values name the copies of files below `root`.

    Example:
        >>> renamed({"path": "ppo.zip", "model": "ppo.zip"}, {"ppo.zip": "/home/me/ppo.zip"}, "/tmp")
        {'path': '/tmp/home/me/ppo.zip', 'model': 'ppo.zip'}
    """
    if isinstance(node, list):
        return [renamed(item, places, root, key) for item in node]
    if isinstance(node, dict):
        own = "_target_" in node and hasattr(locate(node["_target_"], "config"), "config_files")
        return {k: renamed(value, places, root, _NAMING[0] if own else k) for k, value in node.items()}
    return root + places[node] if isinstance(node, str) and key in _NAMING and node in places else node


def _named(node: Any, key: str = "") -> Iterator[tuple[str, str, set[str]]]:
    """Yields values that name files, with their absolute paths and the files behind them."""
    if isinstance(node, list):
        for item in node:
            yield from _named(item, key)
    elif isinstance(node, dict):
        yield from _named_by_class(node)
        for name, value in node.items():
            yield from _named(value, name)
    elif isinstance(node, str) and key in _NAMING:
        path = fetch(node)[0] if node.startswith(HUB) else Path(node).expanduser()
        if path.exists():
            yield node, os.path.abspath(path), {os.path.abspath(file) for file in config_files({key: node})}


def _named_by_class(node: dict[str, Any]) -> Iterator[tuple[str, str, set[str]]]:
    """Yields the values of a node whose class reports its files itself; files of this package are on every node.

    A class that reads more files than those whose content identifies its result has a method `all_files(node)`.
    """
    target: Any = locate(node["_target_"], "config") if "_target_" in node else None
    if not hasattr(target, "config_files"):
        return
    reported = getattr(target, "all_files", target.config_files)(node)
    files = {path for path in map(os.path.abspath, reported) if not Path(path).is_relative_to(PACKAGE_FOLDER)}
    for value in node.values():
        place = os.path.abspath(os.path.expanduser(value)) if isinstance(value, str) else ""
        if any(place and (path == place or path.startswith(f"{place}{os.sep}")) for path in files):
            yield value, place, files


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
