"""Thousands of recorded cells without simulating them."""

from __future__ import annotations

import copy
import hashlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells import run as cell
from brittlestar.cells import store as records
from brittlestar.cells.files import make_folder
from brittlestar.randomness import generator
from brittlestar.sweeps.compose import Composer

from .sweeps import make_launcher

_GAINS = (2.0, 4.0, 6.0, 8.0, 10.0)
_ALPHAS = (0.3, 0.5, 0.7, 0.9)
_SIGMAS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


def write_cells(folder: Path, seeds: int, episodes: int) -> int:
    """Writes a sweep of 5 gains x 4 filters x 10 strengths x `seeds` and returns the number of cells."""
    manifest, rows = _real_cell(folder.parent)
    columns = manifest["columns"]
    grid = list(itertools.product(_GAINS, _ALPHAS, _SIGMAS, range(seeds)))
    for number, values in enumerate(grid):
        target = folder / str(number)
        make_folder(target)
        # Not by `write_cell`: ten thousand times fsync takes minutes.
        np.save(target / records.ROWS, _rows(rows, columns, number, values[2], episodes))
        records.write_manifest(target, _manifest(manifest, *values, episodes=episodes))
    return len(grid)


def _real_cell(folder: Path) -> tuple[dict[str, Any], np.ndarray]:
    composer = Composer(make_launcher(folder / "real"))
    overrides = ["env=fetch_reach", "mitigation=low_pass", "episodes=4", f"store={folder / 'store'}"]
    outcome = cell.run(composer.job(overrides, 0))
    manifest = records.read_manifest(Path(outcome.folder))
    assert manifest is not None and outcome.status == "done", outcome.error
    return manifest, records.read_rows(Path(outcome.folder))


def _manifest(
    real: dict[str, Any], gain: float, alpha: float, sigma: float, seed: int, episodes: int
) -> dict[str, Any]:
    config = copy.deepcopy(real["config"]) | {"seed": seed, "episodes": episodes}
    config["policy"]["kp"], config["mitigation"]["alpha"], config["perturbation"]["sigma"] = gain, alpha, sigma
    name = hashlib.sha256(repr((gain, alpha, sigma, seed)).encode()).hexdigest()[:32]
    return real | {"config": config, "cell": name, "strength": {"name": "sigma", "value": sigma}}


def _rows(real: np.ndarray, columns: list[str], number: int, sigma: float, episodes: int) -> np.ndarray:
    """Resamples real rows, with other numbers and with success that falls with the strength."""
    rng = generator(number, "bench")
    rows = real[rng.integers(len(real), size=episodes)]
    for name in ("return", "smoothness", "action_energy", "path_length", "final_distance", "observation_change"):
        rows[:, columns.index(name)] *= rng.uniform(0.5, 1.5, episodes)
    for name in ("success_any", "success_final"):
        rows[:, columns.index(name)] = rng.random(episodes) < np.exp(-4 * sigma)
    rows[:, columns.index("episode")] = np.arange(episodes)
    rows[:, columns.index("reset_seed")] = rng.integers(2**53, size=episodes)
    return rows
