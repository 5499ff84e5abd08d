"""Sweeps in this process, on the launcher and the workers of the command line."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode

from brittlestar.cells.store import read_manifest
from brittlestar.config import config_folder, plain_config, register
from brittlestar.sweeps.launch import launch
from hydra_plugins.brittlestar_plugins.cells import CellLauncher


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
    """Runs the cells of a sweep without its tables and returns their steps; every one must end well."""
    with contextlib.redirect_stderr(io.StringIO()):
        outcomes = [job.return_value for job in launch(launcher, overrides, 0)]
    for outcome in outcomes:
        if outcome.status != "done":
            raise RuntimeError(f"a cell ended as {outcome.status}: {outcome.error}")
    manifests = [read_manifest(Path(outcome.folder)) for outcome in outcomes]
    return sum(manifest["timing"]["steps"] for manifest in manifests if manifest)


def on_workers(launcher: CellLauncher, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
    """Calls a function on the very workers that sweeps run on: joblib keeps them while the options are the same."""
    from joblib import Parallel, delayed

    options = {key: launcher.joblib[key] for key in ("verbose", "timeout", "temp_folder", "max_nbytes", "mmap_mode")}
    tasks = Parallel(launcher.joblib["n_jobs"], backend="loky", batch_size=1, **options)
    return list(tasks(delayed(function)(item) for item in items))


def stop_workers() -> None:
    """Ends the workers."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown()
