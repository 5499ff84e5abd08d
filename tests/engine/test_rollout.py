import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import GoalReached, InfoKey, ReturnAtLeast
from brittlestar.errors import HarnessError, UserError
from brittlestar.perturbations import ComposedPerturbation, GaussianAction, GaussianObservation
from brittlestar.policies import PController, Policy, RandomPolicy

PAIR = ComposedPerturbation([GaussianObservation(sigma=0.05), GaussianAction(sigma=0.3)])
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


def test_cells_that_differ_only_in_strength_share_start_states_and_noise(run, counter, scripted):
    starts, changes = [], []
    for sigma in (0.1, 0.2):
        row = run(counter, Parts(scripted, GaussianObservation(sigma=sigma)))
        starts.append(row["reset_seed"])
        changes.append(row["observation_change"] / sigma)
    assert np.array_equal(*starts)
    np.testing.assert_allclose(*changes)


def test_consecutive_reset_seeds_follow_the_seed(run, counter, scripted):
    assert run(counter, Parts(scripted), seed=7, consecutive=True)["reset_seed"].tolist() == [7, 8, 9, 10, 11]


def test_a_recurrent_policy_gets_the_start_of_every_episode(run, counter, scripted):
    row = run(counter, Parts(scripted), episodes=7, lanes=3)
    assert (row["action_energy"] == 2.25).all()


class Broken(Policy):
    def __init__(self, action):
        self.action = action

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return self.action, None


@pytest.mark.parametrize(
    ("kwargs", "policy", "message"),
    [
        ({}, Broken(np.zeros((2, 3))), r"shape \(2, 3\), expected \(2, 2\): 2 lanes of Box"),
        (
            {},
            Broken(np.full((2, 2), np.nan)),
            r"the policy's action \[nan nan\] is not in Box\(.*\) at episode 0, step 0",
        ),
        (
            {"nan_at": 3},
            None,
            r"the environment's observation is not a number \(nan\) at episode 0, step 2",
        ),
    ],
)
def test_harness_errors_are_no_failed_episodes(run, scripted, kwargs, policy, message):
    with pytest.raises(HarnessError, match=message):
        run(EnvSpec(id="Counter-v0", kwargs=kwargs), Parts(policy or scripted))


def test_a_missing_info_key_is_named(run, scripted):
    spec = EnvSpec(id="Counter-v0", success=InfoKey(key="solved"))
    with pytest.raises(UserError, match="'solved' is not in info; it has: is_success"):
        run(spec, Parts(scripted))
