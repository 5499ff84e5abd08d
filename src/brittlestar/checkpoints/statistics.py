"""Reads the running mean and variance of a `VecNormalize` pickle as data."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.checkpoints.files import existing, read_file
from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_pickle import MAX_PICKLE_BYTES, read_pickle
from brittlestar.checkpoints.stubs import Stub


@dataclass(frozen=True)
class Statistics:
    """How observations were normalised: `clip((x - mean) / sqrt(var + epsilon), -clip, clip)`."""

    mean: dict[str, np.ndarray]
    """By key of the observation, `""` for a plain one; empty without `norm_obs`."""
    var: dict[str, np.ndarray]
    epsilon: float
    clip: float
    norm_obs: bool
    norm_reward: bool
    count: float
    """Number of observations in the statistics, the smallest of all keys."""


def read_statistics(path: str | Path) -> Statistics:
    """Reads a file of `VecNormalize.save` without running code from it."""
    place = existing(path)
    where = str(place)
    saved = read_pickle(read_file(place, MAX_PICKLE_BYTES), where)
    if not isinstance(saved, Stub) or not isinstance(saved.state, dict):
        name = printable(saved.name, 80) if isinstance(saved, Stub) else type(saved).__name__
        raise unreadable(where, f"it holds `{name}`, not a VecNormalize with its state")
    norm_obs = _flag(saved, "norm_obs", where)
    parts = _parts(saved, where) if norm_obs else {}
    moments = {key: _moments(part, _place(where, key)) for key, part in parts.items()}
    _check_shapes(saved, moments, where)
    return Statistics(
        mean={key: mean for key, (mean, _, _) in moments.items()},
        var={key: var for key, (_, var, _) in moments.items()},
        epsilon=_number(saved.get("epsilon"), f"{where}, `epsilon`,"),
        clip=_number(saved.get("clip_obs"), f"{where}, `clip_obs`,"),
        norm_obs=norm_obs,
        norm_reward=_flag(saved, "norm_reward", where),
        count=min((count for _, _, count in moments.values()), default=0.0),
    )


def _parts(saved: Stub, where: str) -> dict[str, Any]:
    rms = saved.get("obs_rms")
    parts = rms if isinstance(rms, dict) else {"": rms}
    if not parts or not all(isinstance(key, str) for key in parts):
        raise unreadable(where, "`obs_rms` has no keys of observations")
    return parts


def _moments(part: Any, where: str) -> tuple[np.ndarray, np.ndarray, float]:
    if not isinstance(part, Stub):
        raise unreadable(where, f"the running mean is a {type(part).__name__}")
    mean, var = (_array(part.get(name), f"{where} `{name}`,") for name in ("mean", "var"))
    if mean.shape != var.shape:
        raise unreadable(where, f"the mean has shape {mean.shape}, the variance {var.shape}")
    if (var < 0).any():
        raise unreadable(where, f"the variance is negative: {var.min():g}")
    return mean, var, _number(part.get("count"), f"{where} `count`,")


def _array(value: Any, where: str) -> np.ndarray:
    if not isinstance(value, (np.ndarray, np.floating)) or value.dtype.kind not in "fiu":
        raise unreadable(where, f"it is a {type(value).__name__}, not an array of numbers")
    array = np.array(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise unreadable(where, "it has entries that are not finite")
    return array


def _check_shapes(saved: Stub, moments: dict[str, tuple[np.ndarray, np.ndarray, float]], where: str) -> None:
    space = saved.get("observation_space")
    inner = space.get("spaces") if isinstance(space, Stub) else None
    for key, (mean, _, _) in moments.items():
        part = inner.get(key) if key and isinstance(inner, dict) else space
        shape = part.get("_shape", part.get("shape")) if isinstance(part, Stub) else None
        if isinstance(shape, tuple) and shape != mean.shape:
            raise unreadable(
                _place(where, key), f"the mean has shape {mean.shape}, observations {printable(shape, 60)}"
            )


def _place(where: str, key: str) -> str:
    return f"{where}, `obs_rms{f'[{printable(key, 40)}]' if key else ''}`,"


def _flag(saved: Stub, name: str, where: str) -> bool:
    value = saved.get(name)
    if not isinstance(value, bool):
        raise unreadable(where, f"`{name}` must be true or false, got a {type(value).__name__}")
    return value


def _number(value: Any, where: str) -> float:
    number = math.nan
    # An int from a file may be too large for a float.
    if isinstance(value, (float, np.floating, np.integer)) or (type(value) is int and abs(value) < 1 << 1000):
        number = float(value)
    if not number >= 0:
        raise unreadable(where, f"it must be a number from 0, got {number:g} ({type(value).__name__})")
    return number
