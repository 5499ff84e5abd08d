"""Records: every bit of a cell is covered by a digest."""

import json

import numpy as np
import pytest

from brittlestar.cells.record import DamagedCellError, decode, digest, encode

ARRAYS = {
    "episodes": np.array([[0.0, np.nan], [1.0, 2.0]]),
    "rewards": np.arange(6, dtype=np.float32).reshape(1, 2, 3),
    "trajectories/actions": np.array([2, 1, 0]),
}
MANIFEST = {"cell": "ab", "status": "done", "measure": "return", "x": float("nan")}


def test_a_record_is_read_back():
    manifest, arrays = decode(encode(MANIFEST, ARRAYS))
    assert manifest["measure"] == "return" and np.isnan(manifest["x"])
    assert manifest["files"]["rewards"]["shape"] == [1, 2, 3]
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array, equal_nan=array.dtype != int)


def test_every_flipped_bit_is_noticed():
    data = encode(MANIFEST, ARRAYS)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(DamagedCellError):
            decode(bytes(damaged))


def test_every_truncation_and_every_byte_too_many_is_noticed():
    data = encode(MANIFEST, ARRAYS)
    for length in range(len(data)):
        with pytest.raises(DamagedCellError):
            decode(data[:length])
    with pytest.raises(DamagedCellError, match="longer than its arrays"):
        decode(data + b"\0")


def test_swapped_rows_and_an_edited_manifest_are_noticed():
    data = encode(MANIFEST, ARRAYS)
    swapped = data.replace(ARRAYS["episodes"].tobytes(), ARRAYS["episodes"][::-1].tobytes())
    assert swapped != data
    with pytest.raises(DamagedCellError, match="`episodes` has another digest"):
        decode(swapped)
    with pytest.raises(DamagedCellError, match="manifest"):
        decode(data.replace(b'"return"', b'"dwell!"'))


@pytest.mark.parametrize("content", [b"", b"{}", b"{}\n{}\n", json.dumps(MANIFEST).encode()])
def test_anything_else_is_no_record(content):
    with pytest.raises(DamagedCellError):
        decode(content)


@pytest.mark.parametrize("head", [b"{}", b"[]", b"null", b"no JSON", b'{"files": 3}', b'{"files": {"episodes": {}}}'])
def test_a_manifest_that_describes_no_cell_is_damage_even_with_its_own_digest(head):
    with pytest.raises(DamagedCellError, match="does not describe a cell"):
        decode(b"\n".join([b"brittlestar cell 2 " + digest(head).encode(), head, ARRAYS["episodes"].tobytes()]))
