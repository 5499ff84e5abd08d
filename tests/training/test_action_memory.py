"""Networks that see past observations and actions: the same inputs in training and in an evaluation."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.randomness import LaneDraws
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.dagger import Dagger
from brittlestar.training.folder import training_folder
from brittlestar.training.schema import compose_training
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

REACH = EnvSpec(id="FetchReach-v4", max_steps=5)


def session(folder, **settings) -> Session:
    algo = Dagger(expert="p_controller", steps=16, guided=4, envs=2, batch=8, normalise="pooled", **settings)
    spec = TrainingSpec(REACH, algo, Parts(None, GaussianObservation(sigma=0.05)), 0, 1, 1000, 5)
    return Session(spec, folder)


@pytest.mark.parametrize(
    "settings",
    [
        {"frames": 3},
        {"past_actions": True},
        {"frames": 3, "past_actions": True},
        {"frames": 3, "past_actions": "summed"},
    ],
)
def test_an_evaluation_gives_the_network_what_it_saw_in_training(tmp_path, settings):
    one = session(tmp_path, **settings)
    one.run()
    policy, env = Sb3Policy(str(tmp_path / "final" / "policy.zip")), one.model.get_env()
    policy.bind(one.lanes.observation_space, one.lanes.action_space, LaneDraws(0, "policy", 2))
    seen, state, first = env.reset(), None, np.ones(2, dtype=bool)
    # More steps than an episode has, so that the memory is emptied in between.
    for _ in range(8):
        theirs, _ = one.model.policy.predict(seen, deterministic=True)
        ours, state = policy.predict(one.lanes._returned, state, first)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        seen, _, first, _ = env.step(theirs)
    one.close()


def test_a_stopped_training_continues_with_its_memory(tmp_path):
    one = session(tmp_path, frames=3, past_actions=True)
    one.algo.steps = 8
    one.run()
    one.close()
    two = session(tmp_path, frames=3, past_actions=True)
    assert two.progress["steps"] == 8
    two.run()
    two.close()
    assert two.model.num_timesteps == 16


def test_settings_without_a_meaning_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"`algo.frames` above 1 and `algo.past_actions` do not go with `algo.goals`"):
        Algorithm("sac", goals=True, frames=2)
    with pytest.raises(ValueError, match="`frames` must be at least 1, got 0"):
        Dagger(expert="p_controller", frames=0)
    with pytest.raises(ValueError, match="`past_actions` must be false, true or summed, got sum"):
        Dagger(expert="p_controller", past_actions="sum")
    spec = TrainingSpec(EnvSpec(id="Pendulum-v1"), Algorithm("ppo", past_actions=True))
    with pytest.raises(UserError, match="`last_action` needs observations by name"):
        Session(spec, tmp_path)


def test_trainings_without_memory_keep_their_folders():
    plain = compose_training(["env=fetch_reach", "algo=dagger"])
    older = plain | {
        "algo": {key: plain["algo"][key] for key in plain["algo"] if key not in ("frames", "past_actions")}
    }
    assert training_folder(plain) == training_folder(older)
    stacked = compose_training(["env=fetch_reach", "algo=dagger", "algo.frames=2"])
    assert training_folder(stacked) != training_folder(plain)
