"""The pickle interpreter: values come back, payloads stay inert, bombs are refused in one line."""

from __future__ import annotations

import collections
import pickle

import numpy as np
import pytest

from brittlestar.checkpoints import safe_pickle
from brittlestar.checkpoints.safe_pickle import read_pickle
from brittlestar.checkpoints.stubs import Stub
from brittlestar.errors import UserError

LIVE = [
    "os.system",
    "posix.system",
    "builtins.eval",
    "builtins.exec",
    "partial",
    "stack_global",
    "inst",
    "obj",
    "getattr",
]
PAYLOADS = [
    *LIVE, "subprocess", "newobj", "newobj_ex", "setstate", "reduce_ex", "reconstruct", "array state", "scalar",
    "codecs", "numpy loads", "pickle loads", "torch loads", "persistent id", "extension",
]  # fmt: skip
REFUSED = {"array state", "scalar", "persistent id", "extension"}


class Point:
    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_plain_values_come_back(protocol):
    value = {"a": [1, -2, 1 << 70, 0.5, None, True], "b": ("x", b"y\xff", {3}, frozenset([4])), "c": {"d": {}}, "é": []}
    value["again"] = value["a"]
    read = read_pickle(pickle.dumps(value, protocol), "a.pkl")
    assert read == value
    assert read["again"] is read["a"]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["f4", ">f8", "f2", "i8", "u1", "b1", "c16", "S3", "U2"])
def test_arrays_come_back(protocol, dtype):
    arrays = [np.arange(6).reshape(2, 3).astype(dtype), np.zeros((0, 2), dtype), np.array(1).astype(dtype)]
    arrays.append(np.asfortranarray(arrays[0]))
    for array, read in zip(arrays, read_pickle(pickle.dumps(arrays, protocol), "a.pkl"), strict=True):
        assert read.dtype == array.dtype
        assert read.shape == array.shape
        assert np.array_equal(read, array)


def test_old_names_of_numpy_are_read():
    content = pickle.dumps(np.arange(3.0), 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core.multiarray" in content
    assert read_pickle(content, "a.pkl").tolist() == [0, 1, 2]


def test_a_shared_array_is_one_object():
    array = np.arange(3.0)
    first, second = read_pickle(pickle.dumps([array, array], 2), "a.pkl")
    assert first is second
    assert isinstance(first, np.ndarray)


def test_scalars_and_ordered_dicts_come_back():
    value = collections.OrderedDict(a=np.float64(0.5), b=np.int32(-3))
    assert read_pickle(pickle.dumps(value, 4), "a.pkl") == {"a": 0.5, "b": -3}


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_objects_become_stubs_with_their_state(protocol):
    read = read_pickle(pickle.dumps(Point(np.arange(2)), protocol), "a.pkl")
    assert type(read) is Stub
    assert read.name.endswith("test_safe_pickle.Point")
    assert read.get("x").tolist() == [0, 1]
    assert read.get("y", 7) == 7


@pytest.mark.parametrize("name", LIVE)
def test_the_payloads_are_live(build, tmp_path, name):
    pickle.loads(build.finish(build.payloads(tmp_path / "executed")[name]))
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_is_never_run(build, marker, name):
    content = build.finish(build.payloads(marker)[name])
    if name in REFUSED:
        with pytest.raises(UserError, match=r"^a\.pkl cannot be read: damaged or unusual pickle"):
            read_pickle(content, "a.pkl")
    else:
        assert type(read_pickle(content, "a.pkl")) is Stub


def test_all_payloads_are_tried(build, marker):
    assert set(build.payloads(marker)) == set(PAYLOADS)


def array_state(build, shape, content=b"", kind="f4"):
    state = build.row(build.number(1), shape, build.plain(np.dtype(kind)), b"\x89", build.plain(content))
    made = build.call("numpy.core.multiarray._reconstruct", build.named("numpy.ndarray"), build.numbers([0]), b"N")
    return build.finish(made + state + b"b")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-1,), r"shape \(-1,\)"),
        ((1 << 40,), "shape"),
        ((1 << 20, 1 << 20), "more than"),
        ((0, 1 << 60), "shape"),
        ((1,) * 40, "shape"),
    ],
)
@pytest.mark.parametrize("kind", ["f4", "O"])
def test_shapes_are_checked_before_memory_is_taken(build, shape, message, kind):
    with pytest.raises(UserError, match=message):
        read_pickle(array_state(build, build.numbers(shape), kind=kind), "a.pkl")


def test_an_array_has_the_bytes_of_its_shape(build):
    assert read_pickle(array_state(build, build.numbers((2,)), bytes(8)), "a.pkl").tolist() == [0, 0]
    with pytest.raises(UserError, match=r"7 bytes for an array of \(2,\) float32"):
        read_pickle(array_state(build, build.numbers((2,)), bytes(7)), "a.pkl")


def test_arrays_of_objects_have_no_content(build):
    read = read_pickle(pickle.dumps(np.array([{}, print], dtype=object), 4), "a.pkl")
    assert not isinstance(read, np.ndarray)
    assert read.name == "O8"


@pytest.mark.parametrize(
    "content", [b"", b".", b"\x80\x02", b"]", b"\xff", b"a.", b"(.", b"h\x05.", b"X\xff\xff\xff\x7fa."]
)
def test_a_corrupt_pickle_is_refused_in_one_line(content):
    with pytest.raises(UserError, match=r"^folder/a\.pkl cannot be read: .+$") as caught:
        read_pickle(content, "folder/a.pkl")
    assert "\n" not in str(caught.value)


def test_an_array_without_state_is_refused(build):
    made = build.call("numpy.core.multiarray._reconstruct", build.named("numpy.ndarray"), build.numbers([0]), b"N")
    with pytest.raises(UserError, match="without its state"):
        read_pickle(build.finish(b"](" + made + b"e"), "a.pkl")


def test_deep_nesting_is_read_without_recursion():
    read = read_pickle(b"]" * 100_000 + b"a" * 99_999 + b".", "a.pkl")
    assert len(read) == 1


def test_shared_nesting_takes_no_memory(build):
    # Every level holds the next one ten times: 10^60 items if printed or hashed.
    body = b")q\x00" + b"".join(b"(" + b"h\x00" * 10 + b"tq\x00" for _ in range(60))
    keyed = b"}h\x00Ns"
    assert isinstance(read_pickle(build.finish(body), "a.pkl"), tuple)
    assert len(read_pickle(build.finish(body + keyed), "a.pkl")) == 1


def test_too_many_opcodes_are_refused(monkeypatch):
    monkeypatch.setattr(safe_pickle, "MAX_OPCODES", 1000)
    assert read_pickle(b"]" * 900 + b".", "a.pkl") == []
    with pytest.raises(UserError, match="more than 1000 opcodes"):
        read_pickle(b"]" * 1001 + b".", "a.pkl")


def test_copies_of_a_large_list_are_refused(build, peak_memory):
    many = b"](" + b"K\x01" * 50_000 + b"eq\x00"
    copies = b"".join(build.named("builtins.list") + b"(h\x00tR0" for _ in range(1000))
    with pytest.raises(UserError, match="items to copy"):
        read_pickle(build.finish(many + copies + b"N"), "a.pkl")
    assert peak_memory() < 20 << 20


def test_long_names_are_refused(build):
    content = build.finish(build.text("m" * 2000) + b"\x8c\x01n\x93")
    with pytest.raises(UserError, match="too long"):
        read_pickle(content, "a.pkl")
