"""The study of a shock: every stressor of one agent, by one command."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from .figures import Figure
from .timing import run_python


def stress(quick: bool) -> list[Figure]:
    """Seven stressors, baseline and reference pass of CartPole PPO, 120 episodes, 2 seeds, tables and plots."""
    seconds = []
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory() as folder:
            options = ("experiment=stress", "policy=zoo/cartpole_ppo", "seed=0,1", "hydra.sweep.dir=sweep")
            seconds.append(run_python("run.py", *options, folder=Path(folder)).seconds)
            manifests = [json.loads(path.read_text()) for path in Path(folder).glob("sweep/**/manifest.json")]
    steps = sum(manifest["timing"]["steps"] for manifest in manifests)
    return [
        Figure("stress study of CartPole, 16 cells and 2 references", statistics.median(seconds), "s", at_most=10),
        Figure("its steps", steps / 1000, "thousand"),
    ]
