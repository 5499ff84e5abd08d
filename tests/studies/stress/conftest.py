"""Trajectories made up, and their behaviour."""

from __future__ import annotations

import numpy as np
import pytest

from brittlestar.engine.behaviour import Behaviour, Layout, describe


def table(layout: Layout, trajectories) -> Behaviour:
    """Behaviour of (actions, rewards, seen rewards, (violation, regret))."""
    return Behaviour(layout, np.array([describe(layout, *trajectory) for trajectory in trajectories]))


def make_discrete(rng, episodes: int, actions: int = 3, start: int = 0, jitter: float = 0.3):
    """A policy that keeps its action, and sometimes takes another one at random."""
    found = []
    for _ in range(episodes):
        steps = int(rng.integers(20, 60))
        moves = np.where(rng.random(steps) < jitter, rng.integers(actions, size=steps), 0)
        rewards = rng.normal(1.0, 0.1, steps)
        found.append((np.cumsum(moves) % actions + start, rewards, rewards, (0.0, 0.0)))
    return found


def make_vectors(rng, episodes: int, size: int = 2, noise: float = 0.1):
    found = []
    for _ in range(episodes):
        steps = int(rng.integers(20, 60))
        waves = np.sin(np.arange(steps)[:, None] / 5 + rng.random(size))
        rewards = rng.normal(1.0, 0.1, steps)
        found.append(((waves + noise * rng.normal(size=waves.shape)).astype(np.float32), rewards, rewards, (0.0, 0.0)))
    return found


@pytest.fixture(name="table")
def table_fixture():
    return table


@pytest.fixture(name="make_discrete")
def make_discrete_fixture():
    return make_discrete


@pytest.fixture(name="make_vectors")
def make_vectors_fixture():
    return make_vectors


@pytest.fixture
def rng():
    return np.random.default_rng(0)
