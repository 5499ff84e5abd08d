import tomllib
import warnings

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.config import config_folder
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.replay import FIRST_UNTESTED, _columns, load_replay, save_replay
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

OPTIONS = {"policy_kwargs": {"net_arch": [8]}, "learning_starts": 60, "batch_size": 8}


def session(folder, env="Pendulum-v1", goals=False, **options):
    algo = Algorithm("sac", steps=90, envs=2, goals=goals, options=OPTIONS | options)
    spec = EnvSpec(id=env, max_steps=20)
    return Session(TrainingSpec(spec, algo, episodes=5), folder)


@pytest.mark.filterwarnings("ignore:The last trajectory:UserWarning")
@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("Pendulum-v1", {"buffer_size": 100_000}),
        ("Pendulum-v1", {"buffer_size": 30}),
        ("FetchReach-v4", {"goals": True, "buffer_size": 10_000}),
        ("FetchReach-v4", {"goals": True, "buffer_size": 80}),
        ("FetchReach-v4", {"goals": True, "buffer_size": 400, "replay_buffer_kwargs": {"copy_info_dict": True}}),
    ],
    ids=["half empty", "full", "goals", "full of goals", "infos"],
)
def test_a_loaded_buffer_equals_that_of_the_library(env, options, tmp_path):
    one = session(tmp_path, env, **options)
    one.run()
    one.close()
    one.model.save_replay_buffer(tmp_path / "whole.pkl")
    save_replay(one.model, tmp_path)
    two = session(tmp_path / "other", env, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_replay(two.model, tmp_path)
    one.model.load_replay_buffer(tmp_path / "whole.pkl")
    expected, loaded = one.model.replay_buffer, two.model.replay_buffer
    assert (expected.pos, expected.full) == (loaded.pos, loaded.full)
    assert expected.pos > 0 or expected.full
    for name, array in _columns(expected).items():
        np.testing.assert_array_equal(_columns(loaded)[name], array, err_msg=name)
    if options.get("goals"):
        np.testing.assert_array_equal(expected._current_ep_start, loaded._current_ep_start)
        assert (loaded.ep_length > 0).any()
    for buffer in (expected, loaded):
        np.random.seed(0)  # noqa: NPY002
        batch = buffer.sample(16)
        assert batch.rewards.shape == (16, 1)
    two.close()


def test_the_private_array_of_hindsight_replay_exists_below_the_version_bound(tmp_path):
    one = session(tmp_path, "FetchReach-v4", goals=True)
    starts = vars(one.model.replay_buffer)["_current_ep_start"]
    one.close()
    assert (starts.shape, starts.dtype) == ((2,), np.int64)
    requirements = tomllib.loads((config_folder().parent / "pyproject.toml").read_text())["project"]["dependencies"]
    bound = f"<{'.'.join(map(str, FIRST_UNTESTED))}"
    for name in ("stable-baselines3", "sb3-contrib"):
        (requirement,) = (line for line in requirements if line.startswith(name))
        assert requirement.endswith(bound)


def test_an_untested_version_pickles_buffers_of_hindsight_replay(tmp_path, monkeypatch):
    one = session(tmp_path / "one", "FetchReach-v4", goals=True)
    save_replay(one.model, tmp_path)
    monkeypatch.setattr("stable_baselines3.__version__", f"{FIRST_UNTESTED[0]}.{FIRST_UNTESTED[1]}.0")
    with pytest.raises(UserError, match=r"replay.npz was written with another stable-baselines3; install one below"):
        load_replay(one.model, tmp_path)
    save_replay(one.model, tmp_path)
    load_replay(one.model, tmp_path)
    one.close()
    assert (tmp_path / "replay.pkl").is_file()


def test_a_checkpoint_has_only_the_filled_rows(tmp_path):
    one = session(tmp_path, buffer_size=1_000_000)
    one.run()
    one.close()
    assert (tmp_path / "last" / "replay.npz").stat().st_size < 20_000
    assert not (tmp_path / "last" / "replay.pkl").exists()


def test_random_search_continues_from_its_weights(tmp_path):
    algo = Algorithm("ars", steps=200, envs=1, options={"n_delta": 2})
    env = EnvSpec(id="Pendulum-v1", max_steps=20)
    spec = TrainingSpec(env, algo, episodes=5)
    one = Session(spec, tmp_path)
    one.run()
    one.close()
    two = Session(spec, tmp_path)
    assert two.model.weights.abs().max() > 0
    np.testing.assert_array_equal(two.model.weights, one.model.weights)
    two.close()
