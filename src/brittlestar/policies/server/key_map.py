"""Names at the server for the entries of our observation, and our actions from its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.messages import printable
from brittlestar.checkpoints.spaces_text import Space
from brittlestar.envs.batches import ARRAY_SPACES, entries
from brittlestar.errors import UserError, counted, nearest
from brittlestar.policies.server.image_size import as_height_and_width, holds_images, resize_with_padding
from brittlestar.policies.server.metadata import BATCH

PLAIN = "observation"
"""Name of an observation that is not a dict."""
PROMPT = "prompt"
_LONGEST_NAME = 60
"""Letters of a name in an answer that a message shows."""


@dataclass
class KeyMap:
    """Translates observations and actions between an environment and a policy server.

    Example:
        >>> keys = KeyMap(observation={"observation/state": "observation"}, prompt="reach")
        >>> keys.bind(spaces.Box(-1.0, 1.0, (2,)))
        >>> keys.rows(np.zeros((3, 2)), lanes=[0, 2])["observation/state"].shape
        (2, 2)
    """

    observation: dict[str, Any] | None = None
    """Entry of our observation, or a list of entries to join, by its name at the server; None sends all of them."""
    image_size: int | list[int] | None = None
    """Height and width that images are resized to, with padding."""
    prompt: str | None = None
    """Text that goes with every observation."""
    actions: str = "actions"
    """Name of the actions in the answer."""
    columns: list[int] | None = None
    """Which numbers of an answered action are those of the environment; None takes all."""

    def __post_init__(self) -> None:
        self._size = as_height_and_width(self.image_size)
        for name, parts in (self.observation or {}).items():
            names = [parts] if isinstance(parts, str) else parts
            if not isinstance(names, list) or not names or not all(isinstance(part, str) for part in names):
                raise UserError(f"`observation.{name}` must be an entry or a list of entries, got {parts!r}")
            if name == BATCH or (name == PROMPT and self.prompt is not None):
                other = "the lanes of a batch" if name == BATCH else f"`prompt` = {self.prompt!r}"
                raise UserError(f"`observation.{name}` has the name by which {other} is sent: take another name")
        if any(column < 0 for column in self.columns or ()):
            raise UserError(f"`columns` must be positions from 0 on, got {self.columns}")

    def bind(self, space: Space) -> None:
        """Checks the names against the entries of an observation."""
        parts = dict(space.items()) if isinstance(space, spaces.Dict) else {PLAIN: space}
        chosen = self.observation or {name: name for name in parts}
        self._sources = {name: [one] if isinstance(one, str) else list(one) for name, one in chosen.items()}
        self._images = {name for name, part in parts.items() if holds_images(part)}
        for name, sources in self._sources.items():
            for source in sources:
                if source not in parts:
                    raise UserError(
                        f"`policy.keys.observation`: the observation has no entry `{source}` for {name!r}; "
                        f"{nearest(source, parts)}"
                    )
                if not isinstance(parts[source], ARRAY_SPACES):
                    raise UserError(f"`policy.keys.observation`: the entry `{source}` is no array and cannot be sent")
            if len(sources) > 1 and self._images & {*sources}:
                raise UserError(f"`policy.keys.observation`: {name!r} joins images, which cannot be joined")
        self._refuse_no_effect()

    def _refuse_no_effect(self) -> None:
        """Refuses settings that would do nothing, or that hide an entry of the observation."""
        if self.prompt is not None and PROMPT in self._sources:
            raise UserError(
                f"`policy.keys.prompt` = {self.prompt!r} has the name of an entry of the observation: "
                "give that another name by `policy.keys.observation`"
            )
        if self._size is not None and not any(self._images & {*sources} for sources in self._sources.values()):
            raise UserError(f"`policy.keys.image_size` = {self.image_size}, but no image is sent to the server")

    def rows(self, observation: Any, lanes: Sequence[int] | np.ndarray) -> dict[str, np.ndarray]:
        """Returns what the server gets of some lanes, by its names, one row for each lane."""
        parts = entries(observation)
        parts = parts if isinstance(observation, dict) else {PLAIN: observation}
        return {name: self._row(sources, parts, lanes) for name, sources in self._sources.items()}

    def _row(self, sources: list[str], parts: dict[str, Any], lanes: Any) -> np.ndarray:
        if len(sources) > 1:
            return np.concatenate([parts[source][lanes].reshape(len(lanes), -1) for source in sources], axis=1)
        array = np.asarray(parts[sources[0]][lanes])
        if self._size is not None and sources[0] in self._images:
            return resize_with_padding(array, *self._size)
        return array

    def constants(self) -> dict[str, str]:
        """Returns what every request has."""
        return {} if self.prompt is None else {PROMPT: self.prompt}

    def read_actions(self, answer: dict[str, Any], leading: tuple[int, ...], space: Space) -> np.ndarray:
        """Returns the actions of an answer, `(*leading, chunk, *action)`; `leading` is `(lanes,)` or empty."""
        actions = answer.get(self.actions)
        if self.actions not in answer:
            names = [printable(name, _LONGEST_NAME) for name in answer]
            raise UserError(
                f"the answer has no `{self.actions}` (`policy.keys.actions`); {nearest(self.actions, names)}"
            )
        if not isinstance(actions, np.ndarray):
            raise UserError(f"`{self.actions}` of the answer is a {type(actions).__name__}, expected an array")
        shape = tuple(space.shape or ())
        columns = actions
        if self.columns is not None:
            columns = self._pick_columns(actions, len(leading))
        if not shape and columns.ndim == len(leading) + 2 and columns.shape[-1] == 1:
            columns = columns[..., 0]
        chunk = columns.shape[len(leading)] if columns.ndim > len(leading) else 0
        if columns.shape != (*leading, chunk, *shape) or chunk < 1:
            expected = ", ".join(map(str, (*leading, "chunk", *shape)))
            raise UserError(f"`{self.actions}` of the answer has the shape {actions.shape}, expected ({expected})")
        return columns

    def _pick_columns(self, actions: np.ndarray, leading: int) -> np.ndarray:
        columns = self.columns or []
        if actions.ndim < leading + 2:
            axes = ", ".join(["lanes"] * leading + ["chunk", "columns"])
            shape = f"`{self.actions}` of the answer has the shape {actions.shape}, expected ({axes})"
            raise UserError(f"`policy.keys.columns` = {columns}, but {shape}")
        if max(columns, default=0) >= actions.shape[-1]:
            width = counted(actions.shape[-1], "number")
            raise UserError(f"`policy.keys.columns` = {columns}, but an answered action has {width}")
        return np.asarray(actions[..., columns])
