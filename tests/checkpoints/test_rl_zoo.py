"""Folders of rl-zoo, and yaml that constructs nothing."""

from __future__ import annotations

import io

import numpy as np
import pytest

from brittlestar.checkpoints import find_statistics, read_folder
from brittlestar.errors import UserError


@pytest.fixture
def folder(tmp_path, build):
    """A folder `ppo/Pole-v1_1` with the files of an agent."""

    def write(config: str = "{}", args: str = "{algo: ppo, env: Pole-v1}", statistics=True, scores=None):
        place = tmp_path / "ppo" / "Pole-v1_1"
        (place / "Pole-v1").mkdir(parents=True)
        (place / "Pole-v1.zip").write_bytes(build.zipped(build.agent()))
        (place / "Pole-v1" / "config.yml").write_text(config)
        (place / "Pole-v1" / "args.yml").write_text(args)
        if statistics:
            (place / "Pole-v1" / "vecnormalize.pkl").write_bytes(build.statistics())
        if scores is not None:
            (place / "evaluations.npz").write_bytes(scores)
        return place

    return write


def npz(build, results) -> bytes:
    file = io.BytesIO()
    np.save(file, results)
    return build.zipped({"results.npy": file.getvalue()})


CONFIG = """!!python/object/apply:collections.OrderedDict
- - - env_wrapper
    - sb3_contrib.common.wrappers.TimeFeatureWrapper
  - - frame_stack
    - 4
  - - normalize
    - dict(norm_obs=True, norm_reward=False)
  - - n_timesteps
    - 1000000.0
"""


def test_a_folder_is_read(folder, build):
    place = folder(CONFIG, scores=npz(build, np.arange(6.0).reshape(2, 3)))
    read = read_folder(str(place))
    assert (read.algorithm, read.env_id, read.normalized, read.frame_stack) == ("ppo", "Pole-v1", True, 4)
    assert read.checkpoint == str(place / "Pole-v1.zip")
    assert read.statistics == str(place / "Pole-v1" / "vecnormalize.pkl") == find_statistics(read.checkpoint)
    assert read.normalize_kwargs == {"norm_obs": True, "norm_reward": False}
    assert read.wrappers == {"sb3_contrib.common.wrappers.TimeFeatureWrapper": {}}
    assert read.recorded.returns.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_names_come_from_the_folder_without_args(folder):
    read = read_folder(folder(args="{}"))
    assert (read.algorithm, read.env_id, read.recorded, read.wrappers) == ("ppo", "Pole-v1", None, {})


@pytest.mark.parametrize("value", ["true", "dict(norm_reward=False)", "\"{'norm_obs': True}\"", "{norm_obs: true}"])
def test_missing_statistics_are_refused(folder, value):
    place = folder(f"normalize: {value}", statistics=False)
    with pytest.raises(UserError, match=rf"trained with VecNormalize, but {place}/Pole-v1/vecnormalize.pkl is missing"):
        read_folder(place)


@pytest.mark.parametrize(("value", "normalized"), [("false", False), ("null", False), ("dict(norm_obs=False)", True)])
def test_statistics_that_are_not_needed_may_be_missing(folder, value, normalized):
    read = read_folder(folder(f"normalize: {value}", statistics=False))
    assert (read.normalized, read.statistics) == (normalized, None)


@pytest.mark.parametrize("value", ["3", "[1]", "__import__('os').system('ls')", "dict(**{})", "dict(a=f())", "'(' * 9"])
def test_strange_settings_are_refused(folder, value):
    with pytest.raises(UserError, match=r"config.yml, `normalize`, cannot be read"):
        read_folder(folder(f'normalize: "{value}"' if "(" in value else f"normalize: {value}"))


@pytest.mark.parametrize(
    ("value", "wrappers"),
    [
        ("a.B", {"a.B": {}}),
        ("[c.D, a.B]", {"c.D": {}, "a.B": {}}),
        ("[{a.B: {x: 1}}, c.D]", {"a.B": {"x": 1}, "c.D": {}}),
        ("{a.B: {x: 1}}", {"a.B": {"x": 1}}),
        ("null", {}),
    ],
)
def test_wrappers_have_their_arguments_and_their_order(folder, value, wrappers):
    assert list(read_folder(folder(f"env_wrapper: {value}")).wrappers.items()) == list(wrappers.items())


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("frame_stack: 0", "`frame_stack`"),
        ("frame_stack: x", "`frame_stack`"),
        ("env_wrapper: [3]", "`env_wrapper`"),
        ("[1, 2]", "must be a dict"),
        ("{1: 2}", "must be a dict"),
        ("a: [", "not plain yaml"),
        ("[" * 3000, "not plain yaml"),
        ("a: !!binary x", "not plain yaml"),
        ("a: !other x", "not plain yaml"),
        ("b: {<<: {c: 1}}", "merge keys"),
        ("x: &a [1]\ny: [" + "*a, " * 200 + "]", "more than 100 aliases"),
        ("a: " + "x" * (300 << 10), "at most 262144 are read"),
    ],
)
def test_corrupt_yaml_is_refused_in_one_line(folder, config, message):
    with pytest.raises(UserError, match=message) as caught:
        read_folder(folder(config))
    assert "config.yml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shared_aliases_are_printed_in_one_line(folder):
    levels = "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 49))
    with pytest.raises(UserError, match="`normalize`"):
        read_folder(folder(f"a0: &a0 [1]\n{levels}normalize: *a48"))


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.array([1.0]), "is not"),
        (np.zeros((2, 0)), "is not"),
        (np.array([["a"]]), "not a plain array"),
    ],
)
def test_strange_scores_are_refused(folder, build, scores, message):
    with pytest.raises(UserError, match=rf"evaluations.npz, entry `results.npy`, cannot be read: .*{message}"):
        read_folder(folder(scores=npz(build, scores)))


def test_scores_that_claim_memory_or_objects_are_refused(folder, build, marker):
    file = io.BytesIO()
    np.save(file, np.zeros((2, 3)))
    claim = file.getvalue().replace(b"(2, 3), }" + b" " * 10, b"(2, 3000000000), }"[:19].ljust(19))
    assert b"3000000000" in claim
    place = folder(scores=build.zipped({"results.npy": claim}))
    with pytest.raises(UserError, match="not a plain array"):
        read_folder(place)
    header = (
        b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }".ljust(117) + b"\n"
    )
    objects = header + build.finish(build.payloads(marker)["os.system"])
    (place / "evaluations.npz").write_bytes(build.zipped({"results.npy": objects}))
    with pytest.raises(UserError, match="not a plain array"):
        read_folder(place)


@pytest.mark.parametrize("mutate", [bytes.upper, lambda header: header.replace(b"}", b"("), lambda header: header[:60]])
def test_a_corrupt_header_of_scores_is_refused(folder, build, mutate):
    file = io.BytesIO()
    np.save(file, np.zeros((2, 3)))
    content = file.getvalue()
    with pytest.raises(UserError, match="not a plain array"):
        read_folder(
            folder(scores=build.zipped({"results.npy": content[:10] + mutate(content[10:128]) + content[128:]}))
        )


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "|u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_of_any_number_type(folder, build, dtype, order):
    scores = np.asarray(np.arange(6).reshape(2, 3), dtype=dtype, order=order)
    assert read_folder(folder(scores=npz(build, scores))).recorded.returns.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_folder_without_an_agent_is_refused(tmp_path, build):
    with pytest.raises(UserError, match="is not a folder of rl-zoo: it has no zip$"):
        read_folder(tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        read_folder(tmp_path / "nowhere")
    for name in ("a.zip", "b.zip"):
        (tmp_path / name).write_bytes(build.zipped(build.agent()))
    with pytest.raises(UserError, match="none of its 2 zips is .*zip; valid: a.zip, b.zip"):
        read_folder(tmp_path)
