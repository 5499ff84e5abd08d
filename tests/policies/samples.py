"""Spaces, observations, networks and trained agents that several tests of policies share."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.randomness import LaneDraws, generator

SHARED = Path(__file__).parents[3] / "shared/checkpoints/rl-trained-agents"
AGENTS = Path(os.environ.get("BRITTLESTAR_AGENTS", SHARED))
NAMES = sorted(str(file.parent.relative_to(AGENTS)) for file in AGENTS.glob("*/*/*.zip"))
needs_agents = pytest.mark.skipif(not NAMES, reason="needs the trained agents of ../shared/checkpoints")

LANES = 5
SEEN = spaces.Box(-1.0, 1.0, (3,), np.float32)
PUSH = spaces.Box(-1.0, 1.0, (2,), np.float32)
ACTS = spaces.Box(np.array([-0.4, -2.0], np.float32), np.array([0.5, 3.0], np.float32))


def zip_of(name):
    return str(next((AGENTS / name).glob("*.zip")))


def draws_at(step=0, lanes=200, seed=0):
    draws = LaneDraws(seed=seed, stream="policy", lanes=lanes)
    draws.at(episodes=np.arange(lanes), steps=np.full(lanes, step))
    return draws


def bound(policy, observation_space, action_space=ACTS, lanes=LANES):
    policy.bind(observation_space, action_space, draws_at(lanes=lanes))
    return policy


def observations(space, count, scale=1):
    rng = np.random.default_rng(0)
    if isinstance(space, spaces.Dict):
        return {
            key: (scale * rng.standard_normal((count, *part.shape))).astype(np.float32) for key, part in space.items()
        }
    return (scale * rng.standard_normal((count, *space.shape))).astype(np.float32)


def numbers(*shape, seed=0, scale=1.0):
    return scale * generator(seed, "test").standard_normal(shape)


def box(*shape):
    return spaces.Box(-np.inf, np.inf, shape, np.float64)


def network(inputs, outputs=2, units=7, seed=3):
    pairs = itertools.pairwise([inputs, units, units, outputs])
    return [(numbers(a, b, seed=seed + a * b) / np.sqrt(a), numbers(b, seed=b, scale=0.3)) for a, b in pairs]
