"""Sweeps whose study chooses the next cells from the results so far."""

import os

import pytest

STUDY = '''
from dataclasses import dataclass

from brittlestar import Round, Study, with_overrides


@dataclass
class Bisection(Study):
    """Halves the range of the strength four times, for all combinations at once."""

    least: float = 100.0

    def rounds(self, cells):
        combinations, ranges = list(cells), {}
        for number in range(4):
            middles = [sum(ranges.get(i, (0.0, 0.4))) / 2 for i in range(len(combinations))]
            cells = [with_overrides(c, {"perturbation.sigma": m}) for c, m in zip(combinations, middles)]
            finished = yield Round(cells, f"at {middles}")
            for i, (cell, middle) in enumerate(zip(finished, middles)):
                low, high = ranges.get(i, (0.0, 0.4))
                holds = cell.done and cell.column("return").mean() >= self.least
                ranges[i] = (middle, high) if holds else (low, middle)
'''
CONF = "_target_: bisection.Bisection\nleast: 100.0\n"
WORDS = "env=cartpole", "policy=zoo/cartpole_ppo,constant", "episodes=4", "study=bisection", "hydra/sweeper=cells"


@pytest.fixture
def bisect(shell):
    """Runs a sweep with a study of the user's folder; returns what it prints, and its cells by policy and strength."""
    (shell.folder / "bisection.py").write_text(STUDY)
    (shell.folder / "conf" / "study").mkdir(parents=True)
    (shell.folder / "conf" / "study" / "bisection.yaml").write_text(CONF)

    def run(*words):
        env = {"PYTHONPATH": f"{shell.folder}:{os.environ.get('PYTHONPATH', '')}"}
        result, _ = shell.sweep("--config-dir", "conf", *WORDS, *words, **env)
        rows = shell.table("sweep", "cells")
        return result, {(row["policy"], row["strength"]): row["return"] for row in rows}

    return run


@pytest.mark.parametrize("launcher", ["cells", pytest.param("basic", marks=pytest.mark.slow)])
def test_each_round_follows_from_the_results_of_the_last(bisect, launcher):
    _, cells = bisect(f"hydra/launcher={launcher}")
    assert len(cells) == 8
    for policy in ("zoo/cartpole_ppo", "constant"):
        low, high = 0.0, 0.4
        for _ in range(4):
            middle = (low + high) / 2
            low, high = (middle, high) if cells[policy, middle] >= 100 else (low, middle)
    assert cells["constant", 0.025] < 100, "the weak policy went down to the smallest strength"


def test_rounds_print_one_line_each_and_are_taken_from_the_store_the_second_time(bisect):
    first, cells = bisect()
    assert first.stderr.count("round ") == 4 and "round 1: at [0.2, 0.2]" in first.stderr
    second, again = bisect("hydra.launcher.n_jobs=1", "seed=0")
    assert again == cells
    assert [line for line in second.stderr.splitlines() if "round" in line] == [
        line for line in first.stderr.splitlines() if "round" in line
    ]
