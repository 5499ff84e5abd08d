import numpy as np
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianObservation, Perturbation
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.policies import as_policy


class Ask(Perturbation):
    """Remembers what a clean pass measured."""

    def prepare(self, context):
        self.calibration = context.calibrate()


def spread(count, seed=0, policy=None):
    lanes, ask = Lanes(EnvSpec(id="Pendulum-v1", max_steps=30), count), Ask()
    rollout(lanes, Parts(policy or as_policy(lambda o: np.array([o[1]])), ask), Plan(3, seed))
    return ask.calibration


def test_the_clean_pass_is_the_same_for_any_lanes_and_seed():
    one = spread(1)
    for other in (spread(5), spread(20), spread(3, seed=7)):
        assert one.std[""].tobytes() == other.std[""].tobytes()
        assert one.mean[""].tobytes() == other.mean[""].tobytes()


def test_the_clean_pass_measures_what_the_policy_sees():
    seen = []

    def policy(observation):
        seen.append(observation.copy())
        return np.zeros(1)

    calibration = spread(1, policy=as_policy(policy))
    clean = np.array(seen[: 8 * 30])
    np.testing.assert_allclose(calibration.mean[""], clean.mean(axis=0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(calibration.std[""], clean.std(axis=0), rtol=1e-6)


def test_the_clean_pass_runs_once_for_all_cells_of_a_policy():
    lanes, policy = Lanes(EnvSpec(id="Pendulum-v1", max_steps=5), 2), as_policy(lambda o: np.zeros(1))
    first, second = Ask(), Ask()
    for ask in (first, second):
        rollout(lanes, Parts(policy, ask), Plan(2))
    assert first.calibration is second.calibration


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
