"""How observations are scaled before a network sees them, in training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.engine.calibration import ObservationRecorder
from brittlestar.envs import EnvSpec
from brittlestar.perturbations.context import Calibration
from brittlestar.training.algorithms import POOLED, Algorithm

_EPISODES = 16
_SEED = 2**62 + 1
"""Its start states are nobody else's."""


def normalised(lanes: Any, spec: EnvSpec, algo: Algorithm, statistics: Path | None) -> Any:
    """Wraps a vector environment as `algo.normalise` says.

    Args:
        lanes: the vector environment.
        spec: its environment.
        algo: its `normalise` is true for running statistics of observations and rewards, or `pooled` for the mean of
            every number in a short pass of random actions and one unit for all numbers of a key: noise of one size
            stays noise of one size.
        statistics: the file that goes with a checkpoint.
    """
    from stable_baselines3.common.vec_env import VecNormalize

    if statistics is not None:
        return VecNormalize.load(str(statistics), lanes)
    if algo.normalise == POOLED:
        wrapped = VecNormalize(lanes, training=False, norm_reward=False)
        _pool(wrapped, spec)
        return wrapped
    # Random search divides by the spread of returns itself.
    return VecNormalize(lanes, norm_reward=algo.name != "ars", gamma=algo.options.get("gamma", 0.99))


def _pool(wrapped: Any, spec: EnvSpec) -> None:
    known = random_pass(spec)
    for key, mean in known.mean.items():
        running = wrapped.obs_rms[key] if key else wrapped.obs_rms
        running.mean, running.var = mean, np.full_like(mean, (known.std[key] ** 2).mean())


def random_pass(spec: EnvSpec) -> Calibration:
    """Measures observations in clean episodes of random actions: the same ones for every seed."""
    from brittlestar.engine.evaluation import evaluate
    from brittlestar.engine.plan import Plan
    from brittlestar.engine.stack import Parts
    from brittlestar.policies.simple import RandomPolicy

    recorder = ObservationRecorder(_EPISODES)
    evaluate(spec, Parts(RandomPolicy(), recorder), Plan(_EPISODES, seed=_SEED), lanes=_EPISODES)
    return recorder.result()
