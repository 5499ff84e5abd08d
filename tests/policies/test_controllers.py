import gymnasium as gym
import gymnasium_robotics
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.envs.fast import accelerate
from brittlestar.errors import UserError
from brittlestar.policies.controllers import PController, PushController
from brittlestar.randomness import LaneDraws

gym.register_envs(gymnasium_robotics)

DRAWS = LaneDraws(seed=0, stream="policy", lanes=1)
ACTION = spaces.Box(-1.0, 1.0, (4,), np.float32)
HEIGHT = 0.42


def box(*shape):
    return spaces.Box(-np.inf, np.inf, shape)


def fetch_space(width, goal=3):
    return spaces.Dict({"observation": box(width), "achieved_goal": box(goal), "desired_goal": box(goal)})


def look(gripper, goal, block=None):
    seen = np.zeros((1, 10 if block is None else 25))
    seen[0, :3] = gripper
    if block is not None:
        seen[0, 3:6] = block
    return {"observation": seen, "achieved_goal": seen[:, :3], "desired_goal": np.array([goal])}


def random_looks(lanes):
    rng = np.random.default_rng(0)
    seen, goal = rng.uniform(0.0, 0.2, (lanes, 25)), rng.uniform(0.0, 0.2, (lanes, 3))
    return {"observation": seen, "achieved_goal": seen[:, 3:6], "desired_goal": goal}


@pytest.mark.parametrize(
    ("gripper", "block", "goal", "expected"),
    [
        pytest.param([1.3, 0.7, 0.5], None, [1.31, 0.68, 0.5], [0.1, -0.2, 0.0, 0.0], id="proportional"),
        pytest.param([1.3, 0.7, 0.5], None, [1.5, 0.5, 0.5], [1.0, -1.0, 0.0, 0.0], id="clipped"),
        pytest.param([1.3, 0.7, 0.5], [1.38, 0.7, 0.4], [9, 9, 9], [0.8, 0.0, 0.0, 0.0], id="never down"),
        pytest.param([1.3, 0.7, 0.4], [1.3, 0.7, 0.46], [9, 9, 9], [0.0, 0.0, 0.6, 0.0], id="may rise"),
        pytest.param([1.3, 0.7, 0.4], [1.34, 0.7, 0.4], [1.3, 0.75, 0.38], [-0.4, 0.5, -0.2, 0.0], id="in contact"),
    ],
)
def test_p_controller(gripper, block, goal, expected):
    action, state = PController(kp=10.0).predict(look(gripper, goal, block), state="kept")
    assert action.dtype == np.float32
    assert state == "kept"
    np.testing.assert_allclose(action, [expected], atol=1e-6)


@pytest.mark.parametrize(
    ("gripper", "expected"),
    [
        pytest.param([1.23, 0.7, HEIGHT], [1.0, 0.0, 0.0, 0.0], id="behind: push"),
        pytest.param([1.23, 0.71, HEIGHT], [1.0, -0.1, 0.0, 0.0], id="a little aside: push and centre"),
        pytest.param([1.4, 0.7, HEIGHT], [0.0, 0.0, 1.0, 0.0], id="in front: rise first"),
        pytest.param([1.4, 0.7, HEIGHT + 0.09], [-1.0, 0.0, 0.1, 0.0], id="high: cross"),
        pytest.param([1.23, 0.7, HEIGHT + 0.05], [0.0, 0.0, -0.5, 0.0], id="above the start: come down"),
    ],
)
def test_push_controller(gripper, expected):
    observation = look(gripper, goal=[1.5, 0.7, HEIGHT], block=[1.3, 0.7, HEIGHT])
    np.testing.assert_allclose(PushController().predict(observation)[0], [expected], atol=1e-6)


def test_push_controller_rests_at_the_goal():
    observation = look([1.2, 0.7, HEIGHT], goal=[1.31, 0.7, HEIGHT], block=[1.3, 0.7, HEIGHT])
    assert not PushController().predict(observation)[0].any()


@pytest.mark.parametrize("controller", [PController(), PushController()])
@pytest.mark.parametrize("lanes", [1, 2, 7, 16, 33])
def test_a_lane_does_not_depend_on_the_others(controller, lanes):
    batch = random_looks(40)
    every = controller.predict(batch)[0]
    for first in range(40 - lanes):
        part = {key: array[first : first + lanes] for key, array in batch.items()}
        assert np.array_equal(controller.predict(part)[0], every[first : first + lanes])


@pytest.mark.parametrize("controller", [PController(), PushController()])
def test_the_observation_is_not_modified(controller):
    batch = random_looks(3)
    before = {key: array.copy() for key, array in batch.items()}
    controller.predict(batch)
    assert all(np.array_equal(before[key], batch[key]) for key in batch)


@pytest.mark.parametrize("width", [10, 25, 28])
def test_p_controller_takes_fetch_spaces(width):
    PController().bind(fetch_space(width), ACTION, DRAWS)


@pytest.mark.parametrize(
    ("controller", "observation_space", "action_space", "message"),
    [
        (
            PController(),
            box(4),
            ACTION,
            r"p_controller needs the dict .* desired_goal, observation, got Box\(4,\)",
        ),
        (
            PController(),
            fetch_space(13),
            ACTION,
            "p_controller needs an observation of 10 or at least 25 numbers",
        ),
        (PController(), fetch_space(10, goal=7), ACTION, r"a goal of 3, got Dict\(.*desired_goal: Box\(7,\)"),
        (PController(), fetch_space(10), spaces.Discrete(2), r"needs actions Box\(4,\), got Discrete\(2\)"),
        (
            PushController(),
            fetch_space(10),
            ACTION,
            "push_controller needs an observation of at least 25 numbers",
        ),
        (PushController(), spaces.Dict({"observation": box(25)}), ACTION, "push_controller needs the dict"),
    ],
)
def test_other_spaces_are_refused(controller, observation_space, action_space, message):
    with pytest.raises(UserError, match=message):
        controller.bind(observation_space, action_space, DRAWS)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PController(kp=0.0), "`kp` must be above 0, got 0.0"),
        (lambda: PushController(standoff=-1.0), "`standoff` must be above 0, got -1.0"),
    ],
)
def test_parameters_must_be_positive(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def run_episodes(env_id, controller, seeds):
    """Returns one dict of episode metrics per seed."""
    env = gym.make(env_id, disable_env_checker=True)
    accelerate(env)
    controller.bind(env.observation_space, env.action_space, DRAWS)
    return [run_episode(env, controller, seed) for seed in seeds]


def run_episode(env, controller, seed):
    observation, _ = env.reset(seed=seed)
    actions, rewards, successes = [], [], []
    for _ in range(50):
        actions.append(controller.predict({key: array[None] for key, array in observation.items()})[0][0])
        observation, reward, _, _, info = env.step(actions[-1])
        rewards.append(reward)
        successes.append(info["is_success"])
    return {
        "any": max(successes),
        "final": successes[-1],
        "return": sum(rewards),
        "smoothness": np.mean(np.sum(np.diff(actions, axis=0) ** 2, axis=1)),
        "energy": np.sum(np.square(actions)),
        "distance": np.linalg.norm(observation["achieved_goal"] - observation["desired_goal"]),
        "time": 1 + np.argmax(successes) if any(successes) else np.nan,
    }


def mean(rows, name):
    return np.nanmean([row[name] for row in rows])


def test_p_controller_solves_reach_but_not_push():
    assert mean(run_episodes("FetchReach-v4", PController(), range(10)), "any") == 1.0
    assert mean(run_episodes("FetchPush-v4", PController(), range(10)), "any") < 0.5


def test_push_controller_solves_push():
    rows = run_episodes("FetchPush-v4", PushController(), range(20))
    assert mean(rows, "any") == mean(rows, "final") == 1.0


PUBLISHED = {
    "FetchReach-v4": {
        "any": 1.0,
        "return": -2.08,
        "smoothness": 0.006,
        "distance": 0.002,
        "time": 3.1,
        "energy": 3.8,
    },
    "FetchPush-v4": {
        "any": 0.05,
        "return": -49.59,
        "smoothness": 2.255,
        "distance": 0.416,
        "time": 1.0,
        "energy": 42.7,
    },
}
DIGITS = {"any": 2, "return": 2, "smoothness": 3, "distance": 3, "time": 1, "energy": 1}


@pytest.mark.slow
@pytest.mark.parametrize("env_id", PUBLISHED)
def test_p_controller_gives_the_published_table(env_id):
    rows = run_episodes(env_id, PController(), range(100))
    assert {name: round(float(mean(rows, name)), digits) for name, digits in DIGITS.items()} == PUBLISHED[env_id]


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", [0, 1000])
def test_push_controller_solves_hundreds(first_seed):
    rows = run_episodes("FetchPush-v4", PushController(), range(first_seed, first_seed + 100))
    assert mean(rows, "any") == 1.0
    assert mean(rows, "final") >= 0.99


def test_a_fused_controller_reads_the_gripper_in_two_places_and_the_block_without_noise():
    gripper, block, goal = np.array([1.23, 0.7, HEIGHT]), np.array([1.3, 0.7, HEIGHT]), [1.5, 0.7, HEIGHT]
    clean, noisy = look(gripper, goal, block), look(gripper + 0.04, goal, block + 0.3)
    for each, relative in ((clean, block - gripper), (noisy, block - gripper + 0.02)):
        each["observation"][0, 6:9], each["achieved_goal"] = relative, block[None]
    fused = PushController(fused=True)
    np.testing.assert_allclose(fused.predict(clean)[0], PushController().predict(clean)[0], atol=1e-6)
    seen = look(gripper + 0.01, goal, block)
    np.testing.assert_allclose(fused.predict(noisy)[0], PushController().predict(seen)[0], atol=1e-6)
