import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import ClipAction, RescaleAction
from samples import NAMES, bound, draws_at, needs_agents, observations, zip_of

from brittlestar.checkpoints import read_checkpoint
from brittlestar.errors import UserError
from brittlestar.policies.heads import Clipped
from brittlestar.policies.likelihoods import gaussian_log_density
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.policies.simple import ConstantPolicy
from brittlestar.policies.trained_spaces import AdaptedPolicy, check_observations

pytest.importorskip("torch")
stable_baselines3 = pytest.importorskip("stable_baselines3")

LANES = 7
TORQUE = spaces.Box(-2.0, 2.0, (1,), np.float32)
ANGLES = gym.spaces.Box(-8.0, 8.0, (3,), np.float32)
both_loaders = pytest.mark.parametrize("trust", [False, True])


class Blank(gym.Env):
    """Spaces and nothing else."""

    def __init__(self, acts, sees=ANGLES):
        self.action_space, self.observation_space = acts, sees

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}


def model_of(algorithm, env, folder, policy="MlpPolicy", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options |= {"n_steps": 8} if algorithm in ("PPO", "A2C") else {"buffer_size": 10}
        model = getattr(stable_baselines3, algorithm)(policy, env, device="cpu", seed=0, **options)
        # An untrained network hardly acts.
        for name, weights in model.policy.named_parameters():
            weights.data *= 300.0 if name.startswith("action_net") else 3.0
    model.save(folder / "model.zip")
    return model, str(folder / "model.zip")


def loaded(path, trust, acts, sees=ANGLES, **options):
    return bound(Sb3Policy(path, trust=trust, **options), sees, acts, lanes=LANES)


@both_loaders
@pytest.mark.parametrize("algorithm", ["PPO", "SAC"])
def test_actions_of_a_normalised_training_are_rescaled(tmp_path, algorithm, trust):
    wrapped = RescaleAction(gym.make("Pendulum-v1"), np.float32(-1.0), np.float32(1.0))
    model, path = model_of(algorithm, wrapped, tmp_path)
    seen = observations(ANGLES, LANES)
    expected = [wrapped.action(action) for action in model.predict(seen, deterministic=True)[0]]
    policy = loaded(path, trust, TORQUE, wrapped.observation_space)
    actions = policy.predict(seen)[0]
    np.testing.assert_allclose(actions, expected, atol=1e-5)
    assert np.abs(actions).max() > 1.0
    (note,) = policy.notes
    assert "trained with actions in [-1, 1], those of the environment are in [-2, 2]: they are rescaled" in note


@both_loaders
def test_the_user_decides_the_units(tmp_path, trust):
    model, path = model_of("PPO", Blank(spaces.Box(-1.0, 1.0, (1,))), tmp_path)
    seen = observations(ANGLES, LANES)
    theirs = model.predict(seen, deterministic=True)[0]
    for outputs, scale in (("env", 1.0), ("unit", 2.0)):
        policy = loaded(path, trust, TORQUE, outputs=outputs)
        np.testing.assert_allclose(policy.predict(seen)[0], scale * theirs, atol=1e-5)
        assert policy.notes == []
    with pytest.raises(UserError, match="`outputs` cannot be 'units'; did you mean `unit`"):
        Sb3Policy(path, trust=trust, outputs="units")


def test_actions_without_bounds_in_training_are_clipped():
    wrapped = ClipAction(gym.make("Pendulum-v1"))
    policy = bound(AdaptedPolicy(ConstantPolicy(5.0), wrapped.action_space), ANGLES, TORQUE)
    assert policy.predict(observations(ANGLES, LANES))[0].tolist() == [[2.0]] * LANES
    assert "trained with actions in [-inf, inf]" in policy.notes[0]
    assert "clipped" in policy.notes[0]


@both_loaders
def test_other_bounds_are_refused_with_both_ways_out(tmp_path, trust):
    _, path = model_of("PPO", Blank(spaces.Box(-0.4, 0.4, (1,))), tmp_path)
    sides = r"actions in \[-0.4, 0.4\], those of the environment are in \[-2, 2\]"
    message = f"{sides}: .*outputs=unit` rescales .*outputs=env` if both"
    with pytest.raises(UserError, match=message):
        loaded(path, trust, TORQUE)
    assert loaded(path, trust, TORQUE, outputs="unit").predict(observations(ANGLES, LANES))[0].shape == (LANES, 1)
    with pytest.raises(UserError, match="only continuous actions with bounds can be rescaled"):
        loaded(path, trust, spaces.Box(-np.inf, np.inf, (1,)), outputs="unit")


@both_loaders
@pytest.mark.parametrize(
    ("trained", "space"),
    [
        (spaces.Discrete(3, start=-1), spaces.Discrete(3, start=-1)),
        (spaces.MultiDiscrete([3, 2], start=[1, 5]), spaces.MultiDiscrete([3, 2], start=[1, 5])),
    ],
)
def test_the_start_of_choices_is_not_added_as_in_stable_baselines3(tmp_path, trained, space, trust):
    model, path = model_of("PPO", Blank(trained), tmp_path)
    seen = 20 * observations(ANGLES, LANES)
    policy = loaded(path, trust, space)
    assert np.array_equal(policy.predict(seen)[0], model.predict(seen, deterministic=True)[0])
    (note,) = policy.notes
    assert "is not added to a choice, as in Stable-Baselines3: it sends 0 to" in note


@both_loaders
@pytest.mark.parametrize(
    ("trained", "space"),
    [
        (spaces.Discrete(2), spaces.Discrete(6)),
        (spaces.Discrete(3), spaces.Discrete(3, start=1)),
        (spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([3, 2])),
        (spaces.Discrete(2), spaces.Box(-1.0, 1.0, (1,))),
        (spaces.Box(-1.0, 1.0, (1,)), spaces.Discrete(2)),
        (spaces.Box(-1.0, 1.0, (2,)), spaces.Box(-1.0, 1.0, (1,))),
        (spaces.Box(-1.0, 1.0, (2,)), spaces.Box(-1.0, 1.0, (1, 2))),
    ],
)
def test_other_actions_are_refused(tmp_path, trained, space, trust):
    _, path = model_of("PPO", Blank(trained), tmp_path)
    with pytest.raises(UserError, match=r"trained with actions .*, the environment has .*: take the environment"):
        loaded(path, trust, space)


def test_exploration_is_the_same_with_both_loaders(tmp_path):
    model, path = model_of("DQN", Blank(spaces.Discrete(4, start=2)), tmp_path)
    model.exploration_rate = 0.5
    model.save(path)
    seen = 20 * observations(ANGLES, LANES)
    answers = [loaded(path, trust, spaces.Discrete(4, start=2)).predict(seen, None, None, False)[0] for trust in (0, 1)]
    assert np.array_equal(*answers)
    # As Stable-Baselines3 does: a random action is drawn from the space, the best choice counts from 0.
    greedy = model.predict(seen, deterministic=True)[0]
    explored = answers[0] != greedy
    assert explored.any()
    assert ((answers[0] >= 2) | (answers[0] == greedy)).all()


@both_loaders
@pytest.mark.parametrize(
    ("trained", "space", "message"),
    [
        (spaces.Discrete(4), spaces.Discrete(5), r"observations Discrete\(4\), the environment has Discrete\(5\)"),
        (spaces.Discrete(4, start=1), spaces.Discrete(4, start=1), "only if they start at 0"),
        (spaces.Discrete(4), ANGLES, r"observations Discrete\(4\), the environment has Box\(3,\)"),
    ],
)
def test_other_observations_are_refused(tmp_path, trained, space, message, trust):
    _, path = model_of("PPO", Blank(spaces.Discrete(2), trained), tmp_path)
    with pytest.raises(UserError, match=message):
        loaded(path, trust, spaces.Discrete(2), space)


@both_loaders
def test_entries_of_other_sizes_are_refused_though_their_sum_is_the_same(tmp_path, trust):
    sizes = {"a": 2, "b": 3}
    trained = spaces.Dict({key: spaces.Box(-1.0, 1.0, (size,)) for key, size in sizes.items()})
    _, path = model_of("PPO", Blank(spaces.Discrete(2), trained), tmp_path, "MultiInputPolicy")
    swapped = spaces.Dict({key: spaces.Box(-1.0, 1.0, (5 - size,)) for key, size in sizes.items()})
    with pytest.raises(UserError, match=r"observations `a` Box\(2,\), the environment has Box\(3,\)"):
        loaded(path, trust, spaces.Discrete(2), swapped)
    choice = spaces.Dict(trained.spaces | {"a": spaces.Discrete(2)})
    with pytest.raises(UserError, match=r"observations `a` Box\(2,\), the environment has Discrete\(2\)"):
        loaded(path, trust, spaces.Discrete(2), choice)
    more = spaces.Dict(trained.spaces | {"c": spaces.Discrete(9)})
    seen = observations(trained, LANES) | {"c": np.zeros(LANES, np.int64)}
    assert loaded(path, trust, spaces.Discrete(2), more).predict(seen)[0].shape == (LANES,)


@both_loaders
@pytest.mark.parametrize(("numbers", "option"), [(4, "time_limit"), (12, "frame_stack=4")])
def test_observations_of_another_size_hint_at_the_option(tmp_path, numbers, option, trust):
    for name, entry in (("MlpPolicy", None), ("MultiInputPolicy", "observation")):
        row, given = spaces.Box(-1.0, 1.0, (numbers,)), spaces.Box(-1.0, 1.0, (3,))
        trained, space = (row, given) if entry is None else (spaces.Dict({entry: row}), spaces.Dict({entry: given}))
        _, path = model_of("PPO", Blank(spaces.Discrete(2), trained), tmp_path, name)
        with pytest.raises(UserError, match=rf"Box\(3,\): was it trained with .*`policy.{option}`"):
            loaded(path, trust, spaces.Discrete(2), space)


def test_wider_bounds_of_observations_are_no_reason_for_a_note():
    unbounded = spaces.Box(-np.inf, np.inf, (3,))
    wide = spaces.Box(np.array([-9, -5, -4], np.float32), np.array([9, 5, 4], np.float32))
    double = spaces.Box(-8.0, 8.0, (3,), np.float64)
    for space in (unbounded, wide, double):
        assert check_observations(ANGLES, space, "it") == check_observations(space, ANGLES, "it") == []
    unit = spaces.Box(-1.0, 1.0, (3,))
    assert check_observations(unit, unit, "it") == []
    assert "not rescaled; if RescaleObservation" in check_observations(unit, ANGLES, "it")[0]


def test_images_with_another_range_are_refused():
    pixels, shares = spaces.Box(0, 255, (8, 8, 3), np.uint8), spaces.Box(0.0, 1.0, (8, 8, 3), np.float32)
    for trained, space in ((pixels, shares), (shares, pixels)):
        with pytest.raises(UserError, match=r"\(uint8, float32\)|\(float32, uint8\)"):
            check_observations(trained, space, "it")


def test_gradients_follow_the_conversion():
    weights = np.array([[0.5], [-2.0]])
    policy = AdaptedPolicy(MlpPolicy([(weights, np.zeros(1))]), spaces.Box(-1.0, 1.0, (1,)))
    policy.bind(spaces.Box(-9.0, 9.0, (2,)), spaces.Box(0.0, 6.0, (1,)), draws_at(lanes=2))
    seen = np.array([[0.2, 0.1], [9.0, 0.0]])
    answer = policy.differentiate(seen)
    np.testing.assert_allclose(answer.outputs, policy.predict(seen)[0])
    np.testing.assert_allclose(answer.pull(np.ones((2, 1)))[""], [[1.5, -6.0], [0.0, 0.0]])


def test_densities_follow_the_conversion():
    policy = MlpPolicy([(np.eye(2), np.zeros(2))], output=Clipped(np.log([0.5, 0.1])))
    rescaled = AdaptedPolicy(policy, spaces.Box(-1.0, 1.0, (2,)))
    rescaled.bind(spaces.Box(-9.0, 9.0, (2,)), spaces.Box(-4.0, 6.0, (2,)), draws_at(lanes=1))
    seen = np.array([[0.1, 0.2]])
    expected = gaussian_log_density([[3.0, 2.5]], [[1.5, 2.0]], [2.5, 0.5])
    np.testing.assert_allclose(rescaled.log_probability(np.array([[3.0, 2.5]]), seen), expected)


@needs_agents
@pytest.mark.parametrize("name", NAMES)
def test_an_agent_in_the_spaces_of_its_training_needs_no_note(name):
    checkpoint = read_checkpoint(zip_of(name))
    policy = AdaptedPolicy(ConstantPolicy(0), checkpoint.action_space, checkpoint.observation_space)
    policy.bind(checkpoint.observation_space, checkpoint.action_space, draws_at(lanes=1))
    assert policy.notes == []
