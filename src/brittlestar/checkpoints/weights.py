"""Reads the tensors of a torch file as numpy arrays, without torch and without running code from the file."""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_arrays import checked_shape
from brittlestar.checkpoints.safe_pickle import read_pickle
from brittlestar.checkpoints.stubs import Global, name_of
from brittlestar.checkpoints.zip_entries import ZipEntries

MAX_WEIGHT_BYTES = 1 << 30
"""Largest total size of all tensors."""
MAX_TENSOR_LIST_BYTES = 64 << 20
"""Largest list of tensors; their numbers are stored separately."""

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_VERSION = 1001
_BFLOAT16 = "bfloat16"
_TYPES = {
    "Float": "f4", "Double": "f8", "Half": "f2", "BFloat16": _BFLOAT16, "Byte": "u1", "Char": "i1", "Short": "i2",
    "Int": "i4", "Long": "i8", "Bool": "b1", "ComplexFloat": "c8", "ComplexDouble": "c16",
}  # fmt: skip
_STORAGES = {f"torch.{name}Storage": kind for name, kind in _TYPES.items()}


@dataclass(frozen=True)
class _Storage:
    kind: str
    key: str
    count: int

    @property
    def itemsize(self) -> int:
        return 2 if self.kind == _BFLOAT16 else np.dtype(self.kind).itemsize


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_weights(content: bytes, name: str) -> dict[str, np.ndarray]:
    """Returns the tensors of a torch state dict by name; `name` is that of file and entry for messages.

    Half and bfloat16 become float32; other types remain. It reads both formats of torch: the zip, and the plain pickle
    of versions before 1.6.
    """
    read = _open_zip if content.startswith(b"PK") else _open_legacy
    state, load, order = read(io.BytesIO(content), name)
    if not isinstance(state, dict):
        raise unreadable(name, f"it holds {printable(name_of(state), 80)}, not a dict of tensors")
    return _arrays(state, load, order, name)


def _open_zip(stream: BinaryIO, name: str) -> tuple[Any, Callable[[_Storage], bytes], str]:
    entries = ZipEntries(stream, name)
    pickles = [entry for entry in entries.names if entry.endswith("/data.pkl") and entry.count("/") == 1]
    if len(pickles) != 1:
        raise unreadable(name, f"{len(pickles)} entries `data.pkl`, a torch file has one")
    folder = pickles[0].removesuffix("data.pkl")
    order = entries.read(f"{folder}byteorder", 16) if f"{folder}byteorder" in entries.names else b"little"
    if order not in (b"little", b"big"):
        raise unreadable(entries.place(f"{folder}byteorder"), f"byte order {order!r}")
    state = _unpickle(entries.read(pickles[0], MAX_TENSOR_LIST_BYTES), entries.place(pickles[0]))
    return state, lambda storage: entries.read(f"{folder}data/{storage.key}"), "<" if order == b"little" else ">"


def _open_legacy(stream: BinaryIO, name: str) -> tuple[Any, Callable[[_Storage], bytes], str]:
    magic, version, system = (read_pickle(stream, name) for _ in range(3))
    if (magic, version) != (_LEGACY_MAGIC, _LEGACY_VERSION):
        raise unreadable(name, "it is not a torch file; if Stable-Baselines3 can load it, set `policy.trust=true`")
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise unreadable(name, "an old torch file of another byte order; `policy.trust=true` lets torch load it")
    state = _unpickle(stream, name)
    keys = read_pickle(stream, name)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise unreadable(name, "its list of storages is damaged")
    sizes = {value.storage.key: value.storage for value in _tensors(state)}
    contents = {}
    for key in keys:
        if key not in sizes:
            raise unreadable(name, f"a storage `{printable(key, 30)}` of no tensor")
        if stream.read(8) != sizes[key].count.to_bytes(8, "little"):
            raise unreadable(name, f"storage `{printable(key, 30)}` has another size than its tensors state")
        contents[key] = stream.read(sizes[key].count * sizes[key].itemsize)
    return state, lambda storage: contents.get(storage.key, b""), "<"


def _unpickle(file: bytes | BinaryIO, where: str) -> Any:
    torch = "torch._utils"
    calls = {
        f"{torch}._rebuild_tensor": _tensor,
        f"{torch}._rebuild_tensor_v2": _tensor,
        f"{torch}._rebuild_parameter": lambda arguments: arguments[0],
        f"{torch}._rebuild_parameter_with_state": lambda arguments: arguments[0],
    }
    return read_pickle(file, where, calls, _storage)


def _storage(identifier: Any) -> _Storage:
    if not isinstance(identifier, tuple) or len(identifier) not in (5, 6) or identifier[0] != "storage":
        raise ValueError("a persistent id must be a storage")
    kind, key, _, count = identifier[1:5]
    if not isinstance(kind, Global) or kind.name not in _STORAGES:
        raise ValueError(f"storage of {printable(name_of(kind), 80)}; `policy.trust=true` lets torch load it")
    if identifier[5:] not in ((), (None,)):
        raise ValueError("storage that views another; `policy.trust=true` lets torch load it")
    if not isinstance(key, str) or len(key) > 100 or "/" in key:
        raise ValueError("name of a storage")
    return _Storage(_STORAGES[kind.name], key, checked_shape(count)[0])


def _tensor(arguments: tuple[Any, ...]) -> _Tensor:
    storage, offset, shape, strides = arguments[:4]
    sizes, steps = checked_shape(shape), checked_shape(strides)
    if not isinstance(storage, _Storage) or len(sizes) != len(steps):
        raise ValueError("parts of a tensor")
    last = checked_shape(offset)[0] + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    if math.prod(sizes) and last >= storage.count:
        raise ValueError(f"a tensor of {sizes} reaches beyond its {storage.count} numbers")
    return _Tensor(storage, offset, sizes, steps)


def _tensors(state: Any) -> list[_Tensor]:
    return [value for value in state.values() if isinstance(value, _Tensor)] if isinstance(state, dict) else []


def _arrays(state: dict[Any, Any], load: Callable[[_Storage], bytes], order: str, name: str) -> dict[str, np.ndarray]:
    for key, value in state.items():
        if not isinstance(key, str) or not isinstance(value, _Tensor):
            raise unreadable(name, f"`{printable(key, 60)}` is {printable(name_of(value), 80)}, not a tensor")
    # Tensors may share a storage, so a small file can need much memory.
    total = sum(math.prod(tensor.shape) * max(4, tensor.storage.itemsize) for tensor in _tensors(state))
    if total > MAX_WEIGHT_BYTES:
        raise unreadable(name, f"its tensors need {total} bytes, at most {MAX_WEIGHT_BYTES} are read")
    storages = dict.fromkeys(tensor.storage for tensor in _tensors(state))
    numbers = {storage: _numbers(load(storage), storage, order, name) for storage in storages}
    return {key: _view(value, numbers[value.storage]) for key, value in state.items()}


def _numbers(content: bytes, storage: _Storage, order: str, name: str) -> np.ndarray:
    if len(content) < storage.count * storage.itemsize:
        raise unreadable(name, f"storage `{printable(storage.key, 30)}` is cut off")
    if storage.kind == _BFLOAT16:
        halves = np.frombuffer(content, f"{order}u2", storage.count).astype(np.uint32)
        return (halves << 16).view(np.float32)
    values = np.frombuffer(content, np.dtype(storage.kind).newbyteorder(order), storage.count)  # type: ignore[arg-type]
    return values.astype(np.float32 if storage.kind == "f2" else np.dtype(storage.kind))


def _view(tensor: _Tensor, numbers: np.ndarray) -> np.ndarray:
    if not math.prod(tensor.shape):
        return np.zeros(tensor.shape, numbers.dtype)
    steps = [step * numbers.itemsize for step in tensor.strides]
    return np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, steps).copy()
