import numpy as np
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.recovery import Recovery
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import Terminated
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies import as_policy
from brittlestar.schedules import Bursts


def watch(stressed, rewards, terminated=False):
    recovery = Recovery(1)
    recovery.begin(0)
    for step in zip(stressed, rewards, strict=True):
        recovery.update(np.array([bool(step[0])]), np.array([float(step[1])]))
    return recovery.values(0, len(rewards), terminated)


@pytest.mark.parametrize(
    ("stressed", "rewards", "time"),
    [
        ([0, 0, 1, 0, 0], [1, 1, 0, 0, 1], 2),
        ([0, 0, 1, 0, 0], [1, 1, 0, 1, 1], 1),
        ([0, 0, 1, 1, 0], [1, 1, 0, 0, 0.95], 1),
        ([0, 1, 0, 1, 0], [1, 0, 1, 0, 1], 1),
        ([0, 1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 1, 0, 1], 2),
        ([0, 1, 0, 1, 0], [-1, -9, -9, -9, -1], 1),
        ([0, 1, 0, 0, 0], [1, 0, 0, 0, 0.5], np.nan),
        ([1, 1, 1, 1], [1, 1, 1, 1], np.nan),
        ([0, 0, 0], [1, 1, 1], np.nan),
        ([1, 0, 0], [0, 1, 1], np.nan),
    ],
)
def test_recovery_is_the_way_back_to_the_usual_reward(stressed, rewards, time):
    np.testing.assert_equal(watch(stressed, rewards)["recovery_time"], time)


@pytest.mark.parametrize(
    ("stressed", "terminated", "time"),
    [
        ([0, 0, 1, 0, 0], True, 3),
        ([1, 0, 0], True, 3),
        ([0, 0, 0], True, 3),
        ([0, 1, 0], False, np.nan),
    ],
)
def test_time_to_failure_counts_from_the_first_stress(stressed, terminated, time):
    measured = watch(stressed, [1] * len(stressed), terminated)["time_to_failure"]
    np.testing.assert_equal(measured, time)


def test_a_burst_that_topples_a_pole_shows_in_the_rows():
    balancer = as_policy(lambda o: int(o @ [0.1, 0.5, 5.0, 1.0] > 0))
    burst = Bursts(onset_step=20, duration_steps=60)
    lanes = Lanes(EnvSpec(id="CartPole-v1"), 4)
    rows = rollout(lanes, Parts(balancer, GaussianObservation(sigma=5.0), schedule=burst), Plan(8))
    failed = rows.column("time_to_failure")
    np.testing.assert_array_equal(failed, rows.column("length") - 20)
    assert (failed > 0).all()


def test_an_episode_that_ends_in_success_has_not_failed():
    right = as_policy(lambda o: 2 if o[1] >= 0 else 0)  # swings up to the flag
    spec = EnvSpec(id="MountainCar-v0", success=Terminated())
    rows = rollout(Lanes(spec, 2), Parts(right), Plan(4))
    assert rows.column("success_final").all()
    assert np.isnan(rows.column("time_to_failure")).all()
