import json

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import ReturnAtLeast
from brittlestar.mitigations import LowPass, Mitigation
from brittlestar.perturbations import GaussianObservation, Perturbation
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.statistics import intervals
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

ALGO = Algorithm("ppo", steps=64, envs=2, options={"policy_kwargs": {"net_arch": [8]}, "n_steps": 16, "batch_size": 16})
CARTPOLE = EnvSpec(id="CartPole-v1", success=ReturnAtLeast(threshold=10.0, when="final"))


def spec(perturbation=None, mitigation=None, env=CARTPOLE, algo=ALGO, **settings):
    return TrainingSpec(env, algo, Parts(None, perturbation or Perturbation(), mitigation or Mitigation()), **settings)


def trained(folder, *parts, **settings):
    session = Session(spec(*parts, **settings), folder)
    session.run()
    session.close()
    return json.loads((folder / "metadata.json").read_text())


def test_metadata_has_the_settings_and_scores_with_intervals(tmp_path):
    facts = trained(tmp_path, GaussianObservation(sigma=0.3), episodes=20)
    assert facts["algorithm"] == "ppo"
    assert facts["settings"]["options"]["n_steps"] == 16
    assert facts["steps"] == 64
    assert facts["seconds"] > 0
    assert facts["perturbation"]["class"] == "GaussianObservation"
    assert facts["mitigation"]["class"] == "Mitigation"
    assert facts["stress_schedule"]["class"] == "Constant"
    assert facts["calibration"] is None
    assert {"stable-baselines3", "sb3-contrib", "torch", "gymnasium", "python"} <= set(facts["versions"])
    for kind in ("clean", "disturbed"):
        assert facts[kind]["episodes"] == 20
        rate, mean = facts[kind]["success_any"], facts[kind]["return"]
        interval = intervals.wilson(round(rate["mean"] * 20), 20)
        assert (rate["low"], rate["high"]) == (interval.low, interval.high)
        half = float(intervals.t_half_width(mean["std"], 20))
        assert (mean["low"], mean["high"]) == pytest.approx((mean["mean"] - half, mean["mean"] + half))


def test_a_clean_training_has_no_disturbed_score(tmp_path):
    assert trained(tmp_path / "clean", episodes=5)["disturbed"] is None
    env = EnvSpec(id="Pendulum-v1", max_steps=20)
    assert trained(tmp_path / "mild", None, LowPass(alpha=0.5), env=env, episodes=5)["disturbed"] is not None


def test_noise_in_standard_deviations_is_calibrated_once(tmp_path):
    noise = GaussianObservation(sigma=0.5, scale="std")
    facts = trained(tmp_path, noise, episodes=5)
    std = facts["calibration"]["std"][""]
    assert len(std) == 4 and min(std) > 0
    # A training that continues reads the file and measures nothing.
    values = json.loads((tmp_path / "calibration.json").read_text())
    values["std"][""] = [9.0, 9.0, 9.0, 9.0]
    (tmp_path / "calibration.json").write_text(json.dumps(values))
    again = Session(spec(GaussianObservation(sigma=0.5, scale="std"), episodes=5), tmp_path)
    observed = again.lanes.reset()
    assert np.abs(observed - again.lanes.lanes.observation).max() > 1.0
    assert again.scorer.calibration_values()["std"][""] == [9.0, 9.0, 9.0, 9.0]
    again.close()


def test_a_policy_is_scored_under_the_calibration_of_its_training(tmp_path):
    session = Session(spec(GaussianObservation(sigma=1.0, scale="std"), episodes=5), tmp_path)
    policy = Sb3Policy(str(session._export("scratch")))
    before = session.scorer.rows(policy, 5).values
    session.scorer.calibration.std[""][:] = 1e-9
    np.testing.assert_array_equal(
        session.scorer.rows(policy, 5).column("return"), session.scorer.rows(policy, 5, clean=True).column("return")
    )
    assert not np.array_equal(before, session.scorer.rows(policy, 5).values)
    session.close()
