"""Shared fixtures: a place for sweeps, and a command line that never touches the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from brittlestar.perturbations import Step
from brittlestar.randomness import LaneDraws

ROOT = Path(__file__).parents[1]
GOLDEN = Path(os.environ.get("BRITTLESTAR_GOLDEN", ROOT.parent / "shared" / "golden"))


@dataclass
class Shell:
    """Runs brittlestar as a user does, in a folder of its own."""

    folder: Path

    def __call__(self, *arguments: str, script: str = "run.py", check: bool = True, **env: str):
        command = [sys.executable, str(ROOT / script), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=600, env=os.environ | env
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def sweep(self, *arguments: str, name: str = "sweep", **options):
        done = self("-m", *arguments, f"hydra.sweep.dir={name}", **options)
        return done, self.folder / name

    def table(self, sweep: str, name: str) -> list[dict]:
        return json.loads((self.folder / sweep / f"{name}.json").read_text())


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="session")
def golden() -> Path:
    if not GOLDEN.is_dir():
        pytest.skip(f"no published figures at {GOLDEN}; set BRITTLESTAR_GOLDEN")
    return GOLDEN


def make_step(lanes: int = 3, episodes=None, step: int = 0, level: float = 1.0, seed: int = 0) -> Step:
    draws = LaneDraws(seed, "test", lanes)
    steps = np.full(lanes, step)
    draws.at(np.arange(lanes) if episodes is None else np.asarray(episodes), steps)
    return Step(np.full(lanes, level), steps == 0, draws)


@pytest.fixture(name="make_step")
def make_step_fixture():
    return make_step
