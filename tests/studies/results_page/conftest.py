"""Sweeps of the page with invented cells, and readers of its tables."""

import numpy as np
import pytest

from brittlestar.studies.results_page import plan as plans

SIGMAS = {"observation": (0.0, 0.02, 0.05, 0.1, 0.2), "action": (0.0, 0.5), "low_pass": (0.5,)}
ALPHAS = (0.3, 1.0)
STAND_INS = {
    "fetch_reach.sac": ["p_controller", "constant"],
    "fetch_reach.robust": ["random", "callable"],
    "fetch_reach.p_controller": ["p_controller"],
    "fetch_push.sac": ["push_controller"],
    "fetch_push.robust": ["random"],
    "fetch_push.p_controller": ["p_controller"],
}


@pytest.fixture
def table():
    """Reads the table that comes so many tables after a line."""

    def read(text: str, heading: str, number: int = 0) -> list[dict]:
        lines = text[text.index(heading) :].split("\n\n")
        table_lines = [block for block in lines if block.startswith("|")][number].splitlines()
        names, _, *rows = [[word.strip() for word in line.strip("|").split("|")] for line in table_lines]
        return [dict(zip(names, row, strict=True)) for row in rows]

    return read


@pytest.fixture
def policy_table(table):
    """Reads a table of one policy in one sweep."""

    def read(text: str, env: str, heading: str, title: str, number: int = 0) -> list[dict]:
        part = text[text.index(f"## {env}\n\n### Observation") :]
        part = part[part.index(f"### {heading}") :]
        return table(part, f"**{title}**", number)

    return read


def solved(rate: float, seed: int, episodes: int) -> np.ndarray:
    """Success of every episode; other seeds succeed in other episodes."""
    return np.roll(np.arange(episodes) < round(rate * episodes), seed).astype(float)


def falling(task: str, name: str, sigma: float) -> float:
    if name == "random":
        return 0.9 if sigma < 0.1 else 0.2
    return {0.0: 0.95, 0.02: 0.9}.get(sigma, 0.5 if name == "constant" else 0.1)


@pytest.fixture
def fill(make_cell, save_cells):
    """Writes finished cells of every sweep of a plan; `rates(task, name, sigma)` is how often they succeed."""

    def write(plan: plans.ResultsPlan, rates=falling) -> None:
        for task, env in plans.TASKS.items():
            for noise, roles in plans.NOISES.items():
                names = dict.fromkeys(name for role in roles for name in plan.names(task, role))
                cells = [
                    make_cell(
                        solved(rates(task, name, sigma), seed, plan.episodes),
                        strength=sigma,
                        seed=seed,
                        success_final=solved(rates(task, name, sigma) / 2, seed, plan.episodes),
                        choices={"env": task, "policy": name, "perturbation": f"gaussian_{noise}"},
                        config={"env": {"id": env}, "policy": {"kp": name}, "mitigation": {"alpha": alpha}},
                        time_to_success=3,
                        smoothness=0.25 + sigma,
                    )
                    for name in names
                    for sigma in SIGMAS[noise]
                    for alpha in (ALPHAS if noise == "low_pass" else (None,))
                    for seed in plan.seeds
                ]
                save_cells(plan.sweep(task, noise), cells)

    return write


@pytest.fixture
def plan(tmp_path):
    return plans.ResultsPlan(tmp_path / "sweeps", tmp_path / "store", 20, [0, 1, 2], STAND_INS)


@pytest.fixture
def filled(plan, fill):
    fill(plan)
    return plan
