import numpy as np
import pytest
from gymnasium import spaces

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
