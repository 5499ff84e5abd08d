"""Imports everything that a worker needs, once, in the process that workers are forked from."""

import contextlib
import gc
import os
import sys
from pickle import UnpicklingError
from typing import Any


def _hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    # A signal may end the program while it starts a worker, which then finds only a part of what it is to run.
    if not isinstance(error, EOFError | UnpicklingError):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _hook

# The collector would search all modules again and again while they are imported.
gc.set_threshold(100_000)


def _import_engine() -> None:
    from omegaconf import OmegaConf

    import brittlestar.engine.evaluation  # noqa: F401
    from brittlestar.config import options
    from brittlestar.envs import EnvSpec
    from brittlestar.sweeps.fork_server import FIRST_ENV

    file = options("env").get(os.environ.get(FIRST_ENV, ""))
    if file is not None:
        # Imports the simulator, and leaves the meshes of the robot in its cache.
        EnvSpec(id=OmegaConf.load(file).id).make()


# An error here only costs time: the cell that needs the import raises and reports it.
with contextlib.suppress(Exception):
    _import_engine()
# A worker copies the memory that it writes to. The collector would write to every object.
gc.freeze()
