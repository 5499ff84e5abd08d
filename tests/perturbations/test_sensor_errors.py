import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BiasObservation,
    DriftObservation,
    GaussianAction,
    GaussianObservation,
    QuantisedObservation,
    ScaleObservation,
    SpikeObservation,
    UniformObservation,
)
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.policies import RandomPolicy

ZEROS = np.zeros((50, 400, 5))
TRUTH = np.random.default_rng(0).normal(size=(20, 300, 5))
BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)
GOAL = spaces.Dict({key: spaces.Box(-np.inf, np.inf, (3,)) for key in ("observation", "achieved_goal", "desired_goal")})


def test_observation_noise_is_sigma_times_level_times_a_fixed_draw(make_step):
    clean = np.ones((3, 4))
    draw = make_step().draws.normal((4,))
    for sigma, level in [(0.1, 1.0), (2.0, 1.0), (2.0, 0.25)]:
        seen = GaussianObservation(sigma=sigma).perturb_observation(clean, make_step(level=level))
        np.testing.assert_allclose(seen - clean, level * sigma * draw, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_shape_and_input_are_kept(dtype, make_step):
    clean = np.zeros((3, 4), dtype)
    seen = GaussianObservation(sigma=1.0).perturb_observation(clean, make_step())
    assert seen.dtype == dtype
    assert seen.shape == clean.shape
    assert not clean.any()


def test_only_named_keys_are_touched(make_step):
    clean = {key: np.zeros((3, 3)) for key in GOAL}
    noise = GaussianObservation(sigma=1.0, keys=["observation", "achieved_goal"])
    noise.bind(GOAL, BOX, lanes=3)
    seen = noise.perturb_observation(clean, make_step())
    assert list(seen) == list(clean)
    assert seen["observation"].all()
    assert seen["achieved_goal"].all()
    assert seen["desired_goal"] is clean["desired_goal"]


def test_strength_zero_is_the_identity(make_step):
    clean = np.random.default_rng(0).normal(size=(3, 4))
    noise = GaussianObservation(sigma=0.0)
    assert noise.is_identity
    assert np.array_equal(noise.perturb_observation(clean, make_step()), clean)
    action = GaussianAction(sigma=0.0)
    action.bind(BOX, BOX, lanes=3)
    sent = np.clip(clean, -1, 1).astype(np.float32)
    assert np.array_equal(action.perturb_action(sent, make_step()), sent)


def test_same_seed_same_noise_other_seed_other_noise(make_step):
    clean, noise = np.zeros((3, 4)), GaussianObservation(sigma=1.0)
    seen, repeated, other = (noise.perturb_observation(clean, make_step(seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(seen, repeated)
    assert not np.isclose(seen, other).any()


def test_noise_removes_the_bounds_of_the_space():
    assert GaussianObservation(sigma=1.0).observation_space(BOX) == spaces.Box(-np.inf, np.inf, (4,), np.float32)


@pytest.mark.parametrize("kind", [GaussianObservation, GaussianAction])
@pytest.mark.parametrize("sigma", [-0.1, float("nan")])
def test_bad_sigma(kind, sigma):
    with pytest.raises(ValueError, match=f"`sigma` must be at least 0, got {sigma}"):
        kind(sigma=sigma)


def test_spaces_that_make_no_sense():
    with pytest.raises(UserError, match=r"needs a Box action space, got Discrete\(2\)"):
        GaussianAction(sigma=1.0).bind(BOX, spaces.Discrete(2), lanes=1)
    with pytest.raises(UserError, match=r"needs a Box observation, the observation is Discrete\(16\)"):
        GaussianObservation(sigma=1.0).bind(spaces.Discrete(16), BOX, lanes=1)
    with pytest.raises(UserError, match="achived_goal; did you mean `achieved_goal`"):
        GaussianObservation(sigma=1.0, keys=["achived_goal"]).bind(GOAL, BOX, lanes=1)


def test_noise_in_standard_deviations_follows_the_spread_of_each_number(make_step):
    noise = GaussianObservation(sigma=0.5, scale="std")
    noise.prepare(Context(calibrate=lambda: Calibration({"": np.zeros(3)}, {"": np.array([1.0, 0.1, 0.0])})))
    clean = np.zeros((3, 3))
    seen = noise.perturb_observation(clean, make_step())
    np.testing.assert_allclose(seen, 0.5 * make_step().draws.normal((3,)) * [1.0, 0.1, 0.0], atol=1e-12)


def test_without_a_policy_there_is_no_clean_pass():
    with pytest.raises(UserError, match=r"`scale: std` .* need .*`PerturbedEnv\(..., calibration="):
        GaussianObservation(sigma=0.5, scale="std").prepare(Context())


def test_an_unknown_scale_gets_the_nearest_name():
    with pytest.raises(UserError, match="`scale` cannot be 'sdt'; did you mean `std`"):
        GaussianObservation(sigma=0.5, scale="sdt")


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


@pytest.mark.parametrize(
    ("size", "value", "expected"),
    [(0.5, 0.2, 0.0), (0.5, 0.3, 0.5), (0.5, -0.76, -1.0), (0.5, 0.25, 0.0), (0.5, 0.75, 1.0), (2.0, 7.1, 8.0)],
)
def test_numbers_are_rounded_to_the_nearest_step(size, value, expected, play):
    assert play(QuantisedObservation(step_size=size), np.full((1, 1, 1), value)).item() == expected


def test_the_error_of_rounding_is_uniform(play):
    error = play(QuantisedObservation(step_size=0.1), TRUTH) - TRUTH
    assert np.abs(error).max() <= 0.05 + 1e-12
    assert error.var() == pytest.approx(0.1**2 / 12, rel=0.03)


def test_steps_of_std_leave_a_number_that_never_changes(play):
    coarse = QuantisedObservation(step_size=1.0, scale="std")
    coarse.prepare(Context(calibrate=lambda: Calibration({}, {"": np.array([0.0, 2.0])})))
    assert play(coarse, np.array([[[0.3, 1.4]]])).tolist() == [[[0.3, 2.0]]]


def test_a_drawn_gain_stays_through_an_episode(play):
    gain = play(ScaleObservation(gain_error=0.2), TRUTH) / TRUTH
    np.testing.assert_allclose(gain, np.broadcast_to(gain[0], gain.shape), rtol=1e-9)
    assert (gain[0].mean(), gain[0].std()) == (pytest.approx(1.0, abs=0.03), pytest.approx(0.2, rel=0.07))


def test_a_fixed_gain(play):
    np.testing.assert_allclose(play(ScaleObservation(gain_error=-0.25, draw="fixed"), TRUTH), 0.75 * TRUTH)


def test_bad_gains_and_steps():
    with pytest.raises(ValueError, match="`step_size` must be at least 0, got -1"):
        QuantisedObservation(step_size=-1)
    with pytest.raises(ValueError, match="`gain_error` must be finite, got nan"):
        ScaleObservation(gain_error=float("nan"))
    with pytest.raises(UserError, match="`draw` cannot be 'fix'; did you mean `fixed`?"):
        ScaleObservation(gain_error=0.1, draw="fix")
