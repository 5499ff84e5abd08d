import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import BiasObservation, Perturbation
from brittlestar.policies.base import StatelessPolicy
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.coach import Coach
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

OPTIONS = {
    "policy_kwargs": {"net_arch": [16]},
    "learning_starts": 10,
    "batch_size": 8,
    "buffer_size": 2000,
    "learning_rate": 0.01,
}


class Brake(StatelessPolicy):
    """Pushes against the speed of a pendulum."""

    def act(self, observation):
        return np.clip(-observation[:, 2:], -2.0, 2.0)


def session(folder, perturbation=None, seed=0, **phases):
    coach = Coach(Brake(), lessons=16, batch=64, **({"unjudged": phases["alone"]} | phases))
    algo = Algorithm("sac", steps=400, envs=2, coach=coach, options=OPTIONS)
    spec = EnvSpec(id="Pendulum-v1", max_steps=20)
    parts = Parts(None, perturbation or Perturbation())
    return Session(TrainingSpec(spec, algo, parts, seed, 1, 200, 5), folder)


def distance_to_coach(model, seen, truth) -> float:
    actions, _ = model.predict(seen, deterministic=True)
    return float(np.abs(actions - Brake().act(truth)).mean())


def test_an_actor_learns_from_the_coach_alone(tmp_path):
    truth = np.random.default_rng(0).uniform([-1, -1, -4], [1, 1, 4], (200, 3)).astype(np.float32)
    one = session(tmp_path, alone=400, until=400)
    before = distance_to_coach(one.model, truth, truth)
    one.run()
    one.close()
    assert distance_to_coach(one.model, truth, truth) < before / 3


def test_the_coach_sees_the_true_state_and_the_learner_the_disturbed_one(tmp_path):
    truth = np.random.default_rng(0).uniform([-1, -1, -4], [1, 1, 4], (200, 3)).astype(np.float32)
    one = session(tmp_path, BiasObservation(bias=3.0, draw="fixed"), alone=400, until=400)
    one.run()
    one.close()
    assert distance_to_coach(one.model, truth + 3.0, truth) < distance_to_coach(one.model, truth, truth) / 2


@pytest.mark.slow
def test_the_phases_of_a_coach_change_the_actor_in_the_same_way_every_time(tmp_path):
    def weights(**phases):
        one = session(tmp_path / str(phases), **phases)
        one.run()
        one.close()
        return {name: value.numpy().tobytes() for name, value in one.model.actor.state_dict().items()}

    alone, both, silent = weights(alone=400, until=400), weights(alone=200, until=400), weights(alone=0, until=0)
    assert alone != both != silent != alone
    assert alone == weights(alone=400, until=400)


def test_a_training_that_continues_has_the_advice_of_its_checkpoint(tmp_path):
    first = session(tmp_path, alone=400, until=400)

    def stop(running):
        if running.model.num_timesteps > 200:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        first.run(stop)
    first.close()
    second = session(tmp_path, alone=400, until=400)
    before, after = first.coaching, second.coaching
    assert after._answers == second.model.num_timesteps == 200
    np.testing.assert_array_equal(before._rows["advice"][:200], after._rows["advice"][:200])
    np.testing.assert_array_equal(before._rows["seen/"][:200], after._rows["seen/"][:200])
    second.run()
    second.close()


def test_phases_of_a_coach_must_be_in_order():
    with pytest.raises(ValueError, match="`alone` must be at least 0 and no more than `until`"):
        Coach(Brake(), alone=10, until=5)
    with pytest.raises(ValueError, match="`unjudged` must be no more than `alone`"):
        Coach(Brake(), unjudged=11, alone=10)


def test_only_actors_with_a_squashed_gaussian_take_advice():
    with pytest.raises(UserError, match="`algo.coach` goes with sac and tqc, not with td3"):
        Algorithm("td3", coach=Coach(Brake()))


def test_a_coach_can_see_the_same_as_the_learner(tmp_path):
    seen = np.random.default_rng(0).uniform([-1, -1, -4], [1, 1, 4], (200, 3)).astype(np.float32)
    one = session(tmp_path, BiasObservation(bias=3.0, draw="fixed"), sees="same", alone=400, until=400)
    one.run()
    one.close()
    assert distance_to_coach(one.model, seen, seen) < distance_to_coach(one.model, seen, seen - 3.0) / 2
