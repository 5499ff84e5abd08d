"""Trains what a config describes, in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import POLICY
from brittlestar.config.hints import env_option
from brittlestar.engine.cores import cores
from brittlestar.training.folder import METADATA, RESOLVED_CONFIG, training_folder
from brittlestar.training.live_line import live_line
from brittlestar.training.scores import score_line
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec


def train(config: dict[str, Any], share: int | None = None, name: str = "") -> Path:
    """Trains what a resolved config describes, or continues from its last checkpoint, and returns the folder.

    Args:
        config: the config of the training.
        share: how many cores it may use; all by default.
        name: printed with its progress, where several trainings run at once.
    """
    folder = training_folder(config)
    if (folder / METADATA).is_file():
        print(f"done before: {folder}")
        return folder
    spec = TrainingSpec.build(config, share or cores())
    set_threads(share)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESOLVED_CONFIG).write_text(json.dumps(config, indent=2) + "\n")
    session = Session(spec, folder)
    try:
        with session.stop:
            facts = session.run(live_line(name))
    finally:
        session.close()
    print(f"\n{facts['env']}, {facts['algorithm']}, {facts['steps']:,} steps in {facts['seconds']:.0f} s")
    for kind in ("clean", "disturbed"):
        if facts[kind]:
            print(f"{kind}: {score_line(facts[kind])}")
    policy = folder / "final" / POLICY
    print(f"policy {policy}\nrun it: brittlestar {env_option(facts['env'])} policy=sb3 policy.path={policy}")
    return folder


def set_threads(share: int | None = None) -> None:
    """Gives half of the cores to the networks and leaves the others to the simulators.

    Networks as small as these learn hardly faster on more.

    Args:
        share: how many cores the training may use; all by default.
    """
    import torch

    torch.set_num_threads(max(1, (share or cores()) // 2))
