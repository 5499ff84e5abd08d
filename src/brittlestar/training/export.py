"""A trained policy as a small zip: the acting network and plain text, without pickled code."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from brittlestar.cells.files import write_file
from brittlestar.checkpoints.describe import actor_weights


def export_policy(model: Any, path: Path) -> None:
    """Writes the acting network of a model; the safe loader reads the file like any checkpoint.

    Optimizers, critics, buffers and pickled objects are left out. The file has a tenth of the size of
    Stable-Baselines3's own, which cannot load it.
    """
    import torch

    whole, tensors = io.BytesIO(), io.BytesIO()
    model.save(whole)
    weights = model.acting_weights() if hasattr(model, "acting_weights") else model.policy.state_dict()
    torch.save(actor_weights(weights), tensors)
    with zipfile.ZipFile(whole) as archive:
        data = json.loads(archive.read("data"))
        entries = {name: archive.read(name) for name in ("system_info.txt", "_stable_baselines3_version")}
    frames = stacked_frames(model.get_env())
    data |= {"frame_stack": frames} if frames > 1 else {}
    text = {key: _without_pickles(value) for key, value in data.items() if not key.startswith("_last")}
    entries = {"data": json.dumps(text).encode(), "policy.pth": tensors.getvalue()} | entries

    def pack(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries.items():
                archive.writestr(name, content)

    write_file(path, pack)


def stacked_frames(env: Any) -> int:
    """Returns how many observations a vector environment stacks; 1 for one that does not."""
    while env is not None and not hasattr(env, "stacked_obs"):
        env = getattr(env, "venv", None)
    return 1 if env is None else int(env.stacked_obs.n_stack)


def import_policy(model: Any, path: Path) -> None:
    """Gives a model the acting network of a file of `export_policy`; its other parts remain."""
    import torch

    with zipfile.ZipFile(path) as archive:
        weights = torch.load(io.BytesIO(archive.read("policy.pth")), weights_only=True)
    model.policy.load_state_dict(weights, strict=False)


def _without_pickles(value: Any) -> Any:
    return {key: text for key, text in value.items() if key != ":serialized:"} if isinstance(value, dict) else value
