import numpy as np
from samples import LANES, bound, box, network, numbers

from brittlestar.policies import MlpPolicy, PController
from brittlestar.policies.differences import by_differences


def test_differences_find_the_same_gradient():
    policy, seen = bound(MlpPolicy(network(4), output="tanh"), box(4)), numbers(LANES, 4)
    weights, radius = numbers(LANES, 2, seed=9), {"": np.full((LANES, 4), 1e-4)}
    slopes = by_differences(policy, seen, None, np.zeros(LANES, bool), radius)
    np.testing.assert_allclose(slopes.outputs, policy.differentiate(seen).outputs, atol=1e-7)
    np.testing.assert_allclose(slopes.pull(weights)[""], policy.differentiate(seen).pull(weights)[""], atol=1e-6)


def test_differences_of_a_controller_are_its_gain():
    seen = {"observation": np.zeros((2, 10)), "desired_goal": np.full((2, 3), 0.01)}
    radius = {"observation": np.array([[0.01], [0.0]]) * np.ones(10)}
    slopes = by_differences(PController(kp=10.0), seen, None, np.ones(2, bool), radius)
    slope = slopes.pull(np.array([[1.0, 2.0, 3.0, 4.0]] * 2))["observation"]
    np.testing.assert_allclose(slope[0], [-10, -20, -30, *[0] * 7], atol=1e-3)
    assert np.isfinite(slope).all()
