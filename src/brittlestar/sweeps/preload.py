"""What every worker of a sweep needs, imported once by the process that they are forked from."""

from __future__ import annotations

import contextlib
import gc
import os

# The collector would search every module again and again while they are imported.
gc.set_threshold(100_000)


def _prepare() -> None:
    from omegaconf import OmegaConf

    import brittlestar.engine.rollout  # noqa: F401
    from brittlestar.config import config_folder
    from brittlestar.envs import EnvSpec
    from brittlestar.sweeps.workers import HINT

    file = config_folder() / "env" / f"{os.environ.get(HINT)}.yaml"
    if file.is_file():
        # Imports the simulator, and leaves the meshes of the robot in its cache.
        EnvSpec(id=OmegaConf.load(file).id).make()


# Only a head start: what goes wrong here goes wrong again, and is told, when a cell needs it.
with contextlib.suppress(Exception):
    _prepare()
# Workers copy what they change: the collector would touch, and so copy, every object.
gc.freeze()
