"""VecNormalize files: their content, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from brittlestar.checkpoints import read_statistics
from brittlestar.errors import UserError


@pytest.fixture
def save(tmp_path):
    def write(content: bytes) -> str:
        (tmp_path / "vecnormalize.pkl").write_bytes(content)
        return str(tmp_path / "vecnormalize.pkl")

    return write


def test_a_plain_observation(build, save):
    read = read_statistics(save(build.statistics()))
    assert {key: value.tolist() for key, value in read.mean.items()} == {"": [0, 1, 2]}
    assert {key: value.tolist() for key, value in read.var.items()} == {"": [1, 4, 0.5]}
    assert (read.epsilon, read.clip, read.norm_obs, read.norm_reward, read.count) == (1e-8, 10, True, False, 10)


def test_a_dict_of_observations(build, save):
    parts = {"b": build.rms([1.0], [2.0], 5.0), "a": build.rms([[0.0, 1.0]], [[1.0, 2.0]], np.float64(7.0))}
    read = read_statistics(save(build.statistics(build.mapping(parts), observation_space=b"N")))
    assert {key: value.shape for key, value in read.mean.items()} == {"b": (1,), "a": (1, 2)}
    assert read.count == 5


def test_without_observations(build, save):
    read = read_statistics(save(build.statistics(norm_obs=build.plain(False), obs_rms=b"N")))
    assert (read.norm_obs, read.mean, read.var) == (False, {}, {})


def test_no_clip(build, save):
    assert read_statistics(save(build.statistics(clip_obs=build.plain(float("inf"))))).clip == np.inf


@pytest.mark.parametrize(
    ("mean", "var", "message"),
    [
        ([0.0, 1.0], [1.0, 1.0, 1.0], r"mean has shape \(2,\), the variance \(3,\)"),
        ([0.0, 1.0], [1.0, 1.0], r"mean has shape \(2,\), observations \(3,\)"),
        ([0.0, np.nan, 0.0], [1.0] * 3, "`mean`, cannot be read: it has entries that are not finite"),
        ([0.0] * 3, [1.0, np.inf, 1.0], "`var`, cannot be read: it has entries that are not finite"),
        ([0.0] * 3, [1.0, -0.5, 1.0], "variance is negative: -0.5"),
        (["a"] * 3, [1.0] * 3, "not an array of numbers"),
        ([None] * 3, [1.0] * 3, "not an array of numbers"),
    ],
)
def test_bad_moments_are_refused(build, save, mean, var, message):
    with pytest.raises(UserError, match=message) as caught:
        read_statistics(save(build.statistics(build.rms(mean, var))))
    assert "vecnormalize.pkl, `obs_rms`," in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -1.0}, "`epsilon`, cannot be read: it must be a number from 0, got -1"),
        ({"epsilon": "x"}, "`epsilon`.*str"),
        ({"clip_obs": float("nan")}, "`clip_obs`"),
        ({"clip_obs": 10**400}, "`clip_obs`"),
        ({"norm_obs": 1}, "`norm_obs` must be true or false"),
        ({"norm_reward": None}, "`norm_reward` must be true or false"),
        ({"obs_rms": {}}, "no keys"),
        ({"obs_rms": {1: 2}}, "no keys"),
        ({"obs_rms": 3}, "running mean is a int"),
    ],
)
def test_bad_settings_are_refused(build, save, changes, message):
    changed = {name: build.plain(value) for name, value in changes.items()}
    with pytest.raises(UserError, match=message):
        read_statistics(save(build.statistics(**changed)))


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "setstate", "reduce_ex", "pickle loads"])
@pytest.mark.parametrize("place", ["whole", "epsilon", "obs_rms", "inside", "next to"])
def test_payloads_stay_inert_anywhere(build, save, marker, name, place):
    payload = build.payloads(marker)[name]
    if place == "next to":
        read = read_statistics(save(build.statistics(old_reward=payload)))
        assert read.count == 10
        return
    changed = {"inside": {"obs_rms": build.rms([0.0] * 3, [1.0] * 3, mean=payload)}}.get(place, {place: payload})
    content = build.finish(payload) if place == "whole" else build.statistics(**changed)
    with pytest.raises(UserError, match=r"^\S+/vecnormalize\.pkl"):
        read_statistics(save(content))


def test_shared_nesting_as_a_shape_is_refused(build, save):
    bomb = b")q\x63" + b"".join(b"(" + b"h\x63" * 10 + b"tq\x63" for _ in range(40))
    space = build.instance("gym.spaces.box.Box", build.mapping({"_shape": bomb}))
    with pytest.raises(UserError, match="mean has shape"):
        read_statistics(save(build.statistics(observation_space=space)))


def test_a_missing_file_says_where_it_looked(save, build, tmp_path):
    save(build.statistics())
    with pytest.raises(UserError, match=rf"no file {tmp_path}/vecnormalise.pkl; did you mean `vecnormalize.pkl`\?"):
        read_statistics(str(tmp_path / "vecnormalise.pkl"))
