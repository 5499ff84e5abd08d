import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.training.minari_data import check_spaces_fit, read_recording
from brittlestar.training.recordings import RecordedEpisode, Recording


@pytest.fixture(params=["hdf5", "arrow"])
def data_set(request, tmp_path, monkeypatch):
    """A data set of three episodes of CartPole, made by Minari itself, in each of its formats."""
    minari = pytest.importorskip("minari", reason="minari is not installed")
    if request.param == "hdf5":
        pytest.importorskip("h5py", reason="h5py is not installed")
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data sets"))
    buffers = [EpisodeBuffer(id=number, **play(number)) for number in range(3)]
    with warnings.catch_warnings():
        # It asks for author and permalink.
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers("cartpole/test-v0", buffers, env="CartPole-v1", data_format=request.param)
    return tmp_path / "data sets" / "cartpole" / "test-v0", [buffer.observations for buffer in buffers]


def play(seed):
    """One episode of a constant action; there is one observation more than actions."""
    env = gym.make("CartPole-v1")
    seen, flags = [env.reset(seed=seed)[0]], []
    while not flags or not flags[-1]:
        observation, _, terminated, _, _ = env.step(seed % 2)
        seen.append(observation)
        flags.append(terminated)
    steps = len(flags)
    return {
        "observations": np.array(seen),
        "actions": np.full(steps, seed % 2),
        "rewards": np.ones(steps),
        "terminations": np.array(flags),
        "truncations": np.zeros(steps, bool),
        "infos": {},
    }


def test_a_minari_data_set_is_read_by_id_and_by_folder(data_set):
    folder, seen = data_set
    for word in ("cartpole/test-v0", str(folder), str(folder / "data")):
        recording = read_recording(word)
        assert (recording.env, recording.max_steps) == ("CartPole-v1", 500)
        assert [len(each) for each in recording.episodes] == [len(rows) - 1 for rows in seen]
        for number, (episode, rows) in enumerate(zip(recording.episodes, seen, strict=True)):
            np.testing.assert_array_equal(episode.observations, rows[:-1])
            assert set(episode.actions.tolist()) == {number % 2}
        assert recording.own_spaces[1] == spaces.Discrete(2)
    assert len(read_recording("cartpole/test-v0", most=2).episodes) == 2
    with pytest.raises(UserError, match="there is no local Minari data set cartpole/other-v0: `minari download"):
        read_recording("cartpole/other-v0")


def test_a_folder_without_a_data_set_is_one_line(tmp_path):
    pytest.importorskip("minari", reason="minari is not installed")
    with pytest.raises(UserError, match="is no Minari data set"):
        read_recording(str(tmp_path))


def test_without_minari_the_line_names_the_command(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs minari: `pip install brittlestar\[minari\]`"):
        read_recording("cartpole/test-v0")


def test_a_missing_file_suggests_the_nearest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("demos.npz", observations=np.zeros((1, 1)), actions=np.zeros((1, 1)), episode_ends=[1])
    assert len(read_recording("demos.npz").episodes) == 1
    with pytest.raises(UserError, match="there is no recording demo.npz, .*did you mean `demos.npz`"):
        read_recording("demo.npz")


def test_a_value_that_is_no_number_is_refused(tmp_path):
    np.savez(tmp_path / "data.npz", observations=[[0.0], [np.nan]], actions=np.zeros((2, 1)), episode_ends=[1, 2])
    with pytest.raises(UserError, match="episode 1 of .*: `observations` has a value that is not a finite number"):
        read_recording(str(tmp_path / "data.npz"))


BOX = spaces.Box(-1, 1, (2,))


@pytest.mark.parametrize(
    ("episode", "seen", "acted", "message"),
    [
        ((np.zeros((3, 2)), np.zeros((3, 1))), BOX, BOX, "has actions of shape \\(2,\\), but it has \\(1,\\)"),
        ((np.zeros((3, 4)), np.zeros((3, 2))), BOX, BOX, "observations of shape \\(2,\\), but it has \\(4,\\)"),
        ((np.zeros((3, 2)), np.zeros((3, 2))), spaces.Dict(a=BOX), BOX, "the entry `a`, but it has plain observations"),
        ((np.zeros((3, 2)), np.full((3, 2), 1.5)), BOX, BOX, "actions outside of the environment's bounds"),
        ((np.zeros((3, 2)), np.zeros(3)), BOX, spaces.Discrete(2), "the environment has whole actions"),
    ],
)  # fmt: skip
def test_data_of_another_environment_is_refused(episode, seen, acted, message):
    with pytest.raises(UserError, match=message):
        check_spaces_fit(Recording([RecordedEpisode(*episode)], "it"), seen, acted)
