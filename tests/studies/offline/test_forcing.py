import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies import MlpPolicy
from brittlestar.policies.base import Policy
from brittlestar.policies.heads import Clipped
from brittlestar.studies.offline.forcing import force
from brittlestar.training.recordings import RecordedEpisode

SEEN, ACTED = spaces.Box(-9, 9, (2,)), spaces.Box(-1, 1, (1,))


class Counter(Policy):
    """Acts by the number of steps since the start of the episode."""

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        count = np.where(episode_start, 0, 0 if state is None else state + 1)
        return count[:, None] / 100, count


def episodes(rng, lengths=(3, 7, 5)):
    return [RecordedEpisode(rng.normal(size=(n, 2)), rng.uniform(-1, 1, (n, 1))) for n in lengths]


def test_a_policy_with_memory_sees_every_episode_from_its_start(rng, monkeypatch):
    monkeypatch.setattr("brittlestar.studies.offline.forcing._LANES", 2)
    forced = force(Counter(), episodes(rng), SEEN, ACTED)
    assert [np.rint(100 * each.actions.ravel()).astype(int).tolist() for each in forced] == [
        list(range(n)) for n in (3, 7, 5)
    ]
    assert all(each.log_probability is None for each in forced)


def test_answers_equal_those_to_single_steps(rng):
    weights = rng.normal(size=(2, 1))
    policy = MlpPolicy([(weights, np.zeros(1))], output=Clipped(log_std=np.zeros(1)))
    recorded = episodes(rng)
    for each, episode in zip(force(policy, recorded, SEEN, ACTED), recorded, strict=True):
        mean = episode.observations @ weights
        np.testing.assert_allclose(each.actions, np.clip(mean, -1, 1), atol=1e-6)
        density = -0.5 * (episode.actions - mean) ** 2 - 0.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(each.log_probability, density.ravel(), atol=1e-5)


def test_a_wrong_action_is_one_line(rng):
    class Wrong(Policy):
        def predict(self, observation, *_):
            return np.full((len(observation), self.size), np.nan), None

    policy = Wrong()
    policy.size = 2
    with pytest.raises(UserError, match=r"actions of shape \(3, 2\), expected \(3, 1\)"):
        force(policy, episodes(rng), SEEN, ACTED)
    policy.size = 1
    with pytest.raises(UserError, match="not a finite number"):
        force(policy, episodes(rng), SEEN, ACTED)
