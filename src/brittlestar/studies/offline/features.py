"""Features of episodes: what time warping and the Fréchet distance compare."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from brittlestar.envs.batches import entries
from brittlestar.errors import UserError, nearest
from brittlestar.training.recordings import RecordedEpisode

MOST_NUMBERS = 2000
"""An observation with more numbers, such as an image, needs a function of the user."""
_LEAST_SHARE = 0.01
"""Least unit of a number, as a share of the pooled unit of its entry: numbers that hardly vary must not count most."""

Features = Callable[[RecordedEpisode], np.ndarray]
"""Returns one feature vector for the episode, `(size,)`, or one for each of its steps or clips, `(n, size)`."""


def observed_numbers(episodes: Sequence[RecordedEpisode]) -> Features:
    """Returns the default: the observation of every step, centred and divided by its spread in the given episodes."""
    parts = {key: np.concatenate([_rows(each, key) for each in episodes]) for key in entries(episodes[0].observations)}
    if sum(part.shape[1] for part in parts.values()) > MOST_NUMBERS:
        raise UserError(f"observations of more than {MOST_NUMBERS} numbers need features: `--features module:function`")
    scales = {key: (part.mean(axis=0), _units(part)) for key, part in parts.items()}

    def features(episode: RecordedEpisode) -> np.ndarray:
        scaled = [(_rows(episode, key) - mean) / unit for key, (mean, unit) in sorted(scales.items())]
        return np.concatenate(scaled, axis=1)

    return features


def _rows(episode: RecordedEpisode, key: str) -> np.ndarray:
    return np.asarray(entries(episode.observations)[key], dtype=np.float64).reshape(len(episode), -1)


def _units(rows: np.ndarray) -> np.ndarray:
    spread = rows.std(axis=0)
    unit = np.maximum(spread, _LEAST_SHARE * np.sqrt(np.mean(spread**2)))
    return np.where(unit > 0, unit, 1.0)


def named_features(path: str) -> Features:
    """Returns features by a function of the user, `module:function`, of observations and actions of one episode."""
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise UserError(f"`--features` must look like `module:function`, got `{path}`")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"`--features {path}` cannot be imported: {error}") from None
    function: Any = getattr(module, name, None)
    if not callable(function):
        public = [each for each in dir(module) if not each.startswith("_")]
        raise UserError(f"`--features`: {module_name} has no function `{name}`; {nearest(name, public)}")

    def features(episode: RecordedEpisode) -> np.ndarray:
        values = np.asarray(function(episode.observations, episode.actions), dtype=np.float64)
        if values.ndim not in (1, 2) or not values.size or not np.isfinite(values).all():
            raise UserError(f"`{path}` must return finite numbers of shape (size,) or (n, size), got {values.shape}")
        return values

    return features


def feature_sets(episodes: Sequence[RecordedEpisode], features: Features) -> list[np.ndarray]:
    """Returns the features of every episode, `(n, size)` each."""
    rows = [np.atleast_2d(features(episode)) for episode in episodes]
    sizes = {row.shape[1] for row in rows}
    if len(sizes) > 1:
        raise UserError(f"features must have one size, got {', '.join(map(str, sorted(sizes)))} numbers")
    return rows
