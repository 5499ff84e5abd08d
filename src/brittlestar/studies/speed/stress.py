"""The study of a shock: every stressor of one agent, by one command."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from .figures import Figure
from .timing import run_brittlestar


def stress(quick: bool) -> list[Figure]:
    """Seven stressors, baseline and reference pass of CartPole PPO, 120 episodes, 2 seeds, tables and plots."""
    figures = []
    for scoring in ("rigorous", "compat_1_4"):
        seconds, steps = _study(scoring, rounds=1 if quick else 3)
        what = f"stress study of CartPole, {scoring}, 16 cells and 2 references"
        figures += [Figure(what, seconds, "s", at_most=10), Figure("its steps", steps / 1000, "thousand")]
    return figures


def _study(scoring: str, rounds: int) -> tuple[float, int]:
    """Returns the seconds of the whole command, and its steps."""
    seconds = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            options = ("experiment=stress", "policy=zoo/cartpole_ppo", "seed=0,1", f"study.scoring={scoring}")
            seconds.append(run_brittlestar(*options, "hydra.sweep.dir=sweep", folder=Path(folder)).seconds)
            manifests = [json.loads(path.read_text()) for path in Path(folder).glob("sweep/**/manifest.json")]
    return statistics.median(seconds), sum(manifest["timing"]["steps"] for manifest in manifests)
