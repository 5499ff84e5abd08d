"""Replayed episodes as recordings for the Rerun viewer, which is an extra: `pip install 'brittlestar[rerun]'`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.cells.replay import Moment, Replay
from brittlestar.errors import UserError
from brittlestar.reports.film_sheet import last_picture

_JPEG_QUALITY = 90


def load_rerun() -> Any:
    """Imports the SDK; raises a `UserError` if it is not installed."""
    try:
        import rerun
    except ImportError as error:
        raise UserError(f"`--rerun` needs the Rerun SDK: pip install 'brittlestar[rerun]' ({error})") from None
    return rerun


def write_rerun(path: Path, replays: Mapping[str, Replay], title: str) -> None:
    """Writes replays to one recording; the name of each is the first part of its paths, unless it is empty.

    A recording has the pictures of the environment, the observation as it was and as the policy saw it, actions as
    they were commanded and executed, reward, reward so far, and level of the stress: over the steps of the episode,
    and over simulated time where a step has a known duration.
    """
    rerun = load_rerun()
    write_file(path, lambda file: _write(rerun, file.name, replays, title))


def _write(rerun: Any, path: str, replays: Mapping[str, Replay], title: str) -> None:
    stream = rerun.RecordingStream("brittlestar")
    stream.save(path)
    stream.send_recording_name(title)
    for name, again in replays.items():
        root = f"{name}/" if name else ""
        text = "\n".join([f"# {title}", "", *(f"- {key}: {value:g}" for key, value in again.metrics.items())])
        stream.log(f"{root}row", rerun.TextDocument(text, media_type="text/markdown"), static=True)
        total = 0.0
        for moment in again.moments:
            stream.set_time("step", sequence=moment.step)
            if again.step_seconds:
                stream.set_time("simulated", duration=moment.step * again.step_seconds)
            total += moment.reward
            for key, entity in _entities(rerun, moment, total).items():
                stream.log(root + key, entity)
    stream.flush()
    stream.disconnect()


def _entities(rerun: Any, moment: Moment, total: float) -> dict[str, Any]:
    """Returns what to log of a step, by path."""
    numbers = {"action/commanded": moment.commanded, "action/executed": moment.executed}
    numbers |= {"reward": np.array(moment.reward), "reward_so_far": np.array(total), "level": np.array(moment.level)}
    pictures = {} if moment.frame is None else {"environment": moment.frame}
    for kind, entries in (("true", moment.true), ("seen", moment.seen)):
        for key, values in entries.items():
            place = f"observation/{kind}/{key}".rstrip("/")
            if values.ndim == 3:
                pictures[place] = last_picture(values)
            else:
                numbers[place] = values
    numbers |= {f"observation/masked/{key}".rstrip("/"): mask for key, mask in moment.masked.items()}
    entities = {key: rerun.Scalars(np.asarray(values, float).ravel()) for key, values in numbers.items()}
    return entities | {key: rerun.Image(frame).compress(_JPEG_QUALITY) for key, frame in pictures.items()}
