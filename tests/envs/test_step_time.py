"""How long a step lasts, for environments that say it in different ways."""

import gymnasium as gym
import pytest

from brittlestar.envs import EnvSpec
from brittlestar.envs.step_time import registered_frame_seconds, step_seconds


class Clock(gym.Env):
    observation_space = gym.spaces.Box(0.0, 1.0, (1,))

    def __init__(self, metadata=None, **attributes):
        self.metadata = {} if metadata is None else metadata
        vars(self).update(attributes)


class SkipFour(gym.Wrapper):
    frame_skip = 1  # of the class: not what this wrapper does

    def __init__(self, env):
        super().__init__(env)
        self.frame_skip = 4


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        (Clock(dt=0.1), 0.1),
        (Clock({"render_fps": 50}), 0.02),
        (Clock({"render_fps": 50}, dt=0.1), 0.1),
        (SkipFour(Clock({"render_fps": 50})), 0.08),
        (gym.wrappers.TimeLimit(SkipFour(Clock(dt=0.1)), 5), 0.4),
        (gym.wrappers.MaxAndSkipObservation(Clock(dt=0.1), 4), None),
        (Clock(), None),
        (Clock({"render_fps": None}), None),
        (Clock({"render_fps": 0}), None),
        (Clock(dt=lambda: 0.1), None),
        (Clock(dt=float("nan")), None),
    ],
)
def test_a_step_lasts_as_long_as_the_environment_says(env, seconds):
    assert step_seconds(env) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("env_id", "seconds"),
    [("CartPole-v1", 0.02), ("MountainCar-v0", 1 / 30), ("Acrobot-v1", 0.2), ("FrozenLake-v1", 0.25),
     ("HalfCheetah-v5", 0.05), ("FetchReach-v4", 0.04)],
)  # fmt: skip
def test_steps_of_registered_environments(env_id, seconds):
    assert step_seconds(EnvSpec(id=env_id).make()) == pytest.approx(seconds)


def test_frames_of_an_id_need_no_environment():
    assert registered_frame_seconds("CartPole-v1") == 0.02
    gym.register("Clock-v0", Clock)
    gym.register("Nowhere-v0", "no_such_package:Env")
    try:
        assert registered_frame_seconds("Clock-v0") is registered_frame_seconds("Nowhere-v0") is None
    finally:
        del gym.registry["Clock-v0"], gym.registry["Nowhere-v0"]
