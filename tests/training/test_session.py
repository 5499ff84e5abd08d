import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

from brittlestar.checkpoints import read_checkpoint
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.success import ReturnAtLeast
from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianObservation, Perturbation
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.folder import find_checkpoint
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

SMALL = {"policy_kwargs": {"net_arch": [16]}}
ON = Algorithm("ppo", steps=128, envs=4, options=SMALL | {"n_steps": 8, "batch_size": 16, "n_epochs": 1})
OFF = Algorithm("sac", steps=60, envs=2, options=SMALL | {"learning_starts": 10, "batch_size": 8, "buffer_size": 200})
NORMALISED = Algorithm("a2c", steps=64, envs=4, normalise=True, options=SMALL)


def spec(algo, perturbation=None, **settings):
    env = EnvSpec(id="Pendulum-v1", max_steps=20)
    return TrainingSpec(env, algo, Parts(None, perturbation or Perturbation()), episodes=5, **settings)


def weights_after(folder: Path, algo, **settings) -> dict[str, bytes]:
    session = Session(spec(algo, **settings), folder)
    session.run()
    session.close()
    return {name: value.numpy().tobytes() for name, value in session.model.policy.state_dict().items()}


@pytest.mark.parametrize("algo", [ON, OFF, NORMALISED], ids=lambda algo: algo.name)
def test_the_same_seed_learns_the_same_weights_and_another_seed_others(algo, tmp_path):
    one, two, other = (weights_after(tmp_path / str(i), algo, seed=i // 2, save_every=16) for i in range(3))
    assert one == two
    assert one != other
    curves = [(tmp_path / str(i) / "curve.jsonl").read_text().splitlines() for i in range(3)]
    same, again, _ = ([json.loads(line) | {"seconds": None} for line in curve] for curve in curves)
    assert same == again
    assert len(same) > 2


class KilledError(Exception):
    pass


@pytest.mark.parametrize("algo", [ON, OFF, NORMALISED], ids=lambda algo: algo.name)
def test_a_killed_training_continues_from_its_last_checkpoint(algo, tmp_path):
    def kill(session):
        if session.model.num_timesteps > 50:
            raise KilledError

    first = Session(spec(algo, save_every=20), tmp_path)
    with pytest.raises(KilledError):
        first.run(kill)
    first.close()
    steps = find_checkpoint(tmp_path / "last")[1]["steps"]
    assert 20 <= steps <= 56
    seen = []
    second = Session(spec(algo, save_every=20), tmp_path)
    assert second.model.num_timesteps == steps
    facts = second.run(lambda session: seen.append(session.model.num_timesteps))
    second.close()
    assert min(seen) > steps
    assert facts["steps"] >= algo.steps
    curve = [json.loads(line)["steps"] for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert curve == sorted(curve)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def edit(path):
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"steps": facts["steps"] - 1}))


DAMAGE = {
    "model.zip has another digest than it was written with": lambda last: flip(last / "model.zip"),
    "model.zip is missing": lambda last: (last / "model.zip").unlink(),
    "Expecting value": lambda last: (last / "progress.json").write_text(""),
    "progress.json has another digest than it was written with": lambda last: edit(last / "progress.json"),
}


def killed_after(folder, algo, steps=50):
    def kill(session):
        if session.model.num_timesteps > steps:
            raise KilledError

    first = Session(spec(algo, save_every=20), folder)
    with pytest.raises(KilledError):
        first.run(kill)
    first.close()


@pytest.mark.parametrize("reason", DAMAGE)
@pytest.mark.parametrize("algo", [ON, OFF, NORMALISED], ids=lambda algo: algo.name)
def test_a_damaged_checkpoint_is_replaced_by_the_best_network(algo, tmp_path, reason):
    killed_after(tmp_path, algo)
    steps = find_checkpoint(tmp_path / "best")[1]["steps"]
    acting = {name: array.tobytes() for name, array in read_checkpoint(tmp_path / "best/policy.zip").weights.items()}
    DAMAGE[reason](tmp_path / "last")
    session = Session(spec(algo, save_every=20), tmp_path)
    assert reason in session.notes[0] and str(tmp_path / "last") in session.notes[0]
    assert f"continues from its network in `best`, with a new optimizer at step {steps}" in session.notes[1]
    weights = {name: value.numpy().tobytes() for name, value in session.model.policy.state_dict().items()}
    assert acting and {name: weights[name] for name in acting} == acting
    assert session.run()["steps"] >= algo.steps
    session.close()
    curve = [json.loads(line)["steps"] for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert curve == sorted(set(curve))


def test_a_training_without_any_whole_checkpoint_starts_anew(tmp_path):
    killed_after(tmp_path, ON)
    for name in ("last", "best"):
        (tmp_path / name / "progress.json").write_text("{")
    session = Session(spec(ON, save_every=20), tmp_path)
    session.close()
    assert session.notes[-1] == "the training continues anew at step 0" and session.model.num_timesteps == 0


def test_a_checkpoint_without_digests_that_cannot_be_loaded_is_damaged_too(tmp_path):
    killed_after(tmp_path, ON)
    progress = json.loads((tmp_path / "last/progress.json").read_text())
    (tmp_path / "last/progress.json").write_text(
        json.dumps({k: v for k, v in progress.items() if k not in ("files", "digest")})
    )
    (tmp_path / "last/model.zip").write_bytes(b"PK")
    session = Session(spec(ON, save_every=20), tmp_path)
    session.close()
    assert "last cannot be loaded: " in session.notes[0] and "in `best`" in session.notes[1]


def test_noise_changes_the_learnt_weights(tmp_path):
    clean = weights_after(tmp_path / "clean", ON)
    noisy = weights_after(tmp_path / "noisy", ON, perturbation=GaussianObservation(sigma=0.5))
    assert clean != noisy
    facts = json.loads((tmp_path / "noisy" / "metadata.json").read_text())
    assert facts["perturbation"]["sigma"] == 0.5
    assert set(facts["clean"]) == set(facts["disturbed"]) == {"episodes", "return"}
    assert facts["clean"]["return"] != facts["disturbed"]["return"]


@pytest.mark.parametrize("algo", [ON, OFF, NORMALISED], ids=lambda algo: algo.name)
def test_the_exported_policy_is_small_and_acts_as_the_model(algo, tmp_path):
    session = Session(spec(algo), tmp_path)
    session.run()
    policy = Sb3Policy(str(tmp_path / "final" / "policy.zip"))
    policy.bind(session.lanes.lanes.observation_space, session.lanes.action_space, None)
    seen = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    env = session.model.get_env()
    scaled = env.normalize_obs(seen) if algo.normalise else seen
    expected, _ = session.model.predict(scaled, deterministic=True)
    np.testing.assert_allclose(policy.predict(seen)[0], expected, atol=1e-5)
    assert (tmp_path / "final" / "policy.zip").stat().st_size < 50_000
    session.close()


def test_actions_that_do_not_fit_are_named(tmp_path):
    with pytest.raises(UserError, match=r"`algo.name: dqn` cannot learn actions of Box"):
        Session(spec(Algorithm("dqn", steps=10)), tmp_path)


def test_settings_that_do_not_fit_are_named(tmp_path):
    wrong = Algorithm("ppo", steps=10, options={"gama": 0.9})
    with pytest.raises(UserError, match="`algo.options` do not fit PPO: .*gama"):
        Session(spec(wrong), tmp_path)


# The threshold defines a success, which CartPole itself does not.
CARTPOLE = EnvSpec(id="CartPole-v1", success=ReturnAtLeast(threshold=15.0, when="final"))
PPO = Algorithm("ppo", steps=256, envs=4, options=SMALL | {"n_steps": 16, "batch_size": 32, "n_epochs": 1})
DQN = Algorithm("dqn", steps=256, envs=2, options=SMALL | {"learning_starts": 20, "batch_size": 8})


def run_cartpole(folder, algo, show=lambda session: None):
    session = Session(TrainingSpec(CARTPOLE, algo, save_every=100, episodes=5), folder)
    try:
        return session.run(show)
    finally:
        session.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("algo", [PPO, DQN], ids=lambda algo: algo.name)
def test_tensorboard_gets_returns_successes_and_scores(algo, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run_cartpole(tmp_path, algo)
    (events,) = tmp_path.glob("logs/*/events*")
    log = accumulator.EventAccumulator(str(events)).Reload()
    names = log.Tags()["scalars"]
    curves = {"rollout/ep_rew_mean", "rollout/success_rate", "rollout/return", "rollout/success", "evaluation/return"}
    assert curves <= set(names)
    assert log.Scalars("rollout/ep_rew_mean")[-1].value > 5
    assert 0 <= log.Scalars("rollout/success")[-1].value <= 1
    curve = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert log.Scalars("evaluation/return")[-1].value == pytest.approx(curve[-1]["return"], rel=1e-5)


def test_successes_follow_the_threshold_of_the_environment(tmp_path):
    seen = []
    run_cartpole(tmp_path, PPO, lambda session: seen.extend(session.lanes.ended))
    assert {won for _, won in seen} == {0.0, 1.0}
    assert all(won == (total >= 15) for total, won in seen)


class Pictures(gym.Env):
    """An environment with images."""

    observation_space, action_space = spaces.Box(0, 255, (36, 36, 1), np.uint8), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros((36, 36, 1), np.uint8), {}

    def step(self, action):
        return np.zeros((36, 36, 1), np.uint8), 0.0, False, False, {}


@pytest.mark.parametrize("policy", ["MlpPolicy", "CnnPolicy"])
def test_a_network_of_images_is_trained_and_evaluated(tmp_path, policy):
    gym.register("Pictures-v0", Pictures, max_episode_steps=5)
    try:
        algo = Algorithm("ppo", steps=32, envs=2, options=ON.options | {"policy": policy})
        session = Session(TrainingSpec(EnvSpec(id="Pictures-v0"), algo, Parts(None), episodes=5), tmp_path)
        session.run()
        session.close()
    finally:
        del gym.registry["Pictures-v0"]
    assert read_checkpoint(tmp_path / "final/policy.zip").observation_space.shape == (1, 36, 36)


def test_a_network_that_cannot_be_evaluated_is_refused_before_it_is_trained(tmp_path):
    torch = pytest.importorskip("torch")
    algo = Algorithm("ppo", options={"policy_kwargs": {"activation_fn": torch.nn.Softplus}})
    with pytest.raises(
        UserError, match=r"`algo=ppo` in Pendulum-v1 cannot be evaluated .*: its activation `softplus`.*trust"
    ):
        Session(spec(algo), tmp_path)
    assert not list(tmp_path.iterdir())
