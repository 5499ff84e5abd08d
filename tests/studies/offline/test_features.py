import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.studies.offline.features import feature_sets, named_features, observed_numbers
from brittlestar.training.recordings import RecordedEpisode

MODULE = """\
import numpy as np


def mean_frame(observations, actions):
    return observations.mean(axis=(0, 2, 3))


def bad(observations, actions):
    return np.nan


constant = 3
"""


def episode(rng, steps=5):
    seen = {"goal": rng.normal(3.0, 2.0, (steps, 1)), "state": rng.normal(size=(steps, 2)) * [1.0, 1e-9]}
    return RecordedEpisode(seen, np.zeros(steps))


def test_numbers_are_in_units_of_their_spread_and_constants_do_not_count_most(rng):
    episodes = [episode(rng, steps) for steps in (400, 300)]
    rows = np.concatenate(feature_sets(episodes, observed_numbers(episodes)))
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(rows.std(axis=0)[:2], 1.0)
    assert rows.std(axis=0)[2] < 1e-6


def test_images_need_a_function(rng):
    with pytest.raises(UserError, match="more than 2000 numbers need features: `--features module:function`"):
        observed_numbers([RecordedEpisode(np.zeros((2, 30, 30, 3), np.uint8), np.zeros(2))])


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "offline_features.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_function_of_the_user_sees_frames_as_arrays(module, rng):
    frames = rng.integers(256, size=(4, 3, 8, 8), dtype=np.uint8)
    features = named_features("offline_features:mean_frame")(RecordedEpisode(frames, np.zeros(4)))
    np.testing.assert_allclose(features, frames.mean(axis=(0, 2, 3)))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("offline_features", "must look like `module:function`"),
        ("no_module:f", "cannot be imported: No module named 'no_module'"),
        ("offline_features:mean_frames", "has no function `mean_frames`; did you mean `mean_frame`"),
        ("offline_features:constant", "has no function `constant`"),
        ("offline_features:bad", r"must return finite numbers of shape \(size,\) or \(n, size\), got \(\)"),
    ],
)
def test_a_wrong_function_is_one_line(path, message, module, rng):
    with pytest.raises(UserError, match=message):
        named_features(path)(episode(rng))


def test_features_of_different_sizes_are_refused(rng):
    episodes = [episode(rng, steps) for steps in (2, 3)]
    with pytest.raises(UserError, match="features must have one size, got 2, 3 numbers"):
        feature_sets(episodes, lambda each: np.zeros(len(each)))
