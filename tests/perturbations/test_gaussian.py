import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianAction, GaussianObservation
from brittlestar.perturbations.context import Calibration, Context

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
    one, two, other = (noise.perturb_observation(clean, make_step(seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.isclose(one, other).any()


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
