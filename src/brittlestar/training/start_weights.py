"""The weights of a trained agent, as the start of another training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brittlestar.checkpoints import read_checkpoint, read_folder
from brittlestar.errors import UserError


def agent_file(policy: Any) -> Path | None:
    """Returns the zip file of an agent behind a policy, if there is one."""
    while policy is not None:
        path = getattr(policy, "path", None)
        place = Path(path).expanduser() if isinstance(path, str) else None
        if place is not None and place.is_dir():
            place = Path(read_folder(place).checkpoint)
        if place is not None and place.suffix == ".zip" and place.is_file():
            return place
        # A policy may wrap another.
        policy = getattr(policy, "_policy", None)
    return None


def copy_weights(path: Path, network: Any) -> None:
    """Copies the weights of an agent into a torch network of the same layers; nothing in the file runs.

    Layers that act on what the network is to do must agree; those of values may be missing on one side.
    """
    import torch

    arrays, own = read_checkpoint(path).weights, network.state_dict()
    kept = {name: array for name, array in arrays.items() if name in own}
    other = [name for name, array in kept.items() if tuple(own[name].shape) != array.shape]
    other += [name for name in {*own} ^ {*arrays} if "value" not in name and not name.startswith("vf_")]
    if other:
        raise UserError(f"{path} has other layers than the network to train: {', '.join(sorted(other)[:3])}")
    network.load_state_dict({name: torch.as_tensor(array) for name, array in kept.items()}, strict=False)
