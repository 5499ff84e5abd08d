import os
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.checkpoints import read_checkpoint
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.rebuilding import rebuild
from brittlestar.randomness import LaneDraws

SHARED = Path(__file__).parents[3] / "shared/checkpoints/rl-trained-agents"
AGENTS = Path(os.environ.get("BRITTLESTAR_AGENTS", SHARED))
NAMES = sorted(str(file.parent.relative_to(AGENTS)) for file in AGENTS.glob("*/*/*.zip"))
needs_agents = pytest.mark.skipif(not NAMES, reason="needs the trained agents of ../shared/checkpoints")
torch = pytest.importorskip("torch")


def zip_of(name):
    return str(next((AGENTS / name).glob("*.zip")))


def observations(space, count, scale=1):
    rng = np.random.default_rng(0)
    if isinstance(space, spaces.Dict):
        return {
            key: (scale * rng.standard_normal((count, *part.shape))).astype(np.float32) for key, part in space.items()
        }
    return (scale * rng.standard_normal((count, *space.shape))).astype(np.float32)


def bound(policy, observation_space, action_space, lanes):
    draws = LaneDraws(seed=0, stream="policy", lanes=lanes)
    draws.at(np.arange(lanes), np.zeros(lanes, dtype=np.int64))
    policy.bind(observation_space, action_space, draws)
    return policy


@needs_agents
@pytest.mark.parametrize("name", NAMES)
def test_the_rebuilt_actor_is_that_of_stable_baselines3(name):
    from brittlestar.policies.sb3_loader import load_with_sb3

    checkpoint = read_checkpoint(zip_of(name))
    policy = bound(rebuild(checkpoint, Inputs()), checkpoint.observation_space, checkpoint.action_space, lanes=200)
    seen = observations(checkpoint.observation_space, 200)
    theirs = load_with_sb3(checkpoint).model.predict(seen, deterministic=True)[0]
    # Both sum in single precision, in an order that depends on the processor.
    np.testing.assert_allclose(policy.predict(seen)[0], theirs, atol=1e-4)


@needs_agents
@pytest.mark.parametrize("name", ["ppo/HalfCheetah-v3_1", "ppo/Pendulum-v1_1", "sac/Pendulum-v1_1", "sac/Hopper-v3_1"])
def test_random_actions_spread_as_those_of_stable_baselines3(name):
    from brittlestar.policies.sb3_loader import load_with_sb3

    checkpoint = read_checkpoint(zip_of(name))
    seen = np.repeat(observations(checkpoint.observation_space, 1), 4000, axis=0) * 0.1
    policy = bound(rebuild(checkpoint, Inputs()), checkpoint.observation_space, checkpoint.action_space, lanes=4000)
    ours = policy.predict(seen, deterministic=False)[0]
    model = load_with_sb3(checkpoint).model
    torch.manual_seed(0)
    theirs = []
    for row in seen[:4000] if not checkpoint.use_sde else seen[:1500]:
        if checkpoint.use_sde:
            model.policy.reset_noise() if hasattr(model.policy, "reset_noise") else model.actor.reset_noise()
        theirs.append(model.predict(row, deterministic=False)[0])
    theirs = np.array(theirs)
    error = 4 * theirs.std(axis=0) / np.sqrt(len(theirs)) + 4 * ours.std(axis=0) / np.sqrt(len(ours)) + 1e-3
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < error).all()
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.1, atol=1e-3)
