"""Zips of agents: their content, and one line for every kind of corruption."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.checkpoints import read_checkpoint, zip_entries
from brittlestar.errors import UserError


@pytest.fixture
def save(tmp_path, build):
    def write(content: bytes | dict) -> str:
        path = tmp_path / "agent.zip"
        path.write_bytes(content if isinstance(content, bytes) else build.zipped(content))
        return str(path)

    return write


def with_data(build, **changes) -> dict:
    return build.agent(data=json.dumps(build.data(**changes)).encode())


def test_an_agent_is_read(build, save):
    read = read_checkpoint(save(build.agent()))
    assert (read.algorithm, read.net_arch, read.activation) == ("ppo", [4], "relu")
    assert read.policy_class == "stable_baselines3.common.policies.ActorCriticPolicy"
    assert read.observation_space == spaces.Box(np.float32([-1, -1, -8]), np.float32([1, 1, 8]))
    assert read.action_space == spaces.Box(-2, 2, (1,))
    assert (read.use_sde, read.squash_output, read.features_extractor) == (False, False, None)
    assert (read.num_timesteps, read.exploration_rate) == (1000, None)
    assert read.versions == {"OS": "Linux", "Python": "3.11.7", "Numpy": "2.0.0", "stable_baselines3": "2.4.0"}
    keys = ["policy_class", "observation_space", "action_space", "clip_range"]
    assert read.pickles == [*(f"data: {key}" for key in keys), "policy.pth", "policy.optimizer.pth"]
    assert all(np.array_equal(read.weights[key], array) for key, array in build.weights().items())


def test_reading_imports_neither_torch_nor_stable_baselines3(build, save):
    code = f"import brittlestar.checkpoints as c; c.read_checkpoint({str(save(build.agent()))!r}); import sys; "
    code += "sys.exit(bool({'torch', 'stable_baselines3'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (None, None),
        *(
            (f"<class 'torch.nn.modules.activation.{name}'>", read)
            for name, read in {
                "Tanh": "tanh", "ReLU": "relu", "ELU": "elu", "LeakyReLU": "leaky_relu", "SiLU": "silu", "GELU": "gelu",
                "ReLU6": "relu6", "Softplus": "softplus",
            }.items()
        ),
        ("<function <lambda> at 0x7f>", "<function <lambda> at 0x7f>"),
        ("<class 'my.Swish'>", "<class 'my.Swish'>"),
        ("<class\n\x1b[31m", "<class ?[31m"),
    ],
)  # fmt: skip
def test_activations(build, save, text, name):
    assert read_checkpoint(save(with_data(build, policy_kwargs={"activation_fn": text}))).activation == name


def test_settings_of_the_policy(build, save):
    kwargs = {"squash_output": True, "use_sde": True, "features_extractor_class": "<class 'my.Net'>"}
    kwargs |= {"normalize_images": False}
    read = read_checkpoint(save(with_data(build, policy_kwargs=kwargs, exploration_rate=0.05)))
    assert (read.squash_output, read.use_sde, read.features_extractor) == (True, True, "my.Net")
    assert not read.normalize_images
    assert (read.exploration_rate, read.net_arch, read.activation) == (0.05, None, None)


def test_a_discrete_action_is_never_squashed(build, save):
    action = {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "2"}
    kwargs = {"squash_output": True}
    assert not read_checkpoint(save(with_data(build, action_space=action, policy_kwargs=kwargs))).squash_output


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "posix.system", "setstate", "reduce_ex"])
def test_a_payload_in_data_is_listed_and_not_run(build, save, marker, name):
    extra = build.serialized(build.finish(build.payloads(marker)[name]))
    read = read_checkpoint(save(with_data(build, lr_schedule=extra, policy_kwargs=extra | {"net_arch": [2]})))
    assert {"data: lr_schedule", "data: policy_kwargs"} <= set(read.pickles)
    assert read.net_arch == [2]


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "newobj_ex", "torch loads"])
def test_a_payload_in_the_weights_names_file_and_entry(build, save, marker, name):
    content = build.torch_zip(build.weights(), extra={"evil": build.payloads(marker)[name]})
    with pytest.raises(UserError, match=r"^/\S+/agent\.zip, entry `policy\.pth`, cannot be read: `evil` is"):
        read_checkpoint(save(build.agent(policy_pth=content)))


def test_a_payload_in_a_zip_in_a_zip_is_not_run(build, save, marker):
    inner = build.zipped({"archive/data.pkl": build.finish(build.payloads(marker)["os.system"])})
    outer = build.zipped({"archive/data.pkl": build.finish(build.plain(inner)), "archive/data/0": inner})
    with pytest.raises(UserError, match=r"policy\.pth`, cannot be read: it holds a bytes"):
        read_checkpoint(save(build.agent(policy_pth=outer)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": None}, "no entry `data`"),
        ({"policy_pth": None}, "no entry `policy.pth`"),
        ({"data": b"["}, "entry `data`, cannot be read: it is not JSON"),
        ({"data": b"\xff\xfe\x00"}, "entry `data`, cannot be read: it is not JSON"),
        ({"data": b"[]"}, "must be an object, got a list"),
        ({"data": b"null"}, "must be an object, got a NoneType"),
        ({"data": b'{"a":' * 100_000}, "entry `data`, cannot be read: its JSON is nested too deeply"),
        ({"data": b"{}"}, "key `observation_space`"),
        ({"policy_pth": b""}, "entry `policy.pth`"),
        ({"policy_pth": b"PK\3\4"}, "entry `policy.pth`, cannot be read: it is truncated"),
        ({"policy_pth": b"PK\4"}, "entry `policy.pth`, cannot be read: it is not a zip"),
        ({"../evil": b""}, "entry `../evil`, cannot be read: the name leads out"),
        ({"/evil": b""}, "entry `/evil`, cannot be read: the name leads out"),
        ({"a\\evil": b""}, "leads out"),
        ({"C:evil": b""}, "leads out"),
    ],
)
def test_a_corrupt_zip_is_refused_in_one_line_that_names_file_and_entry(build, save, changes, message):
    path = save(build.agent(**changes))
    with pytest.raises(UserError, match=message) as caught:
        read_checkpoint(path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


def test_a_name_that_occurs_twice_is_refused(build, save):
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for name in ("data", "data", "policy.pth"):
            archive.writestr(name, b"{}")
    with pytest.raises(UserError, match="entry `data`, cannot be read: the name occurs twice"):
        read_checkpoint(save(file.getvalue()))


@pytest.mark.parametrize("content", [b"PK", b"no zip at all" * 100, b"PK\5\6" + bytes(17)])
def test_what_is_not_a_zip_is_refused(save, content):
    with pytest.raises(UserError, match="not a zip file"):
        read_checkpoint(save(content))


def test_a_cut_file_is_refused(build, save):
    content = build.zipped(build.agent())
    for size in range(0, len(content), 211):
        with pytest.raises(UserError, match="agent.zip"):
            read_checkpoint(save(content[:size]))


def test_encryption_is_refused(build, save):
    content = build.zipped({"data": b"{}", "policy.pth": b""})
    place = content.index(b"PK\1\2") + 8
    with pytest.raises(UserError, match="entry `data`, cannot be read: it is encrypted"):
        read_checkpoint(save(content[:place] + b"\1\0" + content[place + 2 :]))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_without_bound_are_refused(build, save, compression):
    with pytest.raises(UserError, match="is not one of stored, deflated"):
        read_checkpoint(save(build.zipped(build.agent(), compression)))


def test_bombs_are_refused_before_they_unpack(build, save, monkeypatch):
    bomb = build.zipped(build.agent(data=bytes(20 << 20)), zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    with pytest.raises(UserError, match="bytes would unpack to 20971520"):
        read_checkpoint(save(bomb))
    monkeypatch.setattr(zip_entries, "MAX_RATIO", 10_000)
    with pytest.raises(UserError, match="entry `data`, cannot be read: it has 20971520 bytes, at most"):
        read_checkpoint(save(bomb))
    monkeypatch.setattr(zip_entries, "MAX_UNPACKED", 1 << 20)
    with pytest.raises(UserError, match="it unpacks to"):
        read_checkpoint(save(bomb))


def test_a_size_that_lies_is_refused(build, save):
    content = build.zipped({"data": b"{}", "policy.pth": b""})
    place = content.index(b"PK\1\2") + 24
    lied = content[:place] + struct.pack("<I", 900_000) + content[place + 4 :]
    with pytest.raises(UserError, match="entry `data`"):
        read_checkpoint(save(lied))


def test_too_many_entries_are_refused(build, save, monkeypatch):
    monkeypatch.setattr(zip_entries, "MAX_ZIP_ENTRIES", 4)
    with pytest.raises(UserError, match="it has 5 entries, at most 4"):
        read_checkpoint(save(build.agent()))


def test_a_huge_table_of_contents_is_refused_before_it_is_parsed(build, save):
    content = build.zipped(build.agent())
    place = content.rindex(b"PK\5\6") + 12
    with pytest.raises(UserError, match="table of contents has 1073741824 bytes"):
        read_checkpoint(save(content[:place] + struct.pack("<I", 1 << 30) + content[place + 4 :]))


def test_a_missing_file_says_where_it_looked(build, save, tmp_path, monkeypatch):
    save(build.agent())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=rf"^there is no file {tmp_path}/agent; did you mean `agent.zip`\?$"):
        read_checkpoint("agent")
    with pytest.raises(UserError, match=rf"^there is no file {tmp_path}/no/where.zip$"):
        read_checkpoint("no/where.zip")
    with pytest.raises(UserError, match="is not a file"):
        read_checkpoint(str(tmp_path))
