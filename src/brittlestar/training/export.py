"""A trained policy as a small zip: the acting network and plain text, nothing that could run."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from brittlestar.cells.files import write_file

_NOT_ACTING = ("critic", "target", "value_net", "lstm_critic")


def export_policy(model: Any, path: Path) -> None:
    """Writes what acts of a Stable-Baselines3 model; the safe loader reads it as it reads any agent.

    Optimizers, critics, buffers and pickled objects stay behind, so the file is a tenth of SB3's own and
    Stable-Baselines3 itself cannot load it.

    Args:
        model: a model of Stable-Baselines3 or sb3-contrib.
        path: the zip.
    """
    import torch

    whole = io.BytesIO()
    model.save(whole)
    with zipfile.ZipFile(whole) as archive:
        data = json.loads(archive.read("data"))
        versions = archive.read("system_info.txt"), archive.read("_stable_baselines3_version")
    weights = {name: value for name, value in model.policy.state_dict().items() if _acts(name)}
    tensors = io.BytesIO()
    torch.save(weights, tensors)
    text = {key: _without_pickles(value) for key, value in data.items() if not key.startswith("_last")}

    def pack(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data", json.dumps(text))
            archive.writestr("policy.pth", tensors.getvalue())
            archive.writestr("system_info.txt", versions[0])
            archive.writestr("_stable_baselines3_version", versions[1])

    write_file(path, pack)


def _acts(name: str) -> bool:
    return not any(part.startswith(_NOT_ACTING) or part.endswith("_target") for part in name.split("."))


def _without_pickles(value: Any) -> Any:
    return {key: each for key, each in value.items() if key != ":serialized:"} if isinstance(value, dict) else value
