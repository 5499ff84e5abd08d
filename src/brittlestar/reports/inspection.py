"""A recorded sweep, and one of its cells, as text or as files."""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError, counted
from brittlestar.results.format import markdown
from brittlestar.results.load import Cell, read_cells
from brittlestar.results.write import WHOLE
from brittlestar.sweeps.index import find_indexes
from brittlestar.sweeps.missing import missing_cells

_MOST_CELLS, _MOST_EPISODES = 20, 10
_COLUMNS = ("episode", "reset_seed", "length", "return", "success_any", "success_final")


def is_sweep(path: str) -> bool:
    """Whether a path is the folder of a recorded sweep or run."""
    return Path(path).is_dir() and bool(find_indexes(Path(path)))


def describe_sweep(folder: Path) -> str:
    """Returns how many cells a sweep has, the overrides of the first ones, and which cells have no record."""
    cells = read_cells(folder)
    states = Counter(str(cell.manifest["status"]) for cell in cells)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    lines = [f"{folder}: {counted(len(cells), 'cell')} ({counts})", ""]
    for manifest in (cell.manifest for cell in cells[:_MOST_CELLS]):
        lines.append(f"{manifest['number']:>6}  {manifest['status']:<7} {' '.join(manifest['overrides'])}")
    lines += [f"        and {len(cells) - _MOST_CELLS} more"] if len(cells) > _MOST_CELLS else []
    lines += [f"\nnote: {missing}" for missing in missing_cells(folder)]
    return "\n".join([*lines, "", "`--cell N` prints one of them"])


def describe_cell(folder: Path, number: int) -> str:
    """Returns the manifest of a cell as JSON, and its first episodes as a table."""
    cell = find_cell(folder, number)
    manifest = {key: value for key, value in cell.manifest.items() if key not in ("columns", "reward_columns")}
    text = json.dumps(manifest, indent=2)
    if not cell.done:
        return text
    rows, columns = cell.rows(), list(cell.manifest["columns"])
    names = [name for name in _COLUMNS if not np.isnan(rows[:, columns.index(name)]).all()]
    kinds = {name: int if name in WHOLE else float for name in names}
    table = [{name: str(kinds[name](row[columns.index(name)])) for name in names} for row in rows[:_MOST_EPISODES]]
    more = f"\n{len(rows) - _MOST_EPISODES} more episodes" if len(rows) > _MOST_EPISODES else ""
    return f"{text}\n\n{markdown(table, names)}{more}"


def unpack_cell(folder: Path, number: int, target: Path) -> list[Path]:
    """Writes a cell to a folder: `manifest.json` and one `.npy` file for each array; returns the files."""
    cell = find_cell(folder, number)
    make_folder(target)
    files = [target / "manifest.json"]
    files[0].write_text(json.dumps(dict(cell.manifest), indent=2) + "\n")
    for name in cell.manifest.get("files", {}):
        files.append(target / f"{name.replace('/', '_')}.npy")
        np.save(files[-1], cell.array(name), allow_pickle=False)
    return files


def find_cell(folder: Path, number: int) -> Cell:
    """Returns the cell of a number; raises a `UserError` if the sweep has none."""
    cells = read_cells(folder)
    for cell in cells:
        if cell.manifest["number"] == number:
            return cell
    last = max(int(cell.manifest["number"]) for cell in cells)
    raise UserError(f"{folder} has no cell {number}: its cells have the numbers 0 to {last}")
