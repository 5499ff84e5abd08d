import numpy as np

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.perturbations import Perturbation
from brittlestar.policies import as_policy


class Ask(Perturbation):
    """Remembers what a clean pass measured."""

    def prepare(self, context):
        self.calibration = context.calibrate()


def spread(count, seed=0, policy=None):
    lanes, ask = Lanes(EnvSpec(id="Pendulum-v1", max_steps=30), count), Ask()
    rollout(lanes, Parts(policy or as_policy(lambda o: np.array([o[1]])), ask), Plan(3, seed))
    return ask.calibration


def test_the_clean_pass_is_the_same_for_any_lanes_and_seed():
    one = spread(1)
    for other in (spread(5), spread(20), spread(3, seed=7)):
        assert one.std[""].tobytes() == other.std[""].tobytes()
        assert one.mean[""].tobytes() == other.mean[""].tobytes()


def test_the_clean_pass_measures_what_the_policy_sees():
    seen = []

    def policy(observation):
        seen.append(observation.copy())
        return np.zeros(1)

    calibration = spread(1, policy=as_policy(policy))
    clean = np.array(seen[: 8 * 30])
    np.testing.assert_allclose(calibration.mean[""], clean.mean(axis=0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(calibration.std[""], clean.std(axis=0), rtol=1e-6)


def test_the_clean_pass_runs_once_for_all_cells_of_a_policy():
    lanes, policy = Lanes(EnvSpec(id="Pendulum-v1", max_steps=5), 2), as_policy(lambda o: np.zeros(1))
    first, second = Ask(), Ask()
    for ask in (first, second):
        rollout(lanes, Parts(policy, ask), Plan(2))
    assert first.calibration is second.calibration
