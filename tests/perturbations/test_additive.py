import numpy as np
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BiasObservation,
    DriftObservation,
    GaussianObservation,
    SpikeObservation,
    UniformObservation,
)
from brittlestar.policies import RandomPolicy

ZEROS = np.zeros((50, 400, 5))


@pytest.mark.parametrize(
    ("noise", "variance"),
    [(GaussianObservation(sigma=0.3), 0.09), (UniformObservation(width=0.3), 0.03), (SpikeObservation(0.2, 0.5), 0.05)],
)
def test_mean_and_variance(noise, variance, play):
    change = play(noise, ZEROS)
    spread = np.sqrt(variance / change.size)
    assert abs(change.mean()) < 5 * spread
    assert change.var() == pytest.approx(variance, rel=0.03)


def test_uniform_noise_fills_its_width_and_no_more(play):
    change = play(UniformObservation(width=0.3), ZEROS)
    assert 0.299 < np.abs(change).max() <= 0.3


def test_a_drawn_bias_stays_through_an_episode_and_differs_between_episodes_and_numbers(play):
    change = play(BiasObservation(bias=0.3), ZEROS)
    assert np.array_equal(change, np.broadcast_to(change[0], change.shape))
    assert len(np.unique(change[0])) == change[0].size
    assert change[0].std() == pytest.approx(0.3, rel=0.06)


def test_a_fixed_bias_is_the_same_everywhere(play):
    assert np.array_equal(play(BiasObservation(bias=-0.3, draw="fixed"), ZEROS), ZEROS - 0.3)


def test_drift_starts_at_zero_and_grows_as_the_root_of_time(play):
    change = play(DriftObservation(sigma=0.1), ZEROS)
    assert not change[0].any()
    spread = change.reshape(50, -1).std(axis=1)
    np.testing.assert_allclose(spread[1:], 0.1 * np.sqrt(np.arange(1, 50)), rtol=0.08)
    moves = np.diff(change, axis=0)
    assert abs(np.corrcoef(moves[:-1].ravel(), moves[1:].ravel())[0, 1]) < 0.02


def test_drift_stops_where_the_level_falls(play):
    change = play(DriftObservation(sigma=0.1), ZEROS, level=np.arange(50) < 20)
    assert np.array_equal(change[20:], np.broadcast_to(change[19], change[20:].shape))
    assert change[19].all()


def test_spikes_are_rare_and_of_one_height(play):
    change = play(SpikeObservation(p=0.1, height=2.0), ZEROS)
    assert set(np.unique(change)) == {-2.0, 0.0, 2.0}
    assert np.mean(change != 0) == pytest.approx(0.1, abs=0.005)
    assert np.mean(change[change != 0] > 0) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("noise", "per_unit"),
    [
        (GaussianObservation(sigma=0.5, scale="std"), 0.5),
        (UniformObservation(width=0.5, scale="std"), 0.5 / np.sqrt(3)),
        (SpikeObservation(p=0.25, height=0.5, scale="std"), 0.25),
        (BiasObservation(bias=0.5, draw="fixed", scale="std"), 0.5),
    ],
)
def test_a_scale_of_std_is_proportional_to_the_spread_of_each_number_in_a_real_environment(noise, per_unit):
    changes = []
    perturb = noise.perturb

    def watched(array, step):
        seen = perturb(array, step)
        changes.append(seen - array)
        return seen

    noise.perturb = watched
    lanes = Lanes(EnvSpec(id="Pendulum-v1"), count=8)
    rollout(lanes, Parts(RandomPolicy(), noise), Plan(episodes=16))
    ((calibration, _),) = lanes.calibrations.values()
    std = calibration.std[""]
    assert std[2] > 2 * std[0], "angle and speed have different spreads"
    size = np.sqrt(np.mean(np.concatenate(changes) ** 2, axis=0))
    np.testing.assert_allclose(size / std, per_unit, rtol=0.1)


@pytest.mark.parametrize(
    ("kind", "bad", "message"),
    [
        (UniformObservation, {"width": -1}, "`width` must be at least 0, got -1"),
        (UniformObservation, {"width": float("nan")}, "`width` must be at least 0, got nan"),
        (BiasObservation, {"bias": float("inf")}, "`bias` must be finite, got inf"),
        (DriftObservation, {"sigma": -0.1}, r"`sigma` must be at least 0, got -0\.1"),
        (SpikeObservation, {"p": 1.5}, r"`p` must be in \[0, 1\], got 1\.5"),
        (SpikeObservation, {"p": 0.1, "height": -1}, "`height` must be at least 0, got -1"),
    ],
)
def test_bad_numbers(kind, bad, message):
    with pytest.raises(ValueError, match=message):
        kind(**bad)


def test_bad_names():
    with pytest.raises(UserError, match="`draw` cannot be 'nomral'; did you mean `normal`?"):
        BiasObservation(bias=0.1, draw="nomral")
    with pytest.raises(UserError, match="`scale` cannot be 'sdt'; did you mean `std`?"):
        DriftObservation(sigma=0.1, scale="sdt")
