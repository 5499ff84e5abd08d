"""The folder of a sweep or a run: claimed by one process, and empty of the cells of earlier sweeps."""

import itertools
from pathlib import Path
from typing import Any

from brittlestar.cells.claims import Claim, FolderInUseError
from brittlestar.errors import UserError
from brittlestar.sweeps.index import forget_cells


def claim_sweep_folder(config: Any) -> Claim:
    """Claims the folder of a sweep, sets it in the config, and removes the indexes of earlier sweeps from it."""
    from omegaconf import flag_override

    folder, claim = claim_folder(str(config.hydra.sweep.dir), "hydra.sweep.dir", config.hydra.overrides.hydra)
    with flag_override(config, ["struct", "readonly"], False):
        config.hydra.sweep.dir = str(folder)
    forget_cells(folder)
    return claim


def claim_folder(name: str, key: str, overrides: Any) -> tuple[Path, Claim]:
    """Claims a folder for this process; `key` is the one of Hydra that names it, `overrides` are those of Hydra.

    A folder that is named after the time gets a number if another process has it; one that the user names is refused.
    """
    if not name:
        raise UserError(f"`{key}` must name a folder, got nothing")
    folder, is_named = Path(name), any(str(text).startswith(f"{key}=") for text in overrides)
    for number in itertools.count(2):
        try:
            return folder, Claim(folder)
        except FolderInUseError:
            if is_named:
                raise
            folder = Path(f"{name}-{number}")
    raise AssertionError
