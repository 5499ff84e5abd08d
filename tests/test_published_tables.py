"""The published Fetch tables of the P controller come out again."""

import numpy as np
import pytest

from brittlestar.config.build import load
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.perturbations import Perturbation
from brittlestar.policies import PController
from brittlestar.statistics.sample_size import clopper_pearson

DIGITS = {"return": 2, "smoothness": 3, "final_distance": 3, "time_to_success": 1, "action_energy": 1}
NAMES = {"FetchReach-v4": "fetch_reach", "FetchPush-v4": "fetch_push"}
TOLERANCE = {"FetchReach-v4": 0.05, "FetchPush-v4": 0.10}


def means(env: str, perturbation: Perturbation, episodes: int = 100) -> dict[str, float]:
    import numpy as np

    rows = rollout(Lanes(load("env", NAMES[env]), 4, threads=2), Parts(PController(), perturbation),
                   Plan(episodes, seed=0, consecutive=True))  # fmt: skip
    return {name: float(np.nanmean(rows.column(name))) for name in ("success_any", *DIGITS)}


@pytest.mark.parametrize("env", NAMES)
def test_without_noise_to_the_printed_digit(published_fetch, env):
    got = means(env, Perturbation())
    for noise in ("observation", "action"):
        row = published_fetch[env][f"p_controller_{noise}"][0]
        assert got["success_any"] == row["success_rate"]
        for name in row.keys() & DIGITS.keys():
            assert round(got[name], DIGITS[name]) == row[name], name


def check_row(env: str, noise: str, row: dict) -> None:
    got = means(env, load("perturbation", f"gaussian_{noise}", sigma=row["sigma"]))
    low, high = clopper_pearson(np.array(round(100 * row["success_rate"])), np.array(100), level=0.99)
    assert low <= got["success_any"] <= high
    for name in row.keys() & DIGITS.keys():
        rounding = 0.5 * 10 ** -DIGITS[name]
        assert got[name] == pytest.approx(row[name], rel=TOLERANCE[env], abs=rounding), name


@pytest.mark.parametrize(
    ("env", "noise", "index"),
    [("FetchReach-v4", "observation", 5), pytest.param("FetchPush-v4", "action", 4, marks=pytest.mark.slow)],
)
def test_with_noise_within_a_few_percent(published_fetch, env, noise, index):
    check_row(env, noise, published_fetch[env][f"p_controller_{noise}"][index])


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["observation", "action"])
@pytest.mark.parametrize("env", NAMES)
def test_every_published_row(published_fetch, env, noise):
    for row in published_fetch[env][f"p_controller_{noise}"][1:]:
        check_row(env, noise, row)
