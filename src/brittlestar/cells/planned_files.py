"""Whether the files that a config names are, when its cell runs, those that its hash covers."""

import os
from typing import Any

from brittlestar.cells.config_files import FileDigests, config_files, content_digest, file_digests
from brittlestar.errors import HarnessError

Files = dict[str, FileDigests]
"""Digests of the files of a cell, by the key of its config that names them."""
_SOURCE = ".py"
_REMEDY = "run the command again, with a copy if a program still writes to it"
_MOST_NAMES = 4
_used: dict[str, str] = {}
"""Digests of source files when a cell of this process first ran their code, which remains imported."""


def files_of(config: dict[str, Any]) -> Files:
    """Returns the digests of the files that a config names."""
    digests = {key: file_digests(node) for key, node in config.items() if isinstance(node, dict)}
    return {key: digest for key, digest in digests.items() if any(digest)}


def refuse_changed_files(config: dict[str, Any], planned: Files) -> None:
    """Raises a `HarnessError` if files changed since the cell was planned, or since this process imported them.

    Else the result of the new files would be stored as that of the old ones.
    """
    current = files_of(config)
    for key in planned.keys() | current.keys():
        empty = FileDigests([], [])
        if planned.get(key, empty).behind != current.get(key, empty).behind:
            raise HarnessError(f"{_names(config[key])} changed after the cell was planned: {_REMEDY}")
    sources = {path for key in current for path in config_files(config[key]) if path.endswith(_SOURCE)}
    for path in sorted(sources):
        digest = content_digest(path)
        if _used.setdefault(path, digest) != digest:
            raise HarnessError(f"{path} changed after this process imported it: {_REMEDY}")


def _names(node: Any) -> str:
    names = sorted({os.path.basename(path) for path in config_files(node)})
    if len(names) == 1:
        return names[0]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"a file of {', '.join(names[:_MOST_NAMES])}{more}" if names else "a file that it names"
