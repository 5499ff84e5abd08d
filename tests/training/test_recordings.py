import json
import zipfile

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.training.recordings import RecordedEpisode, RecordingWriter, read_npz

FACTS = {"env": "CartPole-v1", "max_steps": None, "seed": 3}


def episode(rng, steps, keys=("a", "b")):
    seen = {key: rng.normal(size=(steps, 2)).astype(np.float32) for key in keys}
    return RecordedEpisode(seen if keys != ("",) else seen[""], rng.integers(3, size=steps))


def write(path, episodes):
    with RecordingWriter(path, dict(FACTS)) as writer:
        for each in episodes:
            writer.add(each)
        writer.append("rewards", np.arange(sum(map(len, episodes)), dtype=np.float64))
    return path


@pytest.mark.parametrize("keys", [("a", "b"), ("",)], ids=["dict", "plain"])
def test_what_is_written_is_read(keys, tmp_path, rng):
    episodes = [episode(rng, steps, keys) for steps in (3, 1, 4)]
    recording = read_npz(write(tmp_path / "new" / "data.npz", episodes))
    assert (recording.env, recording.seed, recording.max_steps) == ("CartPole-v1", 3, None)
    assert [len(each) for each in recording.episodes] == [3, 1, 4]
    assert [each.rewards.tolist() for each in recording.episodes] == [[0, 1, 2], [3], [4, 5, 6, 7]]
    for ours, theirs in zip(recording.episodes, episodes, strict=True):
        np.testing.assert_array_equal(ours.actions, theirs.actions)
        parts = [each.observations if isinstance(each.observations, dict) else {"": each.observations}
                 for each in (ours, theirs)]  # fmt: skip
        assert parts[0].keys() == parts[1].keys()
        assert all(np.array_equal(parts[0][key], parts[1][key]) for key in parts[1])
        assert {part.dtype for part in parts[0].values()} == {np.dtype(np.float32)}


def test_the_same_episodes_give_the_same_bytes(tmp_path, rng):
    episodes = [episode(rng, 5)]
    first, second = (write(tmp_path / name, episodes).read_bytes() for name in ("a.npz", "b.npz"))
    assert first == second


def test_a_recording_that_fails_leaves_nothing(tmp_path, rng):
    path = tmp_path / "data.npz"
    writer = RecordingWriter(path, {})
    writer.__enter__()
    writer.add(episode(rng, 3))
    assert len(list(tmp_path.iterdir())) == 1
    writer.__exit__(RuntimeError)
    assert list(tmp_path.iterdir()) == []


def test_files_of_other_people_are_read_by_their_flags(tmp_path):
    steps, flags = np.arange(6.0)[:, None], np.array([0, 0, 1, 0, 0, 0])
    late = np.array([0, 0, 0, 0, 1, 0])
    np.savez(tmp_path / "d4rl.npz", observations=steps, actions=steps, terminals=flags, timeouts=late)
    recording = read_npz(tmp_path / "d4rl.npz")
    # The last step is an episode that was cut off.
    assert [each.actions.ravel().tolist() for each in recording.episodes] == [[0, 1, 2], [3, 4], [5]]
    assert recording.episodes[0].rewards is None and recording.env is None


STEPS = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"actions": STEPS, "episode_ends": [4]}, "has no array `observations`, only actions, episode_ends"),
        ({"observation": STEPS, "actions": STEPS}, "has no array `observations`, only actions, observation"),
        ({"observations": STEPS, "actions": STEPS}, "has no array `episode_ends`"),
        ({"observations": STEPS[:3], "actions": STEPS, "episode_ends": [4]}, "`observations` must have 4 steps, got"),
        ({"observations": STEPS, "actions": STEPS, "episode_ends": [3]}, "must rise to the number of steps, 4, got"),
        ({"observations": STEPS, "actions": STEPS, "episode_ends": [2, 2, 4]}, "must rise to the number of steps"),
        ({"observations": STEPS, "actions": STEPS, "episode_ends": [4], "facts": "no"}, "`facts` is no JSON object"),
    ],
)
def test_a_wrong_file_is_one_line(arrays, message, tmp_path):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(UserError, match=message):
        read_npz(tmp_path / "data.npz")


def test_pickled_objects_and_other_files_are_refused(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "objects.npz", observations=objects, actions=objects)
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "objects.npz").read_bytes()[:50])
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, np.zeros(3))
    damaged = bytearray((tmp_path / "objects.npz").read_bytes())
    damaged[60:90] = bytes(30)
    (tmp_path / "damaged.npz").write_bytes(damaged)
    for name in ("objects", "text", "cut", "array", "damaged"):
        with pytest.raises(UserError, match=f"{name}.npz is no .npz of plain arrays"):
            read_npz(tmp_path / f"{name}.npz")


def test_a_git_lfs_pointer_is_called_that(tmp_path):
    (tmp_path / "pointer.npz").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(UserError, match="pointer.npz is no .npz of plain arrays: it is a git-LFS pointer"):
        read_npz(tmp_path / "pointer.npz")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_a_truncated_recording_is_called_that(tmp_path, rng, share):
    content = write(tmp_path / "data.npz", [episode(rng, 200)]).read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: int(share * len(content))])
    with pytest.raises(UserError, match="cut.npz is no .npz of plain arrays: it is truncated"):
        read_npz(tmp_path / "cut.npz")


def test_facts_are_plain_json(tmp_path, rng):
    with zipfile.ZipFile(write(tmp_path / "data.npz", [episode(rng, 2)])) as archive:
        names = archive.namelist()
    arrays = ["observations/a", "observations/b", "actions", "rewards", "episode_ends", "facts"]
    assert names == [f"{name}.npy" for name in arrays]
    assert json.loads(str(np.load(tmp_path / "data.npz")["facts"])) == FACTS
