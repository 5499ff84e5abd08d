"""Data sets of Minari, by their id or by their folder."""

import importlib.util
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import MissingFileError, UserError, nearest_file
from brittlestar.training.recordings import RecordedEpisode, Recording, read_npz

_INSTALL = "pip install brittlestar[minari]"


def read_recording(word: str, most: int | None = None) -> Recording:
    """Reads recorded episodes and checks them.

    Args:
        word: an `.npz` file, a folder of a Minari data set, or the id of a local one.
        most: how many episodes to read at most.
    """
    place = Path(word).expanduser()
    if place.is_file():
        recording = read_npz(place)
        recording = recording if most is None else recording.first(most)
    elif place.is_dir() or re.fullmatch(r"[\w/-]+-v\d+", word):
        recording = _read_minari(word, place, most)
    else:
        hint = nearest_file(place.name, (file.name for file in place.absolute().parent.glob("*.npz")))
        raise MissingFileError(f"there is no recording {word}, neither a file nor a Minari data set `name-v0`{hint}")
    for number, episode in enumerate(recording.episodes):
        _check(episode, f"episode {number} of {recording.name}")
    return recording


def _read_minari(word: str, place: Path, most: int | None) -> Recording:
    if importlib.util.find_spec("minari") is None:
        raise UserError(f"{word} is a Minari data set, which needs minari: `{_INSTALL}`")
    with warnings.catch_warnings():
        # It warns about versions of packages that made the data set.
        warnings.simplefilter("ignore")
        import minari

        try:
            data: Any = minari.MinariDataset(_data_folder(place)) if place.is_dir() else minari.load_dataset(word)
            env = data.env_spec.id if data.env_spec is not None else None
            limit = data.env_spec.max_episode_steps if data.env_spec is not None else None
            episodes = [_episode(each, word) for each in data.iterate_episodes(data.episode_indices[:most])]
        except FileNotFoundError:
            raise MissingFileError(f"there is no local Minari data set {word}: `minari download {word}`") from None
        except ImportError as error:
            raise UserError(f"{word} cannot be read: {' '.join(str(error).split())}; `{_INSTALL}`") from None
        except (ValueError, KeyError, OSError) as error:
            raise UserError(f"{word} is no Minari data set: {' '.join(str(error).split())}") from None
    if not episodes:
        raise UserError(f"{word} has no episode")
    return Recording(episodes, word, env, limit, own_spaces=(data.observation_space, data.action_space))


def _data_folder(place: Path) -> Path:
    return place / "data" if (place / "data").is_dir() else place


def _episode(data: Any, word: str) -> RecordedEpisode:
    observed = data.observations
    if isinstance(observed, tuple) or (
        isinstance(observed, dict) and any(isinstance(v, dict) for v in observed.values())
    ):
        raise UserError(f"{word} has observations of {type(observed).__name__}s in each other, which are not supported")
    steps = len(data.rewards)
    # A data set also has the observation after the last action.
    seen = {key: part[:steps] for key, part in observed.items()} if isinstance(observed, dict) else observed[:steps]
    return RecordedEpisode(seen, np.asarray(data.actions), np.asarray(data.rewards))


def _check(episode: RecordedEpisode, where: str) -> None:
    parts = episode.observations if isinstance(episode.observations, dict) else {"observations": episode.observations}
    for name, array in {**parts, "actions": episode.actions}.items():
        if array.dtype.kind not in "fiub":
            raise UserError(f"{where}: `{name}` must be numbers, got {array.dtype}")
        if len(array) != len(episode):
            raise UserError(f"{where}: `{name}` must have {len(episode)} steps, got {len(array)}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UserError(f"{where}: `{name}` has a value that is not a finite number")


def check_spaces_fit(recording: Recording, observation_space: spaces.Space, action_space: spaces.Space) -> None:
    """Refuses a recording whose observations or actions have another shape than those of an environment."""
    episode = recording.episodes[0]
    parts = episode.observations if isinstance(episode.observations, dict) else {"": episode.observations}
    wanted = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {"": observation_space}
    missing = [key for key in wanted if key not in parts]
    if missing:
        got = ", ".join(filter(None, parts)) or "plain observations"
        need = f"the entry `{missing[0]}`" if missing[0] else "plain observations"
        raise UserError(f"the environment observes {need}, but {recording.name} has {got}")
    pairs = {f"observations {key}".strip(): (parts[key], space) for key, space in wanted.items()}
    for name, (array, space) in {**pairs, "actions": (episode.actions, action_space)}.items():
        if array.shape[1:] != (space.shape or ()):
            raise UserError(
                f"the environment has {name} of shape {space.shape or ()}, but {recording.name} has {array.shape[1:]}"
            )
    if isinstance(action_space, spaces.Box):
        actions = np.concatenate([each.actions for each in recording.episodes])
        margin = 1e-4 * np.maximum(1.0, np.abs(action_space.high))
        if ((actions < action_space.low - margin) | (actions > action_space.high + margin)).any():
            raise UserError(f"{recording.name} has actions outside of the environment's bounds: are they in its units?")
    elif not np.issubdtype(episode.actions.dtype, np.integer):
        raise UserError(
            f"the environment has whole actions {action_space}, but {recording.name} {episode.actions.dtype}"
        )
