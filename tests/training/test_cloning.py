"""`algo=bc`: what it learns from, that it learns, and that the same seed gives the same network."""

import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.randomness import LaneDraws, reset_seeds
from brittlestar.training.cloning import DEMONSTRATIONS, Cloning
from brittlestar.training.folder import training_folder
from brittlestar.training.recordings import read_npz
from brittlestar.training.schema import compose_training
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

OPTIONS = {"learning_rate": 0.003, "policy_kwargs": {"net_arch": {"pi": [16], "vf": []}}}


def make_spec(steps=60, env="CartPole-v1", expert="experts:lean", parts=None, save_every=30, **options):
    algo = Cloning(expert=expert, demonstrations=6, steps=steps, envs=1, batch=32, options=OPTIONS, **options)
    spec = EnvSpec(id=env, max_steps=40, backend="gymnasium")
    return TrainingSpec(spec, algo, parts or Parts(None), save_every=save_every, episodes=5)


def weights(folder):
    from brittlestar.checkpoints import read_checkpoint

    return read_checkpoint(str(folder / "final" / "policy.zip")).weights


def demonstrations(folder):
    return read_npz(folder / DEMONSTRATIONS).episodes


def test_it_learns_choices_from_an_expert_and_the_safe_loader_reads_it(experts, tmp_path, train):
    folder = train(make_spec(steps=400, save_every=200), tmp_path / "run")
    recording = read_npz(folder / DEMONSTRATIONS)
    assert len(recording.episodes) == 6
    policy = Sb3Policy(str(folder / "final" / "policy.zip"))
    env = EnvSpec(id="CartPole-v1").make()
    seen = np.concatenate([each.observations for each in recording.episodes])
    policy.bind(env.observation_space, env.action_space, LaneDraws(0, "policy", len(seen)))
    taken = np.concatenate([each.actions for each in recording.episodes])
    assert np.mean(policy.predict(seen)[0] == taken) > 0.85
    curve = [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]
    assert [line["steps"] for line in curve] == [200, 400]
    assert curve[-1]["held_out_loss"] < curve[0]["held_out_loss"] < np.log(2)
    facts = json.loads((folder / "metadata.json").read_text())
    assert facts["algorithm"] == "bc" and facts["steps"] == 400


def test_the_whole_model_is_an_ordinary_one_of_ppo(experts, tmp_path, train):
    from stable_baselines3 import PPO

    folder = train(make_spec(), tmp_path / "run")
    model = PPO.load(folder / "last" / "model.zip", device="cpu")
    assert type(model) is PPO
    safe = Sb3Policy(str(folder / "final" / "policy.zip"))
    env = EnvSpec(id="CartPole-v1").make()
    seen = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    safe.bind(env.observation_space, env.action_space, LaneDraws(0, "policy", 20))
    np.testing.assert_array_equal(safe.predict(seen)[0], model.predict(seen, deterministic=True)[0])


@pytest.mark.parametrize("normalise", [False, True, "pooled"])
def test_continuous_actions_are_learned_with_the_spread_of_their_errors(normalise, experts, tmp_path, train):
    spec = make_spec(300, "Pendulum-v1", "experts:brake", save_every=300, normalise=normalise)
    folder = train(spec, tmp_path / "run")
    policy = Sb3Policy(str(folder / "final" / "policy.zip"))
    env = EnvSpec(id="Pendulum-v1").make()
    recording = read_npz(folder / DEMONSTRATIONS)
    seen = np.concatenate([each.observations for each in recording.episodes])
    taken = np.concatenate([each.actions for each in recording.episodes])
    policy.bind(env.observation_space, env.action_space, LaneDraws(0, "policy", len(seen)))
    errors = policy.predict(seen)[0] - taken
    assert np.sqrt(np.mean(errors**2)) < 0.3 * taken.std()
    # The density is that of a Gaussian with the errors in the episodes that were held out.
    loss = json.loads((folder / "curve.jsonl").read_text().splitlines()[-1])["held_out_loss"]
    assert np.exp(2 * weights(folder)["log_std"][0]) == pytest.approx(loss, rel=1e-4)
    statistics = folder / "final" / "vecnormalize.pkl"
    assert statistics.is_file() == bool(normalise)


def test_the_same_seed_gives_the_same_network_also_after_a_stop(experts, tmp_path, train):
    whole = weights(train(make_spec(), tmp_path / "whole"))
    folder = train(make_spec(), tmp_path / "stopped", stop_after=27)
    assert json.loads((folder / "last" / "progress.json").read_text())["steps"] == 27
    stopped = weights(train(make_spec(), folder))
    assert whole.keys() == stopped.keys()
    assert all(np.array_equal(whole[name], stopped[name]) for name in whole)
    other = make_spec()
    other.seed = 1
    third = weights(train(other, tmp_path / "other"))
    assert not np.array_equal(third["action_net.weight"], whole["action_net.weight"])


def test_more_demonstrations_contain_the_fewer_ones_and_no_start_state_of_a_sweep(experts, tmp_path, train):
    few, many = make_spec(20), make_spec(20)
    many.algo.demonstrations = 9
    first, second = (demonstrations(train(spec, tmp_path / name)) for spec, name in ((few, "a"), (many, "b")))
    assert [len(each) for each in first] == [len(each) for each in second[:6]]
    np.testing.assert_array_equal(first[3].observations, second[3].observations)
    starts = {tuple(EnvSpec(id="CartPole-v1").make().reset(seed=seed)[0]) for seed in reset_seeds(0, 9)}
    assert not starts & {tuple(each.observations[0]) for each in second}


def test_the_expert_acts_under_the_perturbation_of_the_training(experts, tmp_path, train):
    noise = Parts(None, GaussianObservation(sigma=1.0))
    clean, noisy = (make_spec(20, "Pendulum-v1", "experts:brake", parts=parts) for parts in (None, noise))
    first, second = (demonstrations(train(spec, tmp_path / name))[0] for spec, name in ((clean, "a"), (noisy, "b")))
    # An angle has a cosine of at most 1.
    assert np.abs(first.observations[:, 0]).max() <= 1 < np.abs(second.observations[:, 0]).max()


def test_a_recording_takes_the_place_of_an_expert(tmp_path, experts, train):
    data = train(make_spec(20), tmp_path / "first") / DEMONSTRATIONS
    by_data = make_spec(20, expert=None, data=str(data))
    folder = train(by_data, tmp_path / "second")
    assert not (folder / DEMONSTRATIONS).exists()
    assert all(
        np.array_equal(a, b)
        for a, b in zip(weights(folder).values(), weights(tmp_path / "first").values(), strict=True)
    )


def test_the_name_of_a_training_depends_on_the_content_of_its_data(tmp_path):
    path = tmp_path / "data.npz"
    names = []
    for number in (1.0, 2.0):
        np.savez(path, observations=np.full((2, 4), number), actions=[0, 1], episode_ends=[1, 2])
        config = compose_training(["env=cartpole", "algo=bc", f"algo.data={path}"])
        names.append(training_folder(config).name)
    assert names[0] != names[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs `algo.expert=POLICY` or `algo.data=FILE`, got neither"),
        ({"expert": "random", "data": "a.npz"}, "got both"),
        ({"expert": "random", "demonstrations": None}, "must be a number with `algo.expert`, got null"),
        ({"expert": "random", "coach": 1}, "do not go with behaviour cloning"),
    ],
)
def test_a_mistake_in_the_settings_is_one_line(options, message):
    with pytest.raises(UserError, match=message):
        Cloning(**options)


@pytest.mark.parametrize("name", ["steps", "batch", "demonstrations"])
def test_numbers_have_bounds(name):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        Cloning(expert="random", **{name: 0})


def test_data_of_another_environment_is_refused(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, observations=np.zeros((2, 3)), actions=[0, 1], episode_ends=[1, 2])
    spec = make_spec(20, expert=None, data=str(path))
    with pytest.raises(UserError, match=r"the environment has observations of shape \(4,\), but .* has \(3,\)"):
        Session(spec, tmp_path / "run")


def test_choices_that_do_not_start_at_zero_are_refused(tmp_path):
    spec = make_spec(20)
    path = tmp_path / "data.npz"
    np.savez(path, observations=np.zeros((2, 4)), actions=[1, 2], episode_ends=[1, 2])
    spec.algo.data, spec.algo.expert = str(path), None
    spec.algo.prepare(spec, tmp_path, None)
    env = DummyVecEnv([lambda: gym.make("CartPole-v1")])
    env.action_space = spaces.Discrete(2, start=1)
    with pytest.raises(UserError, match="cannot learn choices that do not start at 0"):
        spec.algo.make(env, seed=0)
