import numpy as np
import pytest

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import Terminated
from brittlestar.mitigations import LowPass
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies import RandomPolicy


def test_every_metric_is_as_computed_by_hand(run, counter, scripted):
    row = {name: values[0] for name, values in run(counter, Parts(scripted)).items()}
    expected = {
        "length": 4,
        "terminated": 1,
        "truncated": 0,
        "return": 4,
        "normalised_return": 0.5,
        "success_any": 1,
        "success_final": 0,
        "dwell": 0.5,
        "time_to_success": 2,
        "completion_fraction": 1,
        "collision_rate": 0.25,
        "smoothness": ((1 + 0.25) + (1 + 0.25) + 1) / 3,
        "peak_action": 1,
        "action_energy": 2.25,
        "path_length": 2.5,
        # The last observation is never shown to the policy.
        "path_length_observed": 2.5,
        "observation_change": 0,
        "action_change": 0,
    }
    for name, value in expected.items():
        assert row[name] == pytest.approx(value), name
    for name in ("smoothness", "peak_action", "action_energy"):
        assert row[f"{name}_executed"] == pytest.approx(row[name])
    for name in ("solved_at_reset", "cycle_time", "final_distance"):
        assert np.isnan(row[name])


def test_commanded_and_executed_actions_have_metrics_of_their_own(run, counter, scripted):
    row = run(counter, Parts(scripted, mitigation=LowPass(alpha=0.5)))
    assert row["action_energy"][0] == 2.25
    sent = np.array([[1, 0], [0.5, 0.25], [-0.25, 0.125], [-0.125, 0.0625]])
    assert row["action_energy_executed"][0] == pytest.approx((sent**2).sum())
    assert not row["action_change"].any(), "a mitigation is no perturbation"


def test_delivery_is_the_root_mean_square_change(run, counter, scripted):
    row = run(counter, Parts(scripted, GaussianObservation(sigma=0.2)), episodes=300)
    assert np.sqrt(np.mean(row["observation_change"] ** 2)) == pytest.approx(0.2, rel=0.05)
    assert not row["action_change"].any()


@pytest.mark.parametrize(
    ("env", "policy"),
    [("FrozenLake-v1", RandomPolicy()), ("CartPole-v1", RandomPolicy()), ("Acrobot-v1", RandomPolicy())],
)
def test_metrics_without_meaning_are_missing(run, env, policy):
    row = run(EnvSpec(id=env, max_steps=20, success=Terminated()), Parts(policy))
    for name in ("smoothness", "peak_action", "action_energy", "path_length", "final_distance", "collision_rate"):
        assert np.isnan(row[name]).all(), name
    assert np.isfinite(row["return"]).all()
