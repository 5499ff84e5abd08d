"""Writes agents, torch files and statistics by hand: opcodes of pickles as bytes, so that no torch is needed."""

from __future__ import annotations

import base64
import io
import json
import pickle
import struct
import zipfile

import numpy as np

STORAGES = {"f4": "Float", "f8": "Double", "f2": "Half", "i8": "Long", "i4": "Int", "u1": "Byte", "b1": "Bool"}
BOX = {":type:": "<class 'gym.spaces.box.Box'>", "dtype": "float32", "_shape": [3]}
OBSERVATIONS = BOX | {"low": "[-1. -1. -8.]", "high": "[1. 1. 8.]"}
ACTIONS = BOX | {"_shape": [1], "low": "[-2.]", "high": "[2.]"}


def text(value: str) -> bytes:
    content = value.encode()
    return b"X" + struct.pack("<I", len(content)) + content


def number(value: int) -> bytes:
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content


def row(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def numbers(values) -> bytes:
    return row(*map(number, values))


def named(name: str) -> bytes:
    module, _, last = name.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def call(name: str, *parts: bytes) -> bytes:
    return named(name) + row(*parts) + b"R"


def instance(name: str, state: bytes) -> bytes:
    return named(name) + b")\x81" + state + b"b"


def mapping(parts: dict[str, bytes]) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in parts.items()) + b"u"


def plain(value) -> bytes:
    """The opcodes of a value that Python pickles by itself, such as an array."""
    return pickle.dumps(value, protocol=2)[2:-1]


def finish(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


def tensor(key: str, storage: str, count: int, shape, strides, offset=0, tail: bytes = b"") -> bytes:
    where = row(text("storage"), named(f"torch.{storage}Storage"), text(key), text("cpu"), number(count), tail) + b"Q"
    parts = (where, number(offset), numbers(shape), numbers(strides), b"\x89", call("collections.OrderedDict"))
    return call("torch._utils._rebuild_tensor_v2", *parts)


def steps(array: np.ndarray) -> list[int]:
    return [step // array.itemsize for step in array.strides]


def torch_zip(arrays: dict, order="little", extra: dict[str, bytes] | None = None, body: bytes | None = None) -> bytes:
    """A torch file in the zip format; `extra` adds entries to the state dict, `body` replaces it."""
    sign = "<" if order == "little" else ">"
    parts = {}
    for place, (name, array) in enumerate(arrays.items()):
        kind = array.dtype.str[1:]
        parts[name] = tensor(str(place), STORAGES[kind], array.size, array.shape, steps(array))
    state = body or call("collections.OrderedDict") + mapping(parts | (extra or {}))[1:]
    entries = {"archive/data.pkl": finish(state), "archive/byteorder": order.encode()}
    for place, array in enumerate(arrays.values()):
        entries[f"archive/data/{place}"] = array.astype(array.dtype.newbyteorder(sign)).tobytes()
    return zipped(entries)


def torch_legacy(arrays: dict) -> bytes:
    """A torch file as before torch 1.6."""
    parts, contents = {}, b""
    for place, (name, array) in enumerate(arrays.items()):
        kind = STORAGES[array.dtype.str[1:]]
        parts[name] = tensor(f"{place}", kind, array.size, array.shape, steps(array), tail=b"N")
        contents += struct.pack("<q", array.size) + array.tobytes()
    heads = [plain(0x1950A86A20F9469CFC6C), plain(1001), plain({"little_endian": True}), mapping(parts)]
    heads.append(plain([f"{place}" for place in range(len(arrays))]))
    return b"".join(map(finish, heads)) + contents


def zipped(entries: dict[str, bytes], compression=zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"mlp_extractor.policy_net.0": (4, 3), "mlp_extractor.value_net.0": (4, 3), "action_net": (1, 4)}
    arrays = {}
    for name, shape in shapes.items():
        arrays[f"{name}.weight"] = rng.standard_normal(shape).astype(np.float32)
        arrays[f"{name}.bias"] = rng.standard_normal(shape[0]).astype(np.float32)
    return arrays


def data(**changes) -> dict:
    policy = {
        "__module__": "stable_baselines3.common.policies",
        "__init__": "<function ActorCriticPolicy.__init__ at 0>",
    }
    entry = {
        "policy_class": {":type:": "<class 'abc.ABCMeta'>", ":serialized:": "gAU=", **policy},
        "policy_kwargs": {"net_arch": [4], "activation_fn": "<class 'torch.nn.modules.activation.ReLU'>"},
        "observation_space": OBSERVATIONS | {":serialized:": "gAU="},
        "action_space": ACTIONS | {":serialized:": "gAU="},
        "clip_range": {":type:": "<class 'function'>", ":serialized:": "gAU="},
        "num_timesteps": 1000,
        "use_sde": False,
        "gamma": 0.9,
    }
    return entry | changes


def serialized(payload: bytes) -> dict:
    return {":type:": "<class 'function'>", ":serialized:": base64.b64encode(payload).decode()}


def agent(**changes) -> dict[str, bytes]:
    """The entries of a PPO agent; a change of None leaves an entry out."""
    entries = {
        "data": json.dumps(data()).encode(),
        "policy.pth": torch_zip(weights()),
        "policy.optimizer.pth": b"not read",
        "_stable_baselines3_version": b"2.4.0",
        "system_info.txt": b"- OS: Linux\n- Python: 3.11.7\n- Numpy: 2.0.0\n",
    }
    for name, content in changes.items():
        entries[name.replace("policy_pth", "policy.pth")] = content
    return {name: content for name, content in entries.items() if content is not None}


def rms(mean, var, count=10.0, /, **fields: bytes) -> bytes:
    state = {"mean": plain(np.asarray(mean)), "var": plain(np.asarray(var)), "count": plain(count)} | fields
    return instance("stable_baselines3.common.running_mean_std.RunningMeanStd", mapping(state))


def statistics(obs_rms: bytes | None = None, shape=(3,), **changes: bytes | None) -> bytes:
    space = instance("gym.spaces.box.Box", mapping({"_shape": numbers(shape), "dtype": plain(np.dtype("f4"))}))
    state = {
        "observation_space": space,
        "obs_rms": obs_rms or rms([0.0, 1.0, 2.0], [1.0, 4.0, 0.5]),
        "ret_rms": rms(0.0, 1.0),
        "epsilon": plain(1e-8),
        "clip_obs": plain(10.0),
        "norm_obs": plain(True),
        "norm_reward": plain(False),
    } | changes
    state = {name: value for name, value in state.items() if value is not None}
    return finish(instance("stable_baselines3.common.vec_env.vec_normalize.VecNormalize", mapping(state)))


def payloads(marker) -> dict[str, bytes]:
    """Opcodes that would create the marker's file, if anything in them were called."""
    shell, source = text(f"touch {marker}"), text(f"open({str(marker)!r}, 'w').close()")
    array = row(number(1), numbers([1]), plain(np.dtype("f4")), b"\x89", call("posix.system", shell))
    return {
        "os.system": call("os.system", shell),
        "posix.system": call("posix.system", shell),
        "builtins.eval": call("builtins.eval", source),
        "builtins.exec": call("builtins.exec", source),
        "subprocess": call("subprocess.check_output", row(shell)),
        "getattr": call("builtins.getattr", named("posix.system"), text("__call__")) + row(shell) + b"R",
        "partial": call("functools.partial", named("posix.system"), shell) + b")R",
        "stack_global": text("posix") + text("system") + b"\x93" + row(shell) + b"R",
        "inst": b"(" + shell + b"iposix\nsystem\n",
        "obj": b"(" + named("posix.system") + shell + b"o",
        "newobj": named("posix.system") + row(shell) + b"\x81",
        "newobj_ex": named("posix.system") + row(shell) + b"}\x92",
        "setstate": instance("builtins.object", mapping({"__setstate__": named("posix.system")})) + shell + b"b",
        "reduce_ex": instance("some.Class", mapping({"__reduce_ex__": named("posix.system")})) + row(shell) + b"R",
        "reconstruct": call("numpy.core.multiarray._reconstruct", named("posix.system"), numbers([0]), plain("b")),
        "array state": call("numpy.core.multiarray._reconstruct", named("numpy.ndarray"), numbers([0])) + array + b"b",
        "scalar": call("numpy.core.multiarray.scalar", named("posix.system"), shell),
        "codecs": call("_codecs.encode", source, text("unicode_escape")),
        "numpy loads": call("numpy.load", shell),
        "pickle loads": call("pickle.loads", plain(finish(call("posix.system", shell)))),
        "torch loads": call("torch.storage._load_from_bytes", plain(finish(call("posix.system", shell)))),
        "persistent id": call("posix.system", shell) + b"Q",
        "extension": b"\x82\x01",
    }
