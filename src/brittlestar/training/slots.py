"""Where a training stands on disk: written whole or not at all, so that a kill loses only what came after."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brittlestar.cells.files import previous, write_folder

PROGRESS = "progress.json"


def write_slot(folder: Path, save: Callable[[Path], None], progress: dict[str, Any]) -> None:
    """Replaces the slot `folder` by what `save` writes into an empty one.

    Args:
        folder: the slot; whoever reads it finds the old or the new content, never a mixture.
        save: writes the files.
        progress: what `read_progress` returns afterwards.
    """

    def fill(fresh: Path) -> None:
        save(fresh)
        (fresh / PROGRESS).write_text(json.dumps(progress))

    write_folder(folder, fill)


def find_slot(folder: Path) -> Path | None:
    """Returns the slot, or its last content if a kill came between two renames; None without one."""
    for place in (folder, previous(folder)):
        if (place / PROGRESS).is_file():
            return place
    return None


def read_progress(slot: Path) -> dict[str, Any]:
    """Returns what was written with a slot."""
    progress: dict[str, Any] = json.loads((slot / PROGRESS).read_text())
    return progress
