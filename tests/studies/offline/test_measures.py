import numpy as np
import pytest

from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies import RandomPolicy, as_policy
from brittlestar.studies.offline.candidates import Candidate, named_candidates
from brittlestar.studies.offline.features import observed_numbers
from brittlestar.studies.offline.measures import Bench, measure_policy
from brittlestar.training.recorder import record_policy
from brittlestar.training.recordings import Recording

MODULE = """\
import numpy as np


def brake(observation):
    return np.clip([-observation[2]], -2, 2).astype(np.float32)


def brake_less(observation):
    return np.clip([-0.8 * observation[2]], -2, 2).astype(np.float32)
"""
SPEC = EnvSpec(id="Pendulum-v1", max_steps=30, backend="gymnasium")


@pytest.fixture(scope="module")
def recording():
    brake = as_policy(lambda observation: np.clip([-observation[2]], -2, 2).astype(np.float32))
    return Recording(record_policy(SPEC, brake, 6, seed=5)[0], env="Pendulum-v1", seed=5)


@pytest.fixture
def bench(recording, tmp_path, monkeypatch):
    (tmp_path / "offline_policies.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    env = SPEC.make()
    return Bench(recording, observed_numbers(recording.episodes), env.observation_space, env.action_space, SPEC)


def named(word):
    return named_candidates([word], 10).members[0]


def test_the_recorded_policy_itself_has_no_error(bench):
    row = measure_policy(named("offline_policies:brake"), bench)
    assert row["action_mse"] == row["action_dtw"] == row["trajectory_dtw"] == 0.0
    assert row["frechet_distance"] == pytest.approx(0.0, abs=1e-9) and bench.floor > 0
    # A function always takes one action.
    assert "log_likelihood" not in row
    assert bench.notes == []


def test_another_policy_has_the_errors_of_its_actions(bench, recording):
    row = measure_policy(named("offline_policies:brake_less"), bench)
    errors = []
    for episode in recording.episodes:
        speed = episode.observations[:, 2]
        errors.append(np.mean((np.clip(-0.8 * speed, -2, 2) - np.clip(-speed, -2, 2)) ** 2))
    assert row["action_mse"] == pytest.approx(np.mean(errors), rel=1e-5)
    assert 0 <= row["action_mse_low"] < row["action_mse"] < row["action_mse_high"]
    assert row["trajectory_dtw"] > 0 and row["frechet_distance"] > 0
    assert row["return_low"] < row["return"] < row["return_high"]


def test_rollouts_from_other_start_states_are_compared_with_the_nearest(bench, recording):
    other = Recording(record_policy(SPEC, RandomPolicy(), 3, seed=6)[0])
    row = measure_policy(Candidate("rollouts", rollouts=other), bench)
    assert row["trajectory_dtw"] > 0 and "action_mse" not in row
    assert any("other start states" in note for note in bench.notes)
    same = measure_policy(Candidate("rollouts", rollouts=recording), bench)
    assert same["trajectory_dtw"] == 0.0


def test_without_closed_loops_only_recorded_observations_count(bench):
    bench.env = None
    row = measure_policy(named("offline_policies:brake_less"), bench)
    names = [f"{name}{end}" for name in ("action_mse", "action_dtw") for end in ("", "_low", "_high")]
    assert set(row) == {"policy", *names}


def test_one_feature_vector_per_episode_gives_only_a_frechet_distance(bench):
    bench.features = lambda episode: np.asarray(episode.observations).mean(axis=0)
    bench.__post_init__()
    row = measure_policy(named("offline_policies:brake_less"), bench)
    assert row["frechet_distance"] > 0 and "trajectory_dtw" not in row
    assert any("one feature vector" in note for note in bench.notes)


def test_few_vectors_are_noted(bench):
    bench.features = lambda episode: np.asarray(episode.observations).ravel()[:20]
    bench.__post_init__()
    measure_policy(named("offline_policies:brake_less"), bench)
    assert any("6 vectors of 20 numbers do not determine a covariance" in note for note in bench.notes)


def test_choices_have_an_error_rate_and_a_likelihood():
    spec = EnvSpec(id="CartPole-v1", max_steps=20, backend="gymnasium")
    recording = Recording(record_policy(spec, RandomPolicy(), 4, seed=0)[0], seed=0)
    env = spec.make()
    bench = Bench(recording, None, env.observation_space, env.action_space, spec)
    row = measure_policy(named("zoo/cartpole_ppo"), bench)
    assert 0 < row["action_error_rate"] < 1 and row["action_error_rate_high"] <= 1
    assert row["log_likelihood"] < 0 and "action_mse" not in row and "frechet_distance" not in row


def test_a_policy_of_another_environment_is_one_line(bench):
    with pytest.raises(UserError, match="push_controller needs"):
        measure_policy(named("push_controller"), bench)


@pytest.mark.parametrize("episodes", [1, 2, 6])
def test_no_interval_leaves_the_range_of_its_measure(bench, recording, check_intervals, episodes):
    bench.env, bench.recording = None, Recording(recording.episodes[:episodes], seed=5)
    row = measure_policy(named("offline_policies:brake_less"), bench)
    # A single episode shows no spread, at neither end.
    assert np.isnan(row["action_mse_low"]) == np.isnan(row["action_mse_high"]) == (episodes == 1)
    assert check_intervals([row]) == (0 if episodes == 1 else 2)
