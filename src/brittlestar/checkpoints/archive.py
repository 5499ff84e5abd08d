"""Reads the zip of a Stable-Baselines3 agent as data: JSON text and tensors, no pickled objects."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.algorithms import find_algorithm, squashes
from brittlestar.checkpoints.files import existing
from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.spaces_text import Space, read_space
from brittlestar.checkpoints.weights import read_weights
from brittlestar.checkpoints.zip_entries import ZipEntries

MAX_JSON_BYTES = 16 << 20
MAX_POLICY_BYTES = 512 << 20
MAX_FRAMES = 64
"""Most stacked observations of a file that states their number."""

_ACTIVATION = re.compile(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>")
_CLASS = re.compile(r"<class '([\w.]+)'>")
_SERIALIZED = ":serialized:"


@dataclass(frozen=True)
class Checkpoint:
    """Settings and weights of an agent."""

    path: str
    algorithm: str | None
    """One of `ALGORITHMS`, or None if the file does not determine it; for HER, the algorithm inside it."""
    policy_class: str
    observation_space: Space
    action_space: Space
    net_arch: Any
    """Widths of the layers as the user set them; None is the default."""
    activation: str | None
    """`tanh`, `relu`, `leaky_relu`, ..., or the text of another value (a lambda); None is the default."""
    use_sde: bool
    squash_output: bool
    """Whether the actor ends in a tanh scaled to the bounds."""
    features_extractor: str | None
    """Module and class of the features extractor, if the user set it."""
    normalize_images: bool
    """Whether images of bytes are divided by 255."""
    exploration_rate: float | None
    num_timesteps: int | None
    frame_stack: int
    """Number of stacked observations in training, where the file states it; 1 otherwise."""
    weights: dict[str, np.ndarray]
    versions: dict[str, str]
    pickles: list[str]
    """Parts that Stable-Baselines3 would unpickle, which can run code."""


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Reads the zip of an agent without running code from it."""
    place = existing(path)
    try:
        with place.open("rb") as file:
            return _read(ZipEntries(file, str(place)), str(place))
    except OSError as error:
        raise unreadable(str(place), error.strerror or error) from None


def _read(entries: ZipEntries, path: str) -> Checkpoint:
    for name in ("data", "policy.pth"):
        if name not in entries.names:
            raise unreadable(path, f"it has no entry `{name}`, so it is not a Stable-Baselines3 agent")
    where = entries.place("data")
    data = _read_json(entries.read("data", MAX_JSON_BYTES), where)
    kwargs: Any = data.get("policy_kwargs")
    kwargs = kwargs if isinstance(kwargs, dict) else {}
    policy_class = _policy_class(data.get("policy_class"))
    observation_space, action_space = (
        read_space(data.get(key), f"{where} key `{key}`,") for key in ("observation_space", "action_space")
    )
    weights = read_weights(entries.read("policy.pth", MAX_POLICY_BYTES), entries.place("policy.pth"))
    algorithm, steps = find_algorithm(policy_class, data, weights), data.get("num_timesteps")
    return Checkpoint(
        path=path,
        algorithm=algorithm,
        policy_class=policy_class,
        observation_space=observation_space,
        action_space=action_space,
        net_arch=kwargs.get("net_arch"),
        activation=_activation(kwargs.get("activation_fn")),
        use_sde=data.get("use_sde") is True or kwargs.get("use_sde") is True,
        squash_output=isinstance(action_space, spaces.Box) and squashes(algorithm, policy_class, kwargs),
        features_extractor=_class_name(kwargs.get("features_extractor_class")),
        normalize_images=kwargs.get("normalize_images") is not False,
        exploration_rate=_number(data.get("exploration_rate")),
        frame_stack=_frames(data.get("frame_stack")),
        num_timesteps=steps if type(steps) is int and 0 <= steps < 1 << 62 else None,
        weights=weights,
        versions=_versions(entries),
        pickles=_pickles(entries, data),
    )


def _read_json(content: bytes, where: str) -> dict[str, Any]:
    try:
        data = json.loads(content)
    except RecursionError:
        raise unreadable(where, "its JSON is nested too deeply") from None
    except ValueError as error:
        raise unreadable(where, f"it is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise unreadable(where, f"its JSON must be an object, got a {type(data).__name__}")
    return data


def _policy_class(entry: Any) -> str:
    """Returns module and class, the latter from the text of a method: `<function SACPolicy.__init__ at ...>`."""
    if not isinstance(entry, dict):
        return printable(entry) if isinstance(entry, str) else "unknown"
    texts = [entry.get("__init__"), *entry.values()]
    owners = (re.match(r"<function (\w+)\.\w+ at ", text[:200]) for text in texts if isinstance(text, str))
    owner = next((match[1] for match in owners if match), "")
    module = entry.get("__module__")
    return printable(".".join(part for part in (module if isinstance(module, str) else "unknown", owner) if part))


def _activation(text: Any) -> str | None:
    if text is None:
        return None
    match = _ACTIVATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return printable(text)
    spelled = re.sub(r"(?:Re|Si|RRe|PRe)LU", lambda part: part[0].capitalize(), match[1])
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", spelled).lower()


def _frames(value: Any) -> int:
    return value if type(value) is int and 1 <= value <= MAX_FRAMES else 1


def _class_name(text: Any) -> str | None:
    if text is None:
        return None
    match = _CLASS.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match else printable(text)


def _number(value: Any) -> float | None:
    valid = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if valid and math.isfinite(value) else None


def _versions(entries: ZipEntries) -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in ("system_info.txt", "_stable_baselines3_version"):
        if name not in entries.names:
            continue
        text = entries.read(name, 1 << 16).decode("utf-8", "replace")
        lines = text.splitlines()[:50] if name == "system_info.txt" else [f"stable_baselines3: {text.strip()}"]
        pairs = [line.lstrip("- ").partition(": ") for line in lines]
        versions |= {printable(key, 40): printable(value) for key, _, value in pairs if value}
    return versions


def _pickles(entries: ZipEntries, data: dict[str, Any]) -> list[str]:
    keys = [printable(key) for key, value in data.items() if isinstance(value, dict) and _SERIALIZED in value]
    return [*(f"data: {key}" for key in keys), *(printable(name) for name in entries.names if name.endswith(".pth"))]
