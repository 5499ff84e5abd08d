import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies.heads import Clipped, Greedy, Sampled, Squashed, StateNoise
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.randomness import LaneDraws

MANY = 20_000
BOX = spaces.Box(-4.0, 4.0, (2,), np.float32)


def draws(lanes=MANY, step=0, episodes=None):
    draws = LaneDraws(seed=0, stream="policy", lanes=lanes)
    draws.at(np.arange(lanes) if episodes is None else np.array(episodes), np.full(lanes, step))
    return draws


def decide(head, space, outputs, latent=None, lanes=MANY, drawn=True):
    outputs = np.tile(np.asarray(outputs, dtype=np.float64), (lanes, 1))
    head.bind(space, outputs.shape[1])
    latent = np.zeros((lanes, 1)) if latent is None else np.tile(latent, (lanes, 1))
    return head.decide(outputs, latent, draws(lanes) if drawn else None)


def test_clipped_noise_has_the_spread_of_training():
    actions = decide(Clipped(np.log([0.5, 0.1])), BOX, [1.0, -1.0])
    np.testing.assert_allclose(actions.mean(axis=0), [1.0, -1.0], atol=4 * 0.5 / np.sqrt(MANY))
    np.testing.assert_allclose(actions.std(axis=0), [0.5, 0.1], rtol=0.03)
    assert decide(Clipped(np.log([0.5, 0.1])), BOX, [1.0, -9.0], drawn=False)[0].tolist() == [1.0, -4.0]


def test_squashed_noise_has_the_spread_that_the_network_gives():
    spread = np.array([[0.0, 1.0]]), np.log([0.2, 0.2])
    actions = decide(Squashed(spread), BOX, [0.3, 0.3], latent=[np.log(2.0)])
    raw = np.arctanh(actions / 4.0)
    np.testing.assert_allclose(raw.mean(axis=0), [0.3, 0.3], atol=0.02)
    np.testing.assert_allclose(raw.std(axis=0), [0.2, 0.4], rtol=0.03)


def test_squashed_outputs_may_be_limited_first():
    actions = decide(Squashed(limit=2.0), BOX, [9.0, 0.5], lanes=1, drawn=False)
    np.testing.assert_allclose(actions, [4 * np.tanh([2.0, 0.5])])


def test_state_noise_is_the_same_function_for_a_whole_episode():
    noise, latent = StateNoise(np.full((3, 2), 0.7)), np.array([[1.0, -2.0, 0.5]])
    one, later, other = (noise.draw(latent, draws(1, step, [episode])) for step, episode in ((0, 4), (9, 4), (0, 5)))
    assert np.array_equal(one, later)
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(noise.draw(2 * latent, draws(1, 0, [4])), 2 * one)
    many = noise.draw(np.tile(latent, (MANY, 1)), draws())
    np.testing.assert_allclose(many.std(axis=0), 0.7 * np.linalg.norm(latent), rtol=0.03)


def test_greedy_explores_as_often_as_it_says():
    chosen = decide(Greedy(exploration=0.3), spaces.Discrete(3), [0.0, 2.0, 1.0])
    shares = np.bincount(chosen, minlength=3) / MANY
    np.testing.assert_allclose(shares, [0.1, 0.8, 0.1], atol=0.015)
    assert set(decide(Greedy(0.3), spaces.Discrete(3), [0.0, 2.0, 1.0], drawn=False)) == {1}


def test_logits_are_sampled_in_proportion():
    chances = np.array([0.2, 0.5, 0.3])
    chosen = decide(Sampled(), spaces.Discrete(3), np.log(chances))
    np.testing.assert_allclose(np.bincount(chosen) / MANY, chances, atol=0.015)
    assert set(decide(Sampled(), spaces.Discrete(3), np.log(chances), drawn=False)) == {1}


def test_several_choices_at_once():
    logits = np.log([0.9, 0.1, 0.2, 0.3, 0.5])
    chosen = decide(Sampled(), spaces.MultiDiscrete([2, 3]), logits)
    assert chosen.shape == (MANY, 2)
    np.testing.assert_allclose((chosen[:, 0] == 1).mean(), 0.1, atol=0.01)
    np.testing.assert_allclose((chosen[:, 1] == 2).mean(), 0.5, atol=0.015)
    switches = decide(Sampled(), spaces.MultiBinary(2), np.log([0.8 / 0.2, 0.5 / 0.5]))
    np.testing.assert_allclose(switches.mean(axis=0), [0.8, 0.5], atol=0.015)
    assert decide(Sampled(), spaces.MultiBinary(2), [3.0, -3.0], lanes=1, drawn=False).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("head", "space"),
    [
        (Clipped(np.zeros(2)), BOX),
        (Squashed((np.ones((8, 2), np.float32), np.zeros(2, np.float32))), BOX),
        (Clipped(state_noise=StateNoise(np.ones((8, 2)))), BOX),
        (Greedy(0.5), spaces.Discrete(2)),
        (Sampled(), spaces.Discrete(2)),
    ],
)
def test_a_random_action_depends_on_its_episode_not_on_its_lane(head, space):
    policy = MlpPolicy(MlpPolicy.random([3, 8, 2])._layers, output=head)
    seen = np.random.default_rng(0).standard_normal((6, 3))
    alone = []
    for episode in range(6):
        policy.bind(spaces.Box(-9, 9, (3,)), space, draws(1, 3, [episode]))
        alone.append(policy.predict(seen[episode : episode + 1], deterministic=False)[0][0])
    order = [4, 0, 5, 2]
    policy.bind(spaces.Box(-9, 9, (3,)), space, draws(4, 3, order))
    together = policy.predict(seen[order], deterministic=False)[0]
    assert np.array_equal(together, np.array(alone)[order])


@pytest.mark.parametrize(
    ("head", "space", "outputs", "message"),
    [
        (Sampled(), spaces.MultiDiscrete([2, 3]), 4, "gives 4 logits, but actions are MultiDiscrete"),
        (Sampled(), BOX, 2, "but actions are Box"),
        (Greedy(), spaces.Discrete(3), 2, r"needs actions Discrete\(2\), got Discrete\(3\)"),
        (Squashed(), BOX, 3, r"gives 3 numbers, but actions are Box\(2,\)"),
    ],
)
def test_outputs_that_do_not_fit(head, space, outputs, message):
    with pytest.raises(UserError, match=message):
        head.bind(space, outputs)
