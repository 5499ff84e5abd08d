"""SAC with the steps of a demonstrator in its replay buffer."""

import json

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies import PController
from brittlestar.training.demonstrated import Demonstrated
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

OPTIONS = {"batch_size": 8, "buffer_size": 400, "learning_starts": 20, "policy_kwargs": {"net_arch": [8]}}


def session(folder, **settings) -> Session:
    own = {"demonstrator": PController(), "demonstrations": 40, "noise": 0.0, "steps": 80} | settings
    algo = Demonstrated(envs=2, normalise="pooled", options=OPTIONS, **own)
    return Session(TrainingSpec(EnvSpec(id="FetchReach-v4", max_steps=10), algo, save_every=30, episodes=5), folder)


def test_the_first_steps_are_those_of_the_demonstrator(tmp_path):
    one = session(tmp_path)
    one.run()
    one.close()
    buffer = one.model.replay_buffer
    seen = {key: part[:40].reshape(80, -1) for key, part in buffer.observations.items()}
    taught, _ = PController().predict(seen)
    same = np.isclose(buffer.actions[:40], taught.reshape(40, 2, 4), atol=1e-6).all(axis=(1, 2))
    assert same[:20].all() and not same[20:].any()
    assert (buffer.demonstrations, buffer.share) == (20, 0.5)
    settings = json.loads((tmp_path / "metadata.json").read_text())["settings"]
    assert settings["demonstrations"] == 40
    assert settings["demonstrator"] == {"class": "PController", "kp": 10.0}


def test_a_stopped_training_keeps_its_demonstrations(tmp_path):
    one = session(tmp_path, steps=60)
    one.run()
    one.close()
    (tmp_path / "metadata.json").unlink()
    two = session(tmp_path)
    assert two.progress["steps"] == 60
    rows = [part.model.replay_buffer.actions[:20] for part in (one, two)]
    np.testing.assert_array_equal(*rows)
    two.run()
    two.close()
    assert two.model.num_timesteps == 80


def test_wrong_settings_are_one_line():
    with pytest.raises(ValueError, match="`share` must be at least 0 and below 1, got 1"):
        Demonstrated(demonstrator=PController(), share=1)
    with pytest.raises(UserError, match="`algo.demonstrator` must be a policy, got null"):
        Demonstrated().settings(EnvSpec(id="FetchReach-v4"))
