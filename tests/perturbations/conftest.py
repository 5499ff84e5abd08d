import gymnasium as gym
import gymnasium_robotics
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.envs.worlds import World
from brittlestar.perturbations import Step
from brittlestar.randomness import LaneDraws


def play(perturbation, truth, *, level=1.0, parameter=None, seed=0, episodes=None, space=None, effects=None):
    """Returns what is shown of `truth`, `(steps, lanes, ...)`, in episodes that start together; `level` may vary."""
    count, lanes = truth.shape[:2]
    box = spaces.Box(-np.inf, np.inf, truth.shape[2:], truth.dtype.type)
    perturbation.bind(space or box, box, lanes)
    draws, seen = LaneDraws(seed, "test", lanes), []
    episodes = np.arange(lanes) if episodes is None else np.asarray(episodes)
    for t, now in enumerate(np.broadcast_to(level, count)):
        draws.at(episodes, np.full(lanes, t))
        step = Step(np.full(lanes, now), np.full(lanes, t == 0), draws, parameter)
        seen.append(perturbation.perturb_observation(truth[t], step))
        if effects is not None:
            effects.append(step.effects)
    return np.array(seen)


@pytest.fixture(name="play")
def play_fixture():
    return play


@pytest.fixture
def make_world():
    """A function that returns the simulator of an environment after its first reset."""
    gym.register_envs(gymnasium_robotics)

    def make(env_id):
        world = World(gym.make(env_id, disable_env_checker=True))
        world.env.reset(seed=0)
        return world

    return make


@pytest.fixture
def bound():
    """A function that binds a perturbation to one lane and returns it."""

    def bind(perturbation):
        box = spaces.Box(-1.0, 1.0, (4,), np.float32)
        perturbation.bind(box, box, lanes=1)
        return perturbation

    return bind


@pytest.fixture
def at():
    """A function that applies the perturbation of one lane once, and returns the reported effect."""

    def apply(perturbation, world, level=1.0, step=0, episode=0, seed=0):
        draws = LaneDraws(seed, "test", 1)
        draws.at(np.array([episode]), np.array([step]))
        now = Step(np.array([level]), np.array([step == 0]), draws)
        perturbation.perturb_world([world], now)
        return float(now.effects["world_change"][0])

    return apply
