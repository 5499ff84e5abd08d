"""Actions outside of the action space are refused on every backend, with the action and the space in one line."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.engine.action_check import ActionCheck
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec, backends
from brittlestar.errors import HarnessError
from brittlestar.perturbations import Perturbation
from brittlestar.policies import Policy

BACKENDS = ["gymnasium"] + ["envpool"] * backends.envpool_available()


class Returns(Policy):
    """Returns one action in every lane."""

    def __init__(self, action):
        self.action = np.asarray(action)

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.broadcast_to(self.action, (len(episode_start), *self.action.shape)), state


def run(env_id, action, backend="gymnasium", **parts):
    spec = EnvSpec(id=env_id, backend=backend, max_steps=3)
    return run_episodes(spec, Parts(Returns(action), **parts), Plan(episodes=3), lanes=2)


CASES = [
    ("CartPole-v1", 7, "7 is not in Discrete(2)"),
    ("CartPole-v1", -1, "-1 is not in Discrete(2)"),
    ("CartPole-v1", 0.5, "0.5 is not in Discrete(2)"),
    ("CartPole-v1", np.nan, "nan is not in Discrete(2)"),
    ("CartPole-v1", 2**63, "9223372036854775808 is not in Discrete(2)"),
    ("Acrobot-v1", -1, "-1 is not in Discrete(3)"),
    ("FrozenLake-v1", 4, "4 is not in Discrete(4)"),
    ("Pendulum-v1", [np.inf], "[inf] is not in Box(-2.0, 2.0, (1,), float32)"),
    ("Pendulum-v1", [np.nan], "[nan] is not in Box(-2.0, 2.0, (1,), float32)"),
    ("Pendulum-v1", [1e300], "[inf] is not in Box(-2.0, 2.0, (1,), float32)"),
    ("Reacher-v5", [0.0, -np.inf], "[  0. -inf] is not in Box(-1.0, 1.0, (2,), float32)"),
    ("FetchReach-v4", [0.0, np.inf, 0.0, 0.0], "[ 0. inf  0.  0.] is not in Box(-1.0, 1.0, (4,), float32)"),
    ("HalfCheetah-v5", [np.nan] * 6, "is not in Box(-1.0, 1.0, (6,), float32)"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("env_id", "action", "message"), CASES)
def test_an_action_outside_of_the_space_is_refused_on_every_backend(env_id, action, message, backend):
    with pytest.raises(HarnessError) as error:
        run(env_id, action, backend)
    assert " ".join(message.split()) in str(error.value) and "at episode 0, step 0" in str(error.value)
    assert str(error.value).startswith("the policy's action ")


@pytest.mark.parametrize("action", ["left", None, 1j])
def test_an_action_that_is_no_number_is_refused(action):
    with pytest.raises(HarnessError, match=r"actions of type .*, expected numbers of Discrete\(2\)"):
        run("CartPole-v1", action)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("env_id", "action"), [("CartPole-v1", True), ("CartPole-v1", 1.0), ("Pendulum-v1", [3])])
def test_the_same_value_of_another_type_and_a_box_beyond_its_bounds_are_taken(env_id, action, backend):
    assert run(env_id, action, backend).column("length").tolist() == [3, 3, 3]


class Wrong(Perturbation):
    """Sends an action that is not in the space."""

    is_identity = False

    def perturb_action(self, action, step):
        return np.full_like(action, 7 if action.dtype.kind == "i" else np.inf)


@pytest.mark.parametrize(("env_id", "action"), [("CartPole-v1", 1), ("Pendulum-v1", [0.0])])
def test_a_perturbation_that_leaves_the_space_is_refused(env_id, action):
    with pytest.raises(HarnessError, match="the action after mitigation and perturbation .* is not in"):
        run(env_id, action, perturbation=Wrong())


@pytest.mark.parametrize(("env_id", "action"), [("CartPole-v1", 7), ("Pendulum-v1", np.array([np.inf]))])
def test_a_loop_of_the_user_gets_the_same_refusal(env_id, action):
    env = PerturbedEnv(gym.make(env_id), Perturbation())
    env.reset(seed=0)
    with pytest.raises(HarnessError, match=r"is not in .* at episode 0, step 0"):
        env.step(action)


@pytest.mark.parametrize(
    ("space", "valid", "wrong"),
    [
        (spaces.Discrete(3, start=-1), [[-1, 1], [0, 0]], [2, -2]),
        (spaces.Discrete(10**6), [[0, 10**6 - 1]], [10**6, -1]),
        (spaces.MultiDiscrete([2, 3]), [[[1, 2], [0, 0]]], [[2, 0], [0, 3], [-1, 0], [0, 0.5]]),
        (spaces.MultiDiscrete([2, 3], start=[1, 5]), [[[1, 5], [2, 7]]], [[0, 5], [1, 8]]),
        (spaces.MultiBinary(2), [[[0, 1], [1, 1]]], [[0, 2], [-1, 0]]),
        (spaces.Box(0, 255, (1,), np.uint8), [[[0], [255]]], []),
        (spaces.Box(-1, 1, (2,)), [[[0, 9.0], [3e38, 3e38]]], [[0, np.nan], [np.inf, -np.inf]]),
    ],
)
def test_every_kind_of_space_knows_its_actions(space, valid, wrong):
    check, lanes = ActionCheck(space), np.arange(2)
    for actions in valid:
        assert check.first_wrong(np.asarray(actions), lanes) is None
    for action in wrong:
        actions = np.asarray([np.asarray(valid[0][0]), action])
        assert check.first_wrong(actions, lanes) == 1
        assert check.first_wrong(actions, lanes[:1]) is None, "a lane without an episode may return anything"
