"""Sweeps in this process, on the launcher and the workers of the command line, and sweeps of made-up cells."""

import contextlib
import copy
import hashlib
import io
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode

from brittlestar.cells import run as cell
from brittlestar.cells.job import resolve
from brittlestar.cells.record import EPISODES, Record, decode, encode
from brittlestar.config import config_folder, plain_config, register
from brittlestar.engine.cores import cores
from brittlestar.randomness import generator
from brittlestar.results.load import RATES, read_cells
from brittlestar.sweeps import workers
from brittlestar.sweeps.compose import Composer
from brittlestar.sweeps.index_writer import IndexWriter
from brittlestar.sweeps.launch import launch
from hydra_plugins.brittlestar_plugins.cells import CellLauncher

_GAINS = (2.0, 4.0, 6.0, 8.0, 10.0)
_ALPHAS = (0.3, 0.5, 0.7, 0.9)
_SIGMAS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


def make_launcher(folder: Path) -> CellLauncher:
    """Returns the launcher that `brittlestar -m` uses, for a sweep in `folder`."""
    from hydra._internal.callbacks import Callbacks

    register()
    GlobalHydra.instance().clear()
    initialize_config_dir(str(config_folder()), version_base="1.3")
    loader = GlobalHydra.instance().config_loader()
    config = loader.load_configuration("config", [f"hydra.sweep.dir={folder}"], RunMode.MULTIRUN)
    options = {key: value for key, value in plain_config(config.hydra.launcher).items() if key != "_target_"}
    launcher = CellLauncher(**options)
    context = HydraContext(config_loader=loader, callbacks=Callbacks())
    launcher.setup(hydra_context=context, task_function=lambda _: None, config=config)
    return launcher


def run_sweep(launcher: CellLauncher, overrides: list[list[str]]) -> int:
    """Runs the cells of a sweep without its tables and returns their steps; a cell that fails is an error."""
    with contextlib.redirect_stderr(io.StringIO()):
        outcomes = [job.return_value for job in launch(launcher, overrides, 0, launcher.executor())]
    for outcome in outcomes:
        if outcome.status != "done":
            raise RuntimeError(f"a cell ended as {outcome.status}: {outcome.error}")
    cells = read_cells(Path(str(launcher.config.hydra.sweep.dir)))  # type: ignore[union-attr]
    return sum(cell.manifest["timing"]["steps"] for cell in cells)


def on_workers(launcher: CellLauncher, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
    """Calls a function on the very workers that sweeps run on."""
    count = launcher.n_jobs if launcher.n_jobs > 0 else cores()
    return [result for _, result in workers.pool(count).run(function, list(items))]


class SeedSweep:
    """Cells that differ in the seed, on all cores, in new folders at every call."""

    def __init__(self, folder: str, cells: int, *words: str) -> None:
        self._folders = (Path(folder) / str(number) for number in itertools.count())
        self._words, self._cells = words, cells

    def launcher(self) -> CellLauncher:
        """Returns a launcher of its own for one sweep."""
        return make_launcher(next(self._folders))

    def overrides(self) -> Iterator[list[str]]:
        """Yields the words of each cell, with a store of their own."""
        store = next(self._folders)
        return ([*self._words, f"store={store}", f"seed={seed}"] for seed in range(self._cells))

    def __call__(self) -> float:
        """Runs the sweep and returns its steps per second."""
        launcher, overrides = self.launcher(), list(self.overrides())
        started = time.perf_counter()
        steps = run_sweep(launcher, overrides)
        return steps / (time.perf_counter() - started)


def write_cells(folder: Path, seeds: int, episodes: int) -> int:
    """Writes a sweep of 5 gains x 4 filters x 10 strengths x `seeds` and returns the number of cells."""
    record, job = _real_cell(folder.parent)
    columns = record.manifest["columns"]
    grid = list(itertools.product(_GAINS, _ALPHAS, _SIGMAS, range(seeds)))
    with IndexWriter(folder, len(grid)) as index:
        for number, values in enumerate(grid):
            rows = _rows(record.arrays[EPISODES], columns, number, values[2], episodes)
            # As in a real sweep, cells of one seed share their start states.
            starts = generator(int(values[3]), "bench").integers(2**53, size=episodes)
            rows[:, columns.index("reset_seed")] = starts
            made = decode(encode(_manifest(job, values, episodes), {EPISODES: rows}))
            index.write(made.manifest | {"number": number}, made.arrays)
    return len(grid)


def _real_cell(folder: Path) -> tuple[Record, dict[str, Any]]:
    composer = Composer(make_launcher(folder / "real"))
    job = resolve(
        composer.job(["env=fetch_reach", "mitigation=low_pass", "episodes=4", f"store={folder / 'store'}"], 0)
    )
    outcome = cell.run(job)
    record = cell.reuse(job)
    assert record is not None and outcome.status == "done", outcome.error
    return record, cell.manifest_of(job, outcome, record)


def _manifest(real: dict[str, Any], values: tuple[float, ...], episodes: int) -> dict[str, Any]:
    gain, alpha, sigma, seed = values
    config = copy.deepcopy(real["config"]) | {"seed": seed, "episodes": episodes}
    config["policy"]["kp"], config["mitigation"]["alpha"], config["perturbation"]["sigma"] = gain, alpha, sigma
    name = hashlib.sha256(repr(values).encode()).hexdigest()[:32]
    return real | {"config": config, "cell": name, "strength": {"name": "sigma", "value": sigma}}


def _rows(real: np.ndarray, columns: list[str], number: int, sigma: float, episodes: int) -> np.ndarray:
    """Resamples real rows, with other numbers and with success that falls with the strength."""
    rng = generator(number, "bench")
    rows = real[rng.integers(len(real), size=episodes)]
    for name in ("return", "smoothness", "action_energy", "path_length", "final_distance", "observation_change"):
        rows[:, columns.index(name)] *= rng.uniform(0.5, 1.5, episodes)
    for name in RATES:
        rows[:, columns.index(name)] = rng.random(episodes) < np.exp(-4 * sigma)
    rows[:, columns.index("episode")] = np.arange(episodes)
    return rows
