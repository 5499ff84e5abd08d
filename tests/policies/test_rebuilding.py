import numpy as np
import pytest
from samples import NAMES, bound, needs_agents, observations, zip_of

from brittlestar.checkpoints import read_checkpoint
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.rebuilding import rebuild

torch = pytest.importorskip("torch")


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
