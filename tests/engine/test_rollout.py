import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.metrics import COLUMNS
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec, Returns, Signals
from brittlestar.envs.success import GoalReached, InfoKey, ReturnAtLeast, Terminated
from brittlestar.errors import HarnessError, UserError
from brittlestar.mitigations import LowPass
from brittlestar.perturbations import ComposedPerturbation, GaussianAction, GaussianObservation
from brittlestar.policies import PController, Policy, RandomPolicy

PAIR = ComposedPerturbation([GaussianObservation(sigma=0.05), GaussianAction(sigma=0.3)])


class Counter(gym.Env):
    """Counts to `length`; shows the time, pays 1 a step, gives info keys; 1-D action is an increment."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, length=4, nan_at=None):
        self.length, self.nan_at = length, nan_at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.place = 0, np.array([float(self.np_random.integers(5)), 0.0])
        return self.place.copy(), {}

    def step(self, action):
        self.time += 1
        self.place = self.place + action
        seen = self.place * (np.nan if self.time == self.nan_at else 1)
        info = {"is_success": self.time in (2, 3), "progress": self.time / self.length, "hit": self.time == 1}
        return seen, 1.0, self.time == self.length, False, info


gym.register("Counter-v0", Counter)


class Scripted(Policy):
    """Moves by a fixed sequence."""

    moves = np.array([[1.0, 0.0], [0.0, 0.5], [-1.0, 0.0], [0.0, 0.0]])

    def bind(self, observation_space, action_space, draws):
        self.time = None

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        time = np.where(episode_start, 0, 0 if state is None else state)
        return self.moves[time], time + 1


def run(spec, parts, episodes=5, lanes=2, seed=0, **plan):
    rows = rollout(Lanes(spec, lanes), parts, Plan(episodes, seed, **plan))
    return {name: rows.column(name) for name in COLUMNS}


COUNTER = EnvSpec(
    id="Counter-v0",
    success=InfoKey(key="is_success"),
    returns=Returns(random=0.0, reference=8.0),
    signals=Signals(position_indices=[0, 1], completion_key="progress", collision_key="hit"),
)


def test_every_metric_is_as_computed_by_hand():
    row = {name: values[0] for name, values in run(COUNTER, Parts(Scripted())).items()}
    expected = {
        "length": 4,
        "terminated": 1,
        "truncated": 0,
        "return": 4,
        "normalised_return": 0.5,
        "success_any": 1,
        "success_final": 0,
        "dwell": 0.5,
        "time_to_success": 2,
        "completion_fraction": 1,
        "collision_rate": 0.25,
        "smoothness": ((1 + 0.25) + (1 + 0.25) + 1) / 3,
        "peak_action": 1,
        "action_energy": 2.25,
        "path_length": 2.5,
        # The last observation is never shown to the policy.
        "path_length_observed": 2.5,
        "observation_change": 0,
        "action_change": 0,
    }
    for name, value in expected.items():
        assert row[name] == pytest.approx(value), name
    for name in ("smoothness", "peak_action", "action_energy"):
        assert row[f"{name}_executed"] == pytest.approx(row[name])
    for name in ("solved_at_reset", "cycle_time", "final_distance"):
        assert np.isnan(row[name])


def test_commanded_and_executed_actions_have_metrics_of_their_own():
    row = run(COUNTER, Parts(Scripted(), mitigation=LowPass(alpha=0.5)))
    assert row["action_energy"][0] == 2.25
    sent = np.array([[1, 0], [0.5, 0.25], [-0.25, 0.125], [-0.125, 0.0625]])
    assert row["action_energy_executed"][0] == pytest.approx((sent**2).sum())
    assert not row["action_change"].any(), "a mitigation is no perturbation"


def test_delivery_is_the_root_mean_square_change():
    row = run(COUNTER, Parts(Scripted(), GaussianObservation(sigma=0.2)), episodes=300)
    assert np.sqrt(np.mean(row["observation_change"] ** 2)) == pytest.approx(0.2, rel=0.05)
    assert not row["action_change"].any()


CASES = {
    "box": (EnvSpec(id="Pendulum-v1", max_steps=30), RandomPolicy(), PAIR),
    "discrete": (
        EnvSpec(id="CartPole-v1", success=ReturnAtLeast(threshold=20)),
        RandomPolicy(),
        GaussianObservation(sigma=0.1),
    ),
    "mujoco": (EnvSpec(id="Hopper-v5", max_steps=40), RandomPolicy(), PAIR),
    "goal": (EnvSpec(id="FetchReach-v4", max_steps=12, success=GoalReached()), PController(), PAIR),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_depend_on_nothing_but_the_config(case):
    spec, policy, noise = CASES[case]
    one = rollout(Lanes(spec, 1), Parts(policy, noise), Plan(6, seed=2)).values
    for lanes, threads in ((2, 1), (4, 2), (6, 1)):
        used = Lanes(spec, lanes, threads)
        rollout(used, Parts(policy, noise), Plan(3, seed=9))
        again = rollout(used, Parts(policy, noise), Plan(6, seed=2)).values
        assert np.array_equal(one, again, equal_nan=True), (lanes, threads)
    assert not np.array_equal(one, rollout(Lanes(spec, 2), Parts(policy, noise), Plan(6, seed=3)).values)


@pytest.mark.parametrize(
    ("env", "policy"),
    [("FrozenLake-v1", RandomPolicy()), ("CartPole-v1", RandomPolicy()), ("Acrobot-v1", RandomPolicy())],
)
def test_metrics_without_meaning_are_missing(env, policy):
    row = run(EnvSpec(id=env, max_steps=20, success=Terminated()), Parts(policy))
    for name in ("smoothness", "peak_action", "action_energy", "path_length", "final_distance", "collision_rate"):
        assert np.isnan(row[name]).all(), name
    assert np.isfinite(row["return"]).all()


class Buttons(gym.Env):
    """Pays one for every button pressed."""

    observation_space = spaces.Dict({"lamp": spaces.MultiBinary(3), "dial": spaces.Discrete(4, start=1)})

    def __init__(self, kind="binary"):
        kinds = {"binary": spaces.MultiBinary(3), "multi": spaces.MultiDiscrete([2, 3])}
        self.action_space = kinds.get(kind, spaces.Discrete(3, start=5))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"lamp": np.zeros(3, np.int8), "dial": 1}, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        return {"lamp": np.ones(3, np.int8), "dial": 2}, float(np.sum(action)), False, False, {}


gym.register("Buttons-v0", Buttons, max_episode_steps=5)


@pytest.mark.parametrize("kind", ["binary", "multi", "start"])
def test_every_action_and_observation_type_runs(kind):
    spec = EnvSpec(id="Buttons-v0", kwargs={"kind": kind})
    one, three = (rollout(Lanes(spec, lanes), Parts(RandomPolicy()), Plan(4)) for lanes in (1, 3))
    assert np.array_equal(one.values, three.values, equal_nan=True)
    assert (one.column("return") > 0).all()
    assert np.isnan(one.column("smoothness")).all()


def test_cells_that_differ_only_in_strength_share_start_states_and_noise():
    starts, changes = [], []
    for sigma in (0.1, 0.2):
        row = run(COUNTER, Parts(Scripted(), GaussianObservation(sigma=sigma)))
        starts.append(row["reset_seed"])
        changes.append(row["observation_change"] / sigma)
    assert np.array_equal(*starts)
    np.testing.assert_allclose(*changes)


def test_consecutive_reset_seeds_follow_the_seed():
    assert run(COUNTER, Parts(Scripted()), seed=7, consecutive=True)["reset_seed"].tolist() == [7, 8, 9, 10, 11]


def test_a_recurrent_policy_gets_the_start_of_every_episode():
    row = run(COUNTER, Parts(Scripted()), episodes=7, lanes=3)
    assert (row["action_energy"] == 2.25).all()


class Broken(Policy):
    def __init__(self, action):
        self.action = action

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return self.action, None


@pytest.mark.parametrize(
    ("spec", "policy", "message"),
    [
        (COUNTER, Broken(np.zeros((2, 3))), r"shape \(2, 3\), expected \(2, 2\): 2 lanes of Box"),
        (COUNTER, Broken(np.full((2, 2), np.nan)), r"the policy's action is not a number \(nan\) at episode 0, step 0"),
        (
            EnvSpec(id="Counter-v0", kwargs={"nan_at": 3}),
            Scripted(),
            r"the environment's observation is not a number \(nan\) at episode 0, step 2",
        ),
    ],
)
def test_harness_errors_are_no_failed_episodes(spec, policy, message):
    with pytest.raises(HarnessError, match=message):
        run(spec, Parts(policy))


def test_a_missing_info_key_is_named():
    spec = EnvSpec(id="Counter-v0", success=InfoKey(key="solved"))
    with pytest.raises(UserError, match="'solved' is not in info; it has: is_success"):
        run(spec, Parts(Scripted()))
