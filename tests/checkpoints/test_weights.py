"""Tensors of torch files, both formats, without torch."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from brittlestar.checkpoints import weights
from brittlestar.checkpoints.weights import read_weights
from brittlestar.errors import UserError

ARRAYS = {
    "a.weight": np.arange(6, dtype="f4").reshape(2, 3),
    "b": np.arange(4, dtype="f8") / 3,
    "c": np.array([1, -(1 << 40)], dtype="i8"),
    "d": np.array([0, 255], dtype="u1"),
    "e": np.array([True, False]),
    "scalar": np.array(7, dtype="i8"),
    "empty": np.zeros((0, 3), dtype="f4"),
}


def same(read, arrays):
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype, name
        assert np.array_equal(read[name], array) and read[name].shape == array.shape, name


@pytest.mark.parametrize("order", ["little", "big"])
def test_tensors_come_back(build, order):
    content = build.torch_zip(ARRAYS, order)
    same(read_weights(content, "p.pth"), ARRAYS)


def test_the_old_format_is_read(build):
    same(read_weights(build.torch_legacy(ARRAYS), "p.pth"), ARRAYS)


def file_of(build, body: bytes, storages: dict[str, bytes]) -> bytes:
    entries = {"x/data.pkl": build.finish(build.mapping({"t": body}))}
    return build.zipped(entries | {f"x/data/{key}": content for key, content in storages.items()})


def test_strides_and_offsets_hold(build):
    content = np.arange(10, dtype="<f4").tobytes()
    body = build.tensor("0", "Float", 10, (2, 3), (1, 2), offset=3)
    read = read_weights(file_of(build, body, {"0": content}), "p.pth")["t"]
    assert read.tolist() == [[3, 5, 7], [4, 6, 8]]


def test_half_and_bfloat16_become_float32(build):
    half = file_of(build, build.tensor("0", "Half", 2, (2,), (1,)), {"0": np.array([1.5, -2], "<f2").tobytes()})
    brain = file_of(
        build, build.tensor("0", "BFloat16", 2, (2,), (1,)), {"0": np.array([0x3FC0, 0xC000], "<u2").tobytes()}
    )
    for content in (half, brain):
        read = read_weights(content, "p.pth")["t"]
        assert read.dtype == np.float32
        assert read.tolist() == [1.5, -2]


def test_a_parameter_is_its_tensor(build):
    inner = build.tensor("0", "Float", 1, (1,), (1,))
    body = build.call("torch._utils._rebuild_parameter", inner, b"\x88", build.call("collections.OrderedDict"))
    assert read_weights(file_of(build, body, {"0": b"\0\0\x80?"}), "p.pth")["t"].tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("0", "Float", 4, (5,), (1,)), "reaches beyond its 4 numbers"),
        (("0", "Float", 4, (2,), (1,), 3), "reaches beyond"),
        (("0", "Float", 4, (-2,), (1,)), "shape"),
        (("0", "Float", 4, (2,), (-1,)), "shape"),
        (("0", "Float", 4, (2, 2), (1,)), "parts of a tensor"),
        (("0", "Float", 4, (2,), (1,), -1), "shape"),
        (("0", "Float", 9, (2,), (1,)), "cut off"),
        (("7", "Float", 4, (2,), (1,)), "no entry `x/data/7`"),
        (("../0", "Float", 4, (2,), (1,)), "name of a storage"),
        (("0", "QInt8", 4, (2,), (1,)), "storage of torch.QInt8Storage; `policy.trust=true`"),
        (("0", "Float", 1 << 62, (2,), (1,)), "shape"),
        (("0", "Float", 1, (1 << 14, 1 << 15), (0, 0)), "more than"),
        (("0", "Float", 1, (1 << 14, 1 << 14), (0, 0)), None),
    ],
)
def test_tensors_that_do_not_fit_are_refused(build, monkeypatch, arguments, message):
    monkeypatch.setattr(weights, "MAX_WEIGHT_BYTES", 1 << 20)
    with pytest.raises(UserError, match=message or "its tensors need 1073741824 bytes") as caught:
        read_weights(file_of(build, build.tensor(*arguments), {"0": bytes(16)}), "agent.zip, entry `policy.pth`,")
    assert str(caught.value).startswith("agent.zip, entry `policy.pth`,")


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "torch loads", "newobj"])
def test_a_payload_among_the_tensors_is_named(build, marker, name):
    content = build.torch_zip(ARRAYS, extra={"evil": build.payloads(marker)[name]})
    with pytest.raises(UserError, match=r"^p.pth cannot be read: `evil` is [\w.]+, not a tensor$"):
        read_weights(content, "p.pth")


@pytest.mark.parametrize("name", ["os.system", "reduce_ex", "inst"])
def test_a_payload_as_the_whole_file_is_refused(build, marker, name):
    with pytest.raises(UserError, match="not a dict of tensors"):
        read_weights(build.torch_zip({}, body=build.payloads(marker)[name]), "p.pth")


def test_a_payload_as_a_persistent_id_is_refused(build, marker):
    body = build.payloads(marker)["os.system"] + b"Q"
    with pytest.raises(UserError, match=r"x/data.pkl.*a persistent id must be a storage"):
        read_weights(file_of(build, body, {}), "p.pth")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"PK", "not a zip file"),
        (b"\x80\x02K\x01." * 3, "not a torch file.*policy.trust=true"),
        (b"junk", "cannot be read"),
    ],
)
def test_other_files_are_refused(content, message):
    with pytest.raises(UserError, match=message):
        read_weights(content, "p.pth")


def test_a_cut_legacy_file_is_refused(build):
    content = build.torch_legacy(ARRAYS)
    for size in range(0, len(content), 37):
        with pytest.raises(UserError, match=r"^p\.pth"):
            read_weights(content[:size], "p.pth")


def test_a_file_needs_one_list_of_tensors(build):
    with pytest.raises(UserError, match="2 entries `data.pkl`"):
        read_weights(build.zipped({"a/data.pkl": b"", "b/data.pkl": b""}), "p.pth")
    with pytest.raises(UserError, match="byte order"):
        read_weights(build.zipped({"a/data.pkl": b"}.", "a/byteorder": b"middle"}), "p.pth")


def test_compressed_files_are_read(build):
    entries = zipfile.ZipFile(io.BytesIO(build.torch_zip(ARRAYS)))
    packed = build.zipped({name: entries.read(name) for name in entries.namelist()}, zipfile.ZIP_DEFLATED)
    same(read_weights(packed, "p.pth"), ARRAYS)
