"""Tables of a small benchmark."""

import pytest

from brittlestar.studies.stress import runs
from brittlestar.studies.stress.page.tables import BenchmarkTables

SILENT = f"{runs.SILENT}: identical actions in 80 of 80 episodes"


def stress_row(policy="cartpole_ppo", stressor="concept_drift", deterministic=True, **changes) -> dict:
    row = {
        "env": "cartpole", "policy": f"zoo/{policy}", "deterministic": deterministic, "perturbation": stressor,
        "n_seeds": 3, "n_episodes": 360, "rate_shock": 0.5, "rate_post": 0.04, "excess": 0.45, "false_alarms": 0.05,
        "identity_drop": 0.2, "recovery_episodes": 2.0, "recovered": 1.0, "return_p_value": 0.5, "verdict": "collapse",
    }  # fmt: skip
    return row | changes


def board_row(**changes) -> dict:
    ranks = {"rank_stability": 1, "rank_stability_low": 1, "rank_stability_high": 2}
    row = {"env": "cartpole", "policy": "zoo/cartpole_ppo", "deterministic": True, "n_agents": 2, "pareto": True}
    row |= {"stability": 0.6, "stability_low": 0.5, "stability_high": 0.7, "normalised_return": 1.0}
    return row | {"clean_return": 500.0, "identity": 0.9, "compat_score": 0.7} | ranks | changes


def make_tables(*more: dict, **changes) -> BenchmarkTables:
    rows = []
    for mode in (True, False):
        rows.append(stress_row(stressor="baseline", deterministic=mode, verdict="no stress", rate_shock=0.04))
        rows.append(stress_row(deterministic=mode, rate_shock=0.5 if mode else 0.3))
        rows.append(stress_row(stressor="sensor_blackout", deterministic=mode, excess=0.1, verdict="no collapse shown"))
        rows.append(stress_row(stressor="reward_noise", deterministic=mode, verdict=SILENT))
    pair = {"correlation": "return and stability", "x": "normalised_return", "y": "stability", "deterministic": True}
    pair |= {"n": 5, "pearson": -0.9, "pearson_p": 0.03, "spearman": None, "spearman_p": None}
    board = [board_row(), board_row(deterministic=False, normalised_return=None)]
    parts = {"stress": [*rows, *more], "leaderboard": board, "correlations": [pair], "failures": []}
    return BenchmarkTables(**parts | changes)


@pytest.fixture(name="stress_row")
def stress_row_fixture():
    return stress_row


@pytest.fixture(name="make_tables")
def make_tables_fixture():
    return make_tables
