"""A finished cell as bytes: its manifest and its arrays, each with a digest, so that no damage passes for a result.

The first line is the format and the digest of the second line, the second line is the manifest as JSON, and behind it
are the arrays, in the order of `manifest["files"]`.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from brittlestar.errors import UserError

EPISODES, REWARDS, BEHAVIOUR = "episodes", "rewards", "behaviour"
"""Names of arrays; those of whole trajectories start with `TRAJECTORIES`."""
TRAJECTORIES = "trajectories/"
_FORMAT = b"brittlestar cell 2 "


class DamagedCellError(UserError):
    """A recorded cell is not what was written."""


class Record(NamedTuple):
    """A finished cell: its manifest and its arrays by name."""

    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray]


def digest(data: bytes | memoryview) -> str:
    """Returns 128 bits of the SHA-256 of some bytes, as text.

    Example:
        >>> digest(b"")
        'e3b0c44298fc1c149afbf4c8996fb924'
    """
    return hashlib.sha256(data).hexdigest()[:32]


def encode(manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Returns a cell as bytes; the manifest gets digest, type and shape of every array.

    Example:
        >>> decode(encode({"seed": 3}, {"episodes": np.eye(2)})).manifest["seed"]
        3
    """
    files, chunks = {}, []
    for name, array in arrays.items():
        chunks.append(np.ascontiguousarray(array).tobytes())
        files[name] = {"digest": digest(chunks[-1]), "type": array.dtype.str, "shape": list(array.shape)}
    head = json.dumps(manifest | {"files": files}).encode()
    return b"".join([_FORMAT, digest(head).encode(), b"\n", head, b"\n", *chunks])


def decode(data: bytes) -> Record:
    """Returns a cell from its bytes; raises `DamagedCellError` if any of them is not as it was written."""
    first, _, rest = data.partition(b"\n")
    head, _, body = rest.partition(b"\n")
    if not first.startswith(_FORMAT) or first[len(_FORMAT) :] != digest(head).encode():
        raise DamagedCellError("its manifest has another digest than it was written with")
    try:
        manifest = json.loads(head)
        arrays = read_arrays(manifest["files"], body)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise DamagedCellError("its manifest does not describe a cell") from None
    if sum(array.nbytes for array in arrays.values()) != len(body):
        raise DamagedCellError("it is longer than its arrays")
    return Record(manifest, arrays)


def read_arrays(files: dict[str, Any], body: bytes) -> dict[str, np.ndarray]:
    """Returns the arrays in some bytes, after a check of their digests."""
    arrays, start = {}, 0
    view = memoryview(body)
    for name, facts in files.items():
        stop = start + size(facts)
        if digest(view[start:stop]) != facts["digest"]:
            raise DamagedCellError(f"`{name}` has another digest than it was written with")
        arrays[name] = np.frombuffer(view[start:stop], dtype=facts["type"]).reshape(facts["shape"])
        start = stop
    return arrays


def size(facts: dict[str, Any]) -> int:
    """Returns the number of bytes of an array, from its type and shape.

    Example:
        >>> size({"type": "<f8", "shape": [2, 3]})
        48
    """
    count = np.dtype(facts["type"]).itemsize
    for length in facts["shape"]:
        count *= length
    return count
