"""Log probabilities equal those of Stable-Baselines3."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from scipy import stats

from brittlestar.policies import MlpPolicy
from brittlestar.policies.heads import Greedy, Squashed
from brittlestar.policies.likelihoods import choice_log_probability, gaussian_log_density, log_likelihood
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.randomness import LaneDraws

sb3 = pytest.importorskip("stable_baselines3")

ROWS = 6
SMALL = {"policy_kwargs": {"net_arch": [8]}}


class Blank(gym.Env):
    """An environment with the given actions, in which nothing happens."""

    def __init__(self, actions):
        self.observation_space, self.action_space = spaces.Box(-2, 2, (3,)), actions

    def reset(self, *, seed=None, options=None):
        return np.zeros(3, np.float32), {}

    def step(self, action):
        return np.zeros(3, np.float32), 0.0, True, False, {}


def saved(model, path):
    model.save(path)
    policy = Sb3Policy(str(path))
    env = model.get_env()
    policy.bind(env.observation_space, env.action_space, LaneDraws(0, "policy", ROWS))
    return policy


@pytest.mark.parametrize(
    ("actions", "options"),
    [
        (spaces.Box(-1, 1, (2,)), {}),
        (spaces.Box(-1, 1, (2,)), {"use_sde": True}),
        (spaces.Discrete(4), {}),
        (spaces.MultiDiscrete([2, 3]), {}),
        (spaces.MultiBinary(3), {}),
    ],
    ids=["gaussian", "state noise", "discrete", "several choices", "binary"],
)
def test_policies_with_a_distribution_equal_ppo(actions, options, tmp_path, rng):
    torch = pytest.importorskip("torch")
    model = sb3.PPO("MlpPolicy", Blank(actions), seed=0, device="cpu", n_steps=2, batch_size=2, **SMALL, **options)
    policy = saved(model, tmp_path / "model.zip")
    actions.seed(1)
    seen = rng.normal(size=(ROWS, 3)).astype(np.float32)
    taken = np.array([actions.sample() for _ in range(ROWS)])
    with torch.no_grad():
        expected = model.policy.evaluate_actions(torch.as_tensor(seen), torch.as_tensor(taken, dtype=torch.float32))[
            1
        ].numpy()
    np.testing.assert_allclose(policy.log_probability(taken, seen), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"use_sde": True}], ids=["gaussian", "state noise"])
def test_a_squashed_policy_equals_sac_in_units_of_its_bounds(options, tmp_path, rng):
    torch = pytest.importorskip("torch")
    box = spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32))
    model = sb3.SAC("MlpPolicy", Blank(box), seed=0, device="cpu", buffer_size=10, **SMALL, **options)
    policy = saved(model, tmp_path / "model.zip")
    seen, unit = rng.normal(size=(ROWS, 3)).astype(np.float32), rng.uniform(-0.9, 0.9, (ROWS, 2)).astype(np.float32)
    with torch.no_grad():
        mean, log_std, more = model.actor.get_action_dist_params(torch.as_tensor(seen))
        distribution = model.actor.action_dist.proba_distribution(mean, log_std, **more)
        expected = distribution.log_prob(torch.as_tensor(unit)).numpy()
    taken = box.low + (unit + 1) / 2 * (box.high - box.low)
    np.testing.assert_allclose(policy.log_probability(taken, seen), expected, rtol=1e-3, atol=1e-4)


def test_an_action_at_its_bound_has_a_finite_likelihood():
    head = Squashed(spread=(np.zeros((1, 1)), np.zeros(1)))
    value = log_likelihood(head, np.ones((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
    assert np.isfinite(value).all()


@pytest.mark.parametrize("head", [Squashed(), Greedy()], ids=lambda head: type(head).__name__)
def test_a_policy_that_always_takes_one_action_has_none(head):
    policy = MlpPolicy([(np.ones((3, 1)), np.zeros(1))], output=head)
    assert policy.log_probability(np.zeros((2, 1)), np.zeros((2, 3))) is None


def test_asking_for_a_likelihood_does_not_change_the_next_action(rng):
    policy = MlpPolicy.random([3, 8, 2])
    seen = rng.normal(size=(4, 3)).astype(np.float32)
    first = policy.predict(seen)[0].copy()
    policy.log_probability(first, 2 * seen)
    np.testing.assert_array_equal(policy.predict(seen)[0], first)


def test_densities_equal_those_of_scipy(rng):
    actions, mean, std = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.uniform(0.5, 2, 3)
    expected = stats.norm(mean, std).logpdf(actions).sum(axis=1)
    np.testing.assert_allclose(gaussian_log_density(actions, mean, std), expected)


def test_log_probabilities_of_choices_are_normalised_and_hold_for_large_logits():
    logits = np.array([[1000.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    values = np.array([choice_log_probability([choice] * 2, logits) for choice in range(3)])
    np.testing.assert_allclose(np.exp(values).sum(axis=0), 1.0)
    assert values[0, 0] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_log_density([[0.0]], [[0.0]], 0.0), "`std` must be above 0, got 0.0"),
        (lambda: choice_log_probability([2], [[0.0, 1.0]]), "`choices` must be between 0 and 1, got \\[2\\]"),
        (lambda: choice_log_probability([0.5], [[0.0, 1.0]]), "`choices` must be 1 integers, got shape"),
    ],
)
def test_wrong_arrays_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
