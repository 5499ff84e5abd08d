import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.mitigations import Ensemble
from brittlestar.mitigations.ensemble import majority_action, mean_action, median_action
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.policies.base import Policy, StatelessPolicy
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.randomness import LaneDraws

BOX, TWO = spaces.Box(-9.0, 9.0, (2,), np.float64), spaces.Discrete(2)
GOALS = spaces.Dict({"observation": BOX, "goal": BOX})


class Echo(StatelessPolicy):
    """Returns the observation as the action, in a buffer that the next call overwrites."""

    def __init__(self):
        self.seen, self.buffer = [], None

    def act(self, observation):
        self.seen.append(observation)
        array = observation["observation"] if isinstance(observation, dict) else observation
        if self.buffer is None:
            self.buffer = np.empty_like(array)
        self.buffer[:] = array
        return self.buffer


def wrapped(ensemble, policy, lanes=2, seen=BOX, acts=BOX, episodes=None, step=0):
    ensemble.bind(seen, acts, lanes)
    noise, draws = LaneDraws(0, "mitigation", lanes), LaneDraws(0, "policy", lanes)
    for stream in (noise, draws):
        stream.at(np.arange(lanes) if episodes is None else np.array(episodes), np.full(lanes, step))
    around = ensemble.around(policy, noise)
    around.bind(seen, acts, draws)
    return around


@pytest.mark.parametrize(
    ("vote", "actions", "expected"),
    [
        (mean_action, [[1.0], [2.0], [6.0]], [3.0]),
        (median_action, [[1.0], [2.0], [6.0]], [2.0]),
        (median_action, [[1.0], [2.0], [6.0], [4.0]], [3.0]),
        (majority_action, [2, 1, 2], 2),
        (majority_action, [3, 0, 1], 0),
        (majority_action, [3, 1, 3, 1, 2], 1),
        (majority_action, [[0, 1], [1, 1], [1, 0]], [1, 1]),
    ],
)
def test_votes(vote, actions, expected):
    winners = vote(np.array(actions)[:, None])
    assert winners[0].tolist() == expected
    assert winners.dtype == np.array(actions).dtype


@pytest.mark.parametrize("vote", [mean_action, median_action])
@pytest.mark.parametrize("copies", [3, 7, 49])
def test_the_same_action_many_times_is_that_action(vote, copies):
    actions = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    assert vote(np.stack([actions] * copies)).tobytes() == actions.tobytes()


def test_every_copy_has_noise_of_its_own_and_the_mean_is_sent():
    echo, seen = Echo(), np.zeros((2, 2))
    action, _ = wrapped(Ensemble(sigma=0.5, copies=400), echo).predict(seen)
    assert len(echo.seen) == 400
    copies = np.stack(echo.seen)
    assert np.std(copies) == pytest.approx(0.5, rel=0.05)
    assert np.abs(np.corrcoef(copies.reshape(400, 4).T) - np.eye(4)).max() < 0.2
    np.testing.assert_allclose(action, copies.mean(axis=0), atol=1e-12)
    assert not seen.any()


def test_the_median_is_sent_if_wanted():
    echo = Echo()
    action, _ = wrapped(Ensemble(sigma=0.5, copies=5, average="median"), echo).predict(np.zeros((2, 2)))
    np.testing.assert_allclose(action, np.median(echo.seen, axis=0))


def test_sigma_is_a_factor_of_the_same_noise():
    small, large = (wrapped(Ensemble(sigma=s, copies=3), Echo()).predict(np.zeros((2, 2)))[0] for s in (0.1, 0.4))
    np.testing.assert_allclose(large, 4 * small)
    assert small.all()


def test_only_the_chosen_keys_get_noise_in_their_unit():
    echo, ensemble = Echo(), Ensemble(sigma=0.5, copies=300, scale="std")
    around = wrapped(ensemble, echo, seen=GOALS)
    ensemble.prepare(Context(calibrate=lambda: Calibration({}, {"observation": np.array([0.0, 4.0])})))
    goal = np.ones((2, 2))
    around.predict({"observation": np.zeros((2, 2)), "goal": goal})
    assert all(seen["goal"] is goal for seen in echo.seen)
    spread = np.std([seen["observation"] for seen in echo.seen], axis=(0, 1))
    np.testing.assert_allclose(spread, [0.0, 2.0], rtol=0.1)


def test_noise_depends_on_episode_and_step_alone():
    def answer(episodes, step):
        return wrapped(Ensemble(sigma=1.0, copies=9), Echo(), len(episodes), episodes=episodes, step=step).predict(
            np.zeros((len(episodes), 2))
        )[0]

    together, alone = answer([4, 5, 6], 7), answer([5], 7)
    assert alone.tobytes() == together[1:2].tobytes()
    assert not np.allclose(alone, answer([5], 8))
    assert not np.allclose(alone, answer([4], 7))


class Counts(Policy):
    """Returns the sum of all observations since the start."""

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        past = np.zeros_like(observation) if state is None else np.where(episode_start[:, None], 0.0, state)
        return past + observation, past + observation


def test_each_copy_is_remembered_on_its_own():
    around = wrapped(Ensemble(sigma=1.0, copies=3), Counts())
    first, later = np.ones(2, dtype=bool), np.array([False, True])
    _, states = around.predict(np.zeros((2, 2)), None, first)
    action, later_states = around.predict(np.zeros((2, 2)), states, later)
    noise = LaneDraws(0, "mitigation", 2)
    noise.at(np.arange(2), np.zeros(2, dtype=np.int64))
    draws = [noise.normal((2,)) for _ in range(6)]
    for copy in range(3):
        expected = draws[copy + 3] + np.array([[1.0], [0.0]]) * draws[copy]
        np.testing.assert_allclose(later_states[copy], expected)
    np.testing.assert_allclose(action, np.mean(later_states, axis=0))


def net(outputs, seed=0, **options):
    return MlpPolicy.random([3, 16, outputs], seed, **options)


@pytest.mark.parametrize("average", ["mean", "median"])
def test_without_noise_it_is_the_policy_bit_for_bit(average):
    lanes, plan = Lanes(EnvSpec(id="Pendulum-v1", max_steps=40), 3), Plan(5)
    plain = rollout(lanes, Parts(net(1)), plan)
    voted = rollout(lanes, Parts(net(1), mitigation=Ensemble(sigma=0.0, copies=7, average=average)), plan)
    assert plain.values.tobytes() == voted.values.tobytes()
    noisy = rollout(lanes, Parts(net(1), mitigation=Ensemble(sigma=0.1, copies=7, average=average)), plan)
    assert plain.values.tobytes() != noisy.values.tobytes()


class Dice(StatelessPolicy):
    """Returns random actions."""

    def bind(self, observation_space, action_space, draws):
        self.draws = draws

    def act(self, observation):
        return self.draws.normal((1,))


def test_a_random_policy_draws_the_same_numbers_for_all_copies():
    lanes, plan = Lanes(EnvSpec(id="Pendulum-v1", max_steps=10), 2), Plan(3, deterministic=False)
    plain = rollout(lanes, Parts(Dice()), plan)
    voted = rollout(lanes, Parts(Dice(), mitigation=Ensemble(sigma=0.5, copies=6)), plan)
    assert plain.values.tobytes() == voted.values.tobytes()


@pytest.mark.parametrize(
    ("env", "sizes", "output"), [("Pendulum-v1", [3, 1], "clip"), ("CartPole-v1", [4, 2], "argmax")]
)
def test_rows_are_the_same_in_any_number_of_lanes(env, sizes, output):
    # numpy would sum ten copies in another order for a single lane.
    policy = MlpPolicy.random([sizes[0], 16, sizes[1]], output=output)
    parts = Parts(policy, mitigation=Ensemble(sigma=0.5, copies=10, scale="std"))
    rows = [rollout(Lanes(EnvSpec(id=env, max_steps=30), count), parts, Plan(9)).values for count in (1, 4, 9)]
    assert len(np.unique(rows[0], axis=0)) == 9
    assert rows[0].tobytes() == rows[1].tobytes() == rows[2].tobytes()


def test_the_divergence_is_measured_with_the_same_copies():
    lanes = Lanes(EnvSpec(id="Pendulum-v1", max_steps=10), 2)
    parts = Parts(net(1), mitigation=Ensemble(sigma=0.5, copies=3))
    plain, asked = (rollout(lanes, parts, Plan(3, divergence=divergence)) for divergence in (False, True))
    assert np.array_equal(plain.column("return"), asked.column("return"))


class Masked(StatelessPolicy):
    wants_masks = True

    def predict(self, observation, state=None, episode_start=None, deterministic=True, action_masks=None):
        return action_masks.argmax(axis=1), state


def test_masks_reach_the_policy():
    around = wrapped(Ensemble(sigma=0.5, copies=3), Masked(), acts=TWO)
    assert around.wants_masks
    action, _ = around.predict(np.zeros((2, 2)), action_masks=np.array([[False, True], [True, False]]))
    assert action.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": -1.0}, "`sigma` must be at least 0, got -1.0"),
        ({"copies": 0}, "`copies` must be at least 1, got 0"),
        ({"average": "medain"}, "`average` cannot be 'medain'; did you mean `median`"),
        ({"scale": "sdt"}, "`scale` cannot be 'sdt'; did you mean `std`"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises((UserError, ValueError), match=message):
        Ensemble(**{"sigma": 0.1} | options)


def test_observations_without_numbers_are_refused():
    with pytest.raises(UserError, match=r"Ensemble needs a Box observation, the observation is Discrete\(2\)"):
        Ensemble(sigma=0.1).bind(TWO, TWO, lanes=1)
    with pytest.raises(UserError, match="no entry of the observation: gaol; did you mean `goal`"):
        Ensemble(sigma=0.1, keys=["gaol"]).bind(GOALS, TWO, lanes=1)
