import pickle

import msgpack
import numpy as np
import pytest

from brittlestar.policies.server.codec import FrameError, decode_frame, encode_frame

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((0, 3)), np.array(3), np.array([True, False]),
    np.arange(4, dtype=">i4"), np.arange(12, dtype=np.uint8).reshape(2, 2, 3)[:, ::-1], np.float16([1.5]),
]  # fmt: skip


def array(**changes):
    """A frame with one array whose parts are as stated."""
    entry = {b"__ndarray__": True, b"data": b"\0" * 16, b"dtype": "<f8", b"shape": [2]}
    return msgpack.packb({"x": entry | {name.encode(): value for name, value in changes.items()}})


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype}{value.shape}")
def test_arrays_arrive_as_they_were_sent(value):
    arrived = decode_frame(encode_frame({"x": [value, "text", None]}))["x"]
    assert arrived[0].tolist() == value.tolist() and arrived[0].shape == value.shape
    assert arrived[0].dtype == value.dtype.newbyteorder("=") and arrived[1:] == ["text", None]


def test_scalars_and_plain_data_arrive_as_they_were_sent():
    message = {"a": np.float32(0.5), "b": np.int64(7), "c": {"d": [1, 2.5, True, b"raw"]}}
    assert decode_frame(encode_frame(message)) == message
    assert decode_frame(msgpack.packb(msgpack.Timestamp(3))) == 3.0


@pytest.mark.parametrize(
    "value",
    [np.array([object()]), np.zeros(2, "V4"), np.zeros(2, complex), np.array(["text"]), np.zeros(1, "M8[s]"), {1, 2},
     np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])],
)  # fmt: skip
def test_what_holds_no_numbers_is_not_sent(value):
    with pytest.raises(FrameError, match="cannot be sent"):
        encode_frame({"x": value})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (array(dtype="|O"), "dtype '|O': only numbers"),
        (array(dtype="<c16"), "only numbers"),
        (array(dtype="|V8"), "only numbers"),
        (array(dtype="<U2"), "only numbers"),
        (array(dtype="<M8[s]"), "only numbers"),
        (array(dtype="f8, f8"), "only numbers"),
        (array(dtype=["<f8"]), "only numbers"),
        (array(dtype=None), "only numbers"),
        (array(data=[1, 2]), "data of type list"),
        (array(data="text of 16 chars"), "data of type str"),
        (array(shape=[3]), "cannot have 16 bytes"),
        (array(shape=[-2]), "expected a list of whole numbers"),
        (array(shape=[2.0]), "expected a list of whole numbers"),
        (array(shape=[True, 2]), "expected a list of whole numbers"),
        (array(shape=2), "expected a list of whole numbers"),
        (array(shape=[2**62, 2**62, 4]), "cannot have the shape"),
        (array(shape=[1] * 40 + [2]), "cannot have the shape"),
        (array(data=b"", shape=[0, 2**62]), "cannot have the shape"),
        (msgpack.packb({b"__npgeneric__": True, b"data": [1], b"dtype": "<f8"}), "expected a number"),
        (msgpack.packb({b"__npgeneric__": True, b"data": 2**40, b"dtype": "|u1"}), "does not fit"),
        (msgpack.packb(msgpack.ExtType(4, b"x")), "extension of type 4"),
        (msgpack.packb([[]] * 999_999), "more than 1,000,000 entries"),
        (b"\xdd\xff\xff\xff\xff", "no msgpack"),
        (b"\x81\x01\x02", "no msgpack"),
        (b"", "no msgpack"),
        (b"\x91" * 5000, "no msgpack"),
        (b"\x91" * 900 + b"\x90", "more than 32 levels of lists and maps"),
        (b"\x81\xa1a" * 480 + b"\x80", "more than 32 levels of lists and maps"),
        (b"\x81\xa1a\x91" * 16 + b"\x80", "more than 32 levels of lists and maps"),
        (b"\xa4\xff\xfe\xfd\xfc", "no msgpack"),
        (encode_frame({}) + b"\0", "extra bytes"),
    ],
)  # fmt: skip
def test_a_frame_that_breaks_the_rules_is_refused_in_one_line(frame, message):
    with pytest.raises(FrameError) as error:
        decode_frame(frame)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_up_to_32_levels_are_read():
    assert decode_frame(b"\x91" * 31 + b"\x90") is not None
    assert decode_frame(b"\x81\xa1a" * 31 + b"\x93\x01\x02\x03") is not None


def test_a_pickle_is_never_opened(marker):
    class Evil:
        def __reduce__(self):
            return open, (str(marker), "w")

    content = pickle.dumps(Evil())
    assert decode_frame(encode_frame({"x": content})) == {"x": content}
    with pytest.raises(FrameError):
        decode_frame(content)
    with pytest.raises(FrameError):
        decode_frame(array(dtype="|O", data=content, shape=[1]))


def test_any_bytes_give_a_message_or_an_error_in_one_line(rng):
    sound = encode_frame({"observation/image": np.zeros((4, 4, 3), np.uint8), "state": np.ones(3), "prompt": "reach"})
    outcomes = set()
    for _ in range(4000):
        frame = bytearray(sound)
        for place in rng.integers(len(frame), size=rng.integers(1, 6)):
            frame[place] = rng.integers(256)
        try:
            decode_frame(bytes(frame[: rng.integers(1, len(frame) + 1)]))
            outcomes.add("read")
        except FrameError as error:
            outcomes.add("refused, in two lines" if "\n" in str(error) else "refused")
    assert outcomes == {"read", "refused"}
