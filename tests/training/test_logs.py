import io
import json

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.envs import EnvSpec
from brittlestar.envs.success import ReturnAtLeast
from brittlestar.mitigations import Mitigation
from brittlestar.perturbations import Perturbation
from brittlestar.schedules import Constant
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.live_line import live_line
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

SMALL = {"policy_kwargs": {"net_arch": [8]}}
PPO = Algorithm("ppo", steps=256, envs=4, options=SMALL | {"n_steps": 16, "batch_size": 32, "n_epochs": 1})
DQN = Algorithm("dqn", steps=256, envs=2, options=SMALL | {"learning_starts": 20, "batch_size": 8})
# With a threshold, success is known although CartPole says nothing about it.
SPEC = EnvSpec(id="CartPole-v1", success=ReturnAtLeast(threshold=15.0, when="final"))


def run(folder, algo, show=lambda session: None):
    order = TrainingSpec(SPEC, algo, Perturbation(), Mitigation(), Constant(), save_every=100, episodes=5)
    session = Session(order, folder)
    try:
        return session.run(show)
    finally:
        session.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("algo", [PPO, DQN], ids=lambda algo: algo.name)
def test_tensorboard_finds_returns_successes_and_scores(algo, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run(tmp_path, algo)
    (events,) = tmp_path.glob("logs/*/events*")
    found = accumulator.EventAccumulator(str(events)).Reload()
    names = found.Tags()["scalars"]
    wanted = {"rollout/ep_rew_mean", "rollout/success_rate", "rollout/return", "rollout/success", "evaluation/return"}
    assert wanted <= set(names)
    assert found.Scalars("rollout/ep_rew_mean")[-1].value > 5
    assert 0 <= found.Scalars("rollout/success")[-1].value <= 1
    curve = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert found.Scalars("evaluation/return")[-1].value == pytest.approx(curve[-1]["return"], rel=1e-5)


def test_episodes_are_successes_as_the_environment_says(tmp_path):
    seen = []
    run(tmp_path, PPO, lambda session: seen.extend(session.lanes.ended))
    assert {won for _, won in seen} == {0.0, 1.0}
    assert all(won == (total >= 15) for total, won in seen)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "mark"), [(Terminal(), "\r"), (io.StringIO(), "\n")])
def test_progress_shows_success_and_the_time_left(stream, mark, tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.sweeps.progress.REDRAW_SECONDS", 0.0)
    monkeypatch.setattr("brittlestar.training.live_line.LOG_SECONDS", 0.0)
    run(tmp_path, PPO, live_line(stream=stream))
    lines = [line for line in stream.getvalue().split(mark) if line]
    assert 10 <= len(lines) <= 64
    assert "256/256 steps, success" in lines[-1]
    assert lines[-1].endswith(", 0:00 left")


def test_several_trainings_say_which_one_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.training.live_line.LOG_SECONDS", 0.0)
    stream = Terminal()
    run(tmp_path, PPO, live_line("one", stream))
    assert all(line.startswith("one: ") for line in stream.getvalue().splitlines())
