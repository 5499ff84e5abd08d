"""What a page states about the making of its numbers: delivery, versions, commands, films."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.reports.films import FILMS
from brittlestar.reports.overview import MOST_ROWS
from brittlestar.reports.page.episodes import by_strength, folder_of
from brittlestar.results.format import markdown, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.packed_cells import PackedCells, pack_cells

_FILM = re.compile(r"cell_(\d+)_episode_(\d+)(_beside_clean)?\.(mp4|gif)")
_MOST_COMMANDS = 20
_MOST_ASKED = 2000
"""Cells whose versions are read."""


def delivery_table(curves: Sequence[PackedCells], names: Sequence[str]) -> str:
    """Returns what the perturbation changed at each level, the mean over cells, as Markdown; empty without a record."""
    rows: list[Row] = []
    for cells, name in zip(curves, names, strict=True):
        for strength, members in by_strength(cells):
            records = [cell.manifest.get("delivery") or {} for cell in members]
            numbers = [{k: v for k, v in record.items() if isinstance(v, int | float)} for record in records]
            keys = dict.fromkeys(key for record in numbers for key in record)
            means = {key: float(np.mean([record[key] for record in numbers if key in record])) for key in keys}
            rows.append({"curve": name, cells[0].strength_name or "strength": strength} | means)
    measured = list(dict.fromkeys(key for row in rows for key in row))
    # A channel without any change is not worth a column.
    shown = [c for c in measured if c == "curve" or any(row.get(c) for row in rows)]
    more = f"\n\n{len(rows) - MOST_ROWS} more rows." if len(rows) > MOST_ROWS else ""
    return markdown(rows[:MOST_ROWS], shown) + more if len(shown) > 2 else ""


def version_lines(cells: Iterable[Cell]) -> list[str]:
    """Returns the versions that made the cells, each set once; of many cells, those at equal distances are asked."""
    lines: dict[str, None] = {}
    every = pack_cells(cells)
    for cell in every[:: math.ceil(len(every) / _MOST_ASKED) or 1]:
        provenance = cell.manifest.get("provenance") or {}
        versions = {**provenance.get("versions", {}), "python": (provenance.get("host") or {}).get("python")}
        backend = (provenance.get("simulator") or {}).get("backend")
        parts = [f"{name} {version}" for name, version in versions.items() if version]
        parts += [f"backend {backend}"] * bool(backend)
        parts += [f"commit {str(provenance['git'])[:12]}"] if provenance.get("git") else []
        if parts:
            lines[", ".join(parts)] = None
    return list(lines)


def sweep_commands(cells: Iterable[Cell]) -> list[str]:
    """Returns the commands that ran the sweeps of cells: as Hydra recorded them, or as the first cell of each did."""
    first = {folder: members[0] for folder, members in reversed(pack_cells(cells).groups(folder_of).items())}
    commands: dict[str, None] = {}
    for folder, cell in reversed(first.items()):
        words = _recorded(Path(folder)) if folder else []
        argv = [str(word) for word in (cell.manifest.get("provenance") or {}).get("argv") or []]
        commands[shlex.join(["brittlestar", "-m", *words]) if words else _typed(argv)] = None
    return [command for command in commands if command][:_MOST_COMMANDS]


def films_beside(folders: Sequence[str], out: Path) -> list[dict[str, Any]]:
    """Returns the films in the folders of sweeps: folder by number, cell, episode, and path from the page."""
    films: list[dict[str, Any]] = []
    for number, folder in enumerate(folders):
        place = out / folder / FILMS
        names = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
        for match in filter(None, map(_FILM.fullmatch, names)):
            path = "/".join(filter(None, ["" if folder == "." else folder.replace(os.sep, "/"), FILMS, match[0]]))
            film = {"folder": number, "cell": int(match[1]), "episode": int(match[2]), "path": path}
            films.append(film | {"beside": bool(match[3])})
    return films


def _recorded(folder: Path) -> list[str]:
    """Returns the overrides of a sweep as Hydra recorded them; empty without a record."""
    import yaml  # type: ignore[import-untyped]

    try:
        overrides = yaml.safe_load((folder / "multirun.yaml").read_text())["hydra"]["overrides"]
        hydra = [word for word in overrides["hydra"] if word != "hydra.mode=MULTIRUN"]
        return [str(word) for word in [*overrides["task"], *hydra]]
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return []


def _typed(argv: list[str]) -> str:
    if not argv:
        return ""
    name = Path(argv[0]).name
    return shlex.join([*(["python", name] if name.endswith(".py") else [name]), *argv[1:]])


def label_facts(label: Row, varied: Sequence[str]) -> list[tuple[str, str]]:
    """Returns what all curves have in common."""
    return [(column, text(value)) for column, value in label.items() if column not in varied and text(value)]
