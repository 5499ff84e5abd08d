"""How observations are scaled for the network in training."""

from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

from brittlestar.engine.calibration import ObservationRecorder
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations.context import Calibration
from brittlestar.policies.base import Policy
from brittlestar.policies.input_entry import is_image
from brittlestar.policies.simple import RandomPolicy
from brittlestar.training.action_memory import ActionMemory
from brittlestar.training.algorithms import DEMONSTRATED, POOLED, SUMMED
from brittlestar.training.spec import TrainingSpec

_EPISODES = 16
_SEED = 2**62 + 1
"""A seed of its own, so that no other evaluation has these start states."""


def network_view(lanes: Any, spec: TrainingSpec, statistics: Path | None = None) -> Any:
    """Returns the vector environment as the network sees it: normalised, with past actions, then stacked."""
    view = normalised(lanes, spec, statistics)
    if spec.algo.past_actions:
        view = ActionMemory(view, spec.algo.past_actions == SUMMED)
    return view if spec.algo.frames == 1 else VecFrameStack(view, spec.algo.frames)


def normalised(lanes: Any, spec: TrainingSpec, statistics: Path | None = None) -> Any:
    """Wraps a vector environment in the scaling that `algo.normalise` chooses, or in that of a checkpoint.

    True scales by running statistics of observations and rewards. `pooled` subtracts the mean of every number in a
    short pass of random actions and divides by one unit for all numbers of a key. `demonstrated` does so with a pass of
    the demonstrator, which moves more than random actions do.
    """
    algo = spec.algo
    if not algo.normalise:
        return lanes
    spaces = getattr(lanes.observation_space, "spaces", None) or {"": lanes.observation_space}
    if any(is_image(space) for space in spaces.values()):
        raise UserError("`algo.normalise` does not go with pictures: set it to false")
    if statistics is not None:
        return VecNormalize.load(str(statistics), lanes)
    if algo.normalise in (POOLED, DEMONSTRATED):
        wrapped: Any = VecNormalize(lanes, training=False, norm_reward=False)
        calibration = random_pass(spec.env, algo.explorer if algo.normalise == DEMONSTRATED else None)
        for key, mean in calibration.mean.items():
            running = wrapped.obs_rms[key] if key else wrapped.obs_rms
            running.mean, running.var = mean, np.full_like(mean, (calibration.std[key] ** 2).mean())
        return wrapped
    # Random search divides by the spread of returns itself.
    return VecNormalize(lanes, norm_reward=algo.name != "ars", gamma=algo.options.get("gamma", 0.99))


def random_pass(spec: EnvSpec, policy: Policy | None = None) -> Calibration:
    """Measures observations in clean episodes of random actions or of a policy, the same ones for every seed."""
    recorder = ObservationRecorder(_EPISODES)
    run_episodes(spec, Parts(policy or RandomPolicy(), recorder), Plan(_EPISODES, seed=_SEED), lanes=_EPISODES)
    return recorder.result()
