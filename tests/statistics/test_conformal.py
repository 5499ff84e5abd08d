"""The false-alarm rate that the threshold guarantees, by simulation."""

import numpy as np
import pytest

from brittlestar.statistics.conformal import conformal_rank, conformal_threshold

REPETITIONS, CALIBRATED, TESTED = 10_000, 200, 20
DRAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "heavy tail": lambda rng, size: rng.standard_cauchy(size=size),
    "skewed": lambda rng, size: rng.lognormal(sigma=2.0, size=size),
    "two modes": lambda rng, size: rng.normal(size=size) + 9.0 * (rng.random(size) < 0.06),
    "bounded": lambda rng, size: rng.beta(0.5, 0.5, size=size),
    "mostly zero": lambda rng, size: np.maximum(0.0, rng.normal(-1.0, 1.0, size=size)),
    "few values": lambda rng, size: rng.poisson(1.0, size=size).astype(float),
    "constant": lambda rng, size: np.ones(size),
}
WITHOUT_TIES = ("normal", "heavy tail", "skewed", "two modes", "bounded")


def alarm_rates(draw, alpha: float, rng) -> np.ndarray:
    """Share of false alarms in each repetition of a calibration and a test."""
    scores = draw(rng, (REPETITIONS, CALIBRATED + TESTED))
    thresholds = conformal_threshold(scores[:, :CALIBRATED], alpha)
    return (scores[:, CALIBRATED:] > thresholds[:, None]).mean(axis=1)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("name", DRAWS)
def test_false_alarms_stay_below_alpha(name, alpha, rng):
    rates = alarm_rates(DRAWS[name], alpha, rng)
    error = 4 * rates.std() / np.sqrt(REPETITIONS)
    assert rates.mean() <= alpha + error
    if name in WITHOUT_TIES:
        # Not by never raising an alarm: the guarantee is tight.
        assert rates.mean() >= alpha - 1 / (CALIBRATED + 1) - error


def test_the_quantile_of_few_episodes_breaks_its_promise(rng):
    """Why: the 95th percentile of 20 episodes, as published."""
    scores = rng.normal(size=(REPETITIONS, 40))
    alarms = scores[:, 20:] >= np.percentile(scores[:, :20], 95, axis=1)[:, None]
    assert alarms.mean() > 0.07


@pytest.mark.parametrize(("n", "alpha", "rank"), [(200, 0.05, 191), (199, 0.05, 190), (99, 0.01, 99), (98, 0.01, 99)])
def test_rank(n, alpha, rank):
    assert conformal_rank(n, alpha) == rank
    expected = rank - 1.0 if rank <= n else np.inf
    assert conformal_threshold(np.arange(float(n)), alpha) == expected


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alpha_between_0_and_1(alpha):
    with pytest.raises(ValueError, match="`alpha` must be between 0 and 1"):
        conformal_threshold(np.zeros(3), alpha)
