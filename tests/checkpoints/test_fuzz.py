"""Many corrupt agents and statistics: each is read or refused in one line, in bounded memory."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from brittlestar.checkpoints import read_checkpoint, read_folder, read_statistics
from brittlestar.errors import UserError

BYTES = 50 << 20


def cut(rng, content):
    return content[: rng.integers(len(content) + 1)]


def flip(rng, content):
    changed = bytearray(content)
    for place in rng.integers(len(changed), size=rng.integers(1, 12)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def overwrite(rng, content):
    place, size = rng.integers(len(content)), rng.integers(1, 64)
    return content[:place] + rng.bytes(size) + content[place + size :]


def repeat(rng, content):
    first, last = sorted(rng.integers(len(content), size=2))
    return content[:last] + content[first:last] * int(rng.integers(1, 4)) + content[last:]


def enlarge(rng, content):
    """Writes a huge number, which may be read as a length, a size or a shape."""
    place = rng.integers(max(1, len(content) - 4))
    huge = [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\x40"][rng.integers(4)]
    return content[:place] + huge + content[place + 4 :]


MUTATIONS = [cut, flip, flip, overwrite, repeat, enlarge]


def entries_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def mutate_json(rng, content):
    """Gives one key of the JSON a value of another type, size or meaning."""
    data = json.loads(content)
    key = list(data)[rng.integers(len(data))]
    other = list(data.values())[rng.integers(len(data))]
    values = [None, -1, 1e308, "x", [], {}, [[[]]], {":type:": 3}, "[1. ... 2.]", 10**30, json.loads(json.dumps(other))]
    target = data[key] if isinstance(data[key], dict) and data[key] and rng.random() < 0.7 else data
    place = list(target)[rng.integers(len(target))] if target is not data else key
    target[place] = values[rng.integers(len(values))]
    return json.dumps(data).encode()


def mutate_agent(rng, content, build):
    """Corrupts the file itself, or an entry, or an entry of its torch file, with valid checksums."""
    depth = rng.integers(4)
    if depth == 0:
        return MUTATIONS[rng.integers(len(MUTATIONS))](rng, content)
    entries = entries_of(content)
    name = list(entries)[rng.integers(len(entries))] if depth == 1 else ["policy.pth", "data"][rng.integers(2)]
    if depth == 1 and rng.random() < 0.3:
        other = list(entries)[rng.integers(len(entries))]
        entries[name], entries[other] = entries[other], entries[name]
    elif name == "data" and depth > 1:
        entries[name] = mutate_json(rng, entries[name])
    elif depth == 3 and entries[name].startswith(b"PK"):
        inner = entries_of(entries[name])
        place = list(inner)[rng.integers(len(inner))] if rng.random() < 0.4 else next(iter(inner))
        inner[place] = MUTATIONS[rng.integers(len(MUTATIONS))](rng, inner[place] or b"\0")
        entries[name] = build.zipped(inner)
    else:
        entries[name] = MUTATIONS[rng.integers(len(MUTATIONS))](rng, entries[name] or b"\0")
    return build.zipped(entries)


def sources(build, marker):
    """Small files with a payload each, in both formats of torch."""
    payload = build.payloads(marker)
    evil = json.dumps(build.data(lr_schedule=build.serialized(build.finish(payload["os.system"])))).encode()
    zips = [
        build.zipped(build.agent()),
        build.zipped(build.agent(data=evil), zipfile.ZIP_DEFLATED),
        build.zipped(build.agent(data=evil, policy_pth=build.torch_legacy(build.weights()))),
    ]
    parts = {"a": build.rms([0.0, 1.0], [1.0, 2.0]), "b": build.rms([0.0], [1.0])}
    pickles = [
        build.statistics(old_reward=payload["os.system"]),
        build.statistics(build.mapping(parts), observation_space=payload["builtins.eval"]),
    ]
    return zips, pickles


def read_or_refuse(path) -> str | None:
    """Returns the message of a refusal; any other exception ends the test."""
    try:
        (read_checkpoint if path.suffix == ".zip" else read_statistics)(str(path))
    except UserError as error:
        return str(error)
    return None


@pytest.mark.parametrize("rounds", [500, pytest.param(2000, marks=pytest.mark.slow)])
def test_corrupt_files_are_read_or_refused(build, tmp_path, marker, agents_or_none, peak_memory, rounds):
    zips, pickles = sources(build, marker)
    if agents_or_none:
        car = "ppo/MountainCarContinuous-v0_1/MountainCarContinuous-v0/vecnormalize.pkl"
        zips.append((agents_or_none / "ars/CartPole-v1_1/CartPole-v1.zip").read_bytes())
        pickles.append((agents_or_none / car).read_bytes())
    rng = np.random.default_rng(20240917)
    refused = 0
    for turn in range(rounds):
        contents, name = (zips, "agent.zip") if turn % 2 else (pickles, "vecnormalize.pkl")
        content = contents[rng.integers(len(contents))]
        mutate = MUTATIONS[rng.integers(len(MUTATIONS))]
        content = mutate_agent(rng, content, build) if turn % 2 else mutate(rng, content)
        path = tmp_path / name
        path.write_bytes(content)
        message = read_or_refuse(path)
        if message is not None:
            refused += 1
            assert message.startswith(str(path)), (turn, message)
            assert message.isprintable(), (turn, message)
    assert rounds // 20 < refused < rounds - rounds // 20
    assert peak_memory() < BYTES


def test_corrupt_folders_are_read_or_refused(build, tmp_path, marker):
    scores = io.BytesIO()
    np.save(scores, np.arange(6.0).reshape(2, 3))
    tag = f"!!python/object/apply:os.system ['touch {marker}']"
    files = {
        "evaluations.npz": build.zipped({"results.npy": scores.getvalue()}),
        "config.yml": f"normalize: dict(norm_obs=False)\nenv_wrapper: [a.B, {{c.D: {{}}}}]\nother: {tag}\n".encode(),
        "args.yml": b"!!python/object/apply:collections.OrderedDict\n- - - algo\n    - ppo\n  - - env\n    - A-v1\n",
    }
    (tmp_path / "a.zip").write_bytes(b"")
    rng = np.random.default_rng(5)
    refused = 0
    for turn in range(600):
        name = list(files)[turn % 3]
        changed = MUTATIONS[rng.integers(len(MUTATIONS))](rng, files[name])
        if name.endswith("npz") and rng.random() < 0.7:
            changed = build.zipped({"results.npy": MUTATIONS[turn % len(MUTATIONS)](rng, scores.getvalue())})
        for other, content in (files | {name: changed}).items():
            (tmp_path / other).write_bytes(content)
        try:
            read_folder(tmp_path)
        except UserError as error:
            refused += 1
            message = str(error)
        else:
            message = name
        # A corrupt `normalize` may need statistics.
        assert (name in message or "vecnormalize.pkl is missing" in message) and message.isprintable(), (turn, message)
    assert 30 < refused < 570
