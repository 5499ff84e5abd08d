import math

import numpy as np
import pytest

from brittlestar.studies.stress.phases import cvar, phase_summary, recovery_episodes
from brittlestar.studies.stress.scoring import Scored


def test_summary_by_hand():
    phases = ["pre", "pre", "shock", "shock", "post", "post"]
    channels = np.tile([[1.0], [0.8], [0.5], [0.3], [0.9], [0.7]], (1, 5))
    event = np.array([False, True, True, True, True, False])
    returns = np.array([10.0, 12.0, 4.0, 2.0, 9.0, 9.0])
    row = phase_summary(Scored(phases, returns, channels, channels[:, 0], 1 - channels[:, 0], event, 0.15, 0.6, True))
    expected = {
        "rate": 4 / 6, "rate_pre": 0.5, "rate_shock": 1.0, "rate_post": 0.5, "identity_drop": 0.5, "meaning_drop": 0.5,
        "return_drop": 8.0, "cvar_05": 2.0, "cvar_25": 2.0, "residual": 0.1, "competence_post": 0.8,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert math.isnan(row["recovery_episodes"]), "one calm episode of two"


@pytest.mark.parametrize(
    ("n", "share", "worst"), [(40, 0.05, 2), (40, 0.25, 10), (41, 0.05, 3), (3, 0.05, 1), (20, 0.15, 3)]
)
def test_cvar_is_the_mean_of_the_worst(rng, n, share, worst):
    assert cvar(rng.permutation(float(n) + np.arange(n)), share) == pytest.approx(n + (worst - 1) / 2)
    assert math.isnan(cvar(np.zeros(0), share))


@pytest.mark.parametrize(
    ("events", "expected"), [("", math.nan), ("0", 0), ("1", math.nan), ("000", 0), ("1101000", 4), ("10010", math.nan)]
)
def test_recovery(events, expected):
    got = recovery_episodes(np.array([event == "1" for event in events], dtype=bool))
    assert got == pytest.approx(expected, nan_ok=True)
