"""Inputs of a network: observations flattened, extended, normalised and stacked as in its training."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Moments, Observation, Starts, count_lanes
from brittlestar.policies.input_entry import InputEntry, frame_axes, moments_of
from brittlestar.policies.scaling import Fit, Scaling

TIMED = "observation"
"""Entry of a dict observation that `TimeFeatureWrapper` appends the remaining time to."""
_STACKS = range(2, 9)
"""Numbers of stacked frames that a message suggests."""


@dataclass
class Inputs:
    """Turns observations into one row of numbers per lane.

    The order is that of training: it appends the remaining time, then normalises and stacks, each entry by itself.

    Example:
        >>> inputs = Inputs(keys=["observation", "desired_goal"])
        >>> inputs.bind(spaces.Dict({"observation": spaces.Box(-1, 1, (2,)), "desired_goal": spaces.Box(-1, 1, (1,))}))
        3
    """

    keys: list[str] | None = None
    """Entries of a dict observation, in order; None takes all of them, sorted."""
    scalings: dict[str, Scaling] = field(default_factory=dict)
    """Statistics by entry; `""` is a plain observation, or the whole row of a dict."""
    time_limit: float | None = None
    """Steps of a training episode, if the remaining share of them is an input."""
    fit: Fit | None = None
    """Adapter to an observation of another version of the environment."""
    stack: int = 1
    """Number of stacked observations, oldest first, zeros before the first."""

    def __post_init__(self) -> None:
        self._parts: dict[str, Space] | None = None
        self._entries: dict[str, InputEntry] = {}

    @property
    def has_state(self) -> bool:
        """Whether it needs a state."""
        return self.time_limit is not None or self.stack > 1

    def shape_of(self, key: str = "") -> tuple[int, ...]:
        """Returns the shape of an entry's inputs before they are flattened, `(-1,)` if it has one axis."""
        return self._entries[key].shape if key in self._entries else (-1,)

    def bind(self, space: Space) -> int:
        """Checks the observation space and returns the number of inputs."""
        self._parts = self._split(space)
        widths = {key: _width(part) for key, part in self._parts.items()}
        if 0 in widths.values() or not widths:
            raise UserError(f"the network takes rows of numbers, got observations {describe_space(space)}")
        self._check_time(space)
        if self.fit:
            widths = {"": self.fit.width}
        self._entries = {key: self._entry(key, width) for key, width in widths.items()}
        total = sum(entry.total for entry in self._entries.values())
        for key, entry in self._entries.items():
            self._check_scaling(key, {entry.width, entry.total})
        if "" not in self._entries:
            self._check_scaling("", {total})
        return total

    def _entry(self, key: str, width: int) -> InputEntry:
        timed = self.time_limit is not None and key in ("", TIMED)
        part = None if self._parts is None or self.fit or timed else self._parts[key]
        axes = ((-1,), 0) if part is None else frame_axes(part)
        return InputEntry(width + timed, self.scalings.get(key), timed, self.stack, *axes)

    def _known_entry(self, key: str, row: np.ndarray) -> InputEntry:
        # Before `bind`, only the numbers themselves are known.
        return self._entries[key] if self._entries else self._entry(key, row.shape[1])

    def _split(self, space: Space) -> dict[str, Space]:
        if not isinstance(space, spaces.Dict):
            return {"": space}
        for key in self.keys or []:
            if key not in space.spaces:
                raise UserError(f"the network takes `{key}`, got observations {describe_space(space)}")
        return {key: space.spaces[key] for key in self.keys or sorted(space.spaces)}

    def _check_time(self, space: Space) -> None:
        if self.time_limit is None or not isinstance(space, spaces.Dict):
            return
        if TIMED not in (self._parts or {}) or self.fit:
            adapter = " without an adapter that cuts or pads" if self.fit else ""
            needs = f"the remaining time (`policy.time_limit`) needs an entry `{TIMED}`{adapter}"
            raise UserError(f"{needs}, got observations {describe_space(space)}")

    def _check_scaling(self, key: str, widths: set[int]) -> None:
        if key not in self.scalings or self.scalings[key].mean.shape in {(width,) for width in widths}:
            return
        shape, width = self.scalings[key].mean.shape, max(widths)
        statistics, inputs = (f"the statistics of `{key}`", f"`{key}`") if key else ("the statistics", "the network")
        hint = "" if len(shape) != 1 or self.has_state else width_hint(shape[0], width)
        raise UserError(f"{statistics} have shape {shape}, but {inputs} has {width} inputs{hint}")

    def statistics_of(self, space: Space) -> dict[str, Moments]:
        """Returns the mean and standard deviation that each entry is normalised by; of a stack, those of the newest.

        Example:
            >>> inputs = Inputs(scalings={"": Scaling(mean=np.array([1.0, 9.0]), var=np.ones(2))}, time_limit=50)
            >>> inputs.statistics_of(spaces.Box(-1, 1, (1,)))[""][0]
            array([1.])
        """
        moments = {key: moments_of(scaling) for key, scaling in self.scalings.items() if key}
        widths = {key: _width(part) for key, part in self._split(space).items()}
        for key in moments.keys() & widths.keys():
            moments[key] = self._entry(key, widths[key]).moments() or moments[key]
        if "" not in self.scalings:
            return moments
        frame = (self.fit.width if self.fit else sum(widths.values())) + (self.time_limit is not None)
        mean, std = (row.reshape(-1, frame)[-1] for row in moments_of(self.scalings[""]))
        start = 0
        for key, width in widths.items():
            # Numbers that the network does not take are not normalised: mean 0 and standard deviation 1.
            used = max(0, min(width, (self.fit.keep if self.fit else len(mean)) - start))
            moments[key] = np.zeros(width), np.ones(width)
            for whole, row in zip(moments[key], (mean, std), strict=True):
                whole[:used] = row[start : start + used]
            start += width + (self.time_limit is not None and key == TIMED)
        return moments

    def read(self, observation: Observation, state: Any, first: Starts) -> tuple[list[np.ndarray], Any]:
        """Returns the inputs `(lanes, n)`, in parts along the last axis, and the state for the next step."""
        parts, state = self._by_entry(observation, state, first)
        rows = list(parts.values())
        if "" in self.scalings and "" not in parts:
            rows = [self.scalings[""].apply(np.concatenate(rows, axis=1))]
        return rows, state

    def pull(self, gradient: np.ndarray, observation: Observation, state: Any, first: Starts) -> dict[str, np.ndarray]:
        """Returns the gradient of the present observation, by entry, from the gradient of the inputs."""
        parts, _ = self._by_entry(observation, state, first)
        if "" in self.scalings and "" not in parts:
            row = np.concatenate(list(parts.values()), axis=1)
            gradient = self.scalings[""].pull(gradient, self.scalings[""].apply(row))
        rows, fitted = self._rows(observation), self._fitted(self._rows(observation))
        slopes = {
            key: self._known_entry(key, fitted[key]).pull(slope, parts[key])
            for key, slope in zip(parts, _split_like(gradient, list(parts.values())), strict=True)
        }
        if self.fit:
            width = sum(row.shape[1] for row in rows.values())
            gradient = Fit(min(self.fit.keep, width), width).apply(slopes[""])
            slopes = dict(zip(rows, _split_like(gradient, list(rows.values())), strict=True))
        seen = {key: observation[key] if key else observation for key in slopes}
        return {
            key: slope.reshape(seen[key].shape)
            for key, slope in slopes.items()
            if np.issubdtype(seen[key].dtype, np.floating)
        }

    def _rows(self, observation: Observation) -> dict[str, np.ndarray]:
        lanes = count_lanes(observation)
        unbound = dict.fromkeys(self.keys or sorted(observation)) if isinstance(observation, dict) else {"": None}
        spaces_by_key = (self._parts or unbound).items()
        return {key: _numbers(observation[key] if key else observation, space, lanes) for key, space in spaces_by_key}

    def _fitted(self, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"": self.fit.apply(np.concatenate(list(rows.values()), axis=1))} if self.fit else rows

    def _by_entry(self, observation: Observation, state: Any, first: Starts) -> tuple[dict[str, np.ndarray], Any]:
        """Returns the inputs of each entry, and the state: steps so far, then the last frames of each entry."""
        rows = self._fitted(self._rows(observation))
        if not self.has_state:
            scalings = self.scalings
            return {key: scalings[key].apply(row) if key in scalings else row for key, row in rows.items()}, state
        steps, *frames = state or [np.zeros(count_lanes(observation), np.int64)]
        if first is not None:
            steps = np.where(first, 0, steps)
            frames = [np.where(first[:, None, None], stacked.dtype.type(0), stacked) for stacked in frames]
        remaining = None if self.time_limit is None else np.asarray(1 - steps / self.time_limit)
        earlier = dict(zip(rows, frames, strict=False))
        read = {key: self._known_entry(key, row).read(row, remaining, earlier.get(key)) for key, row in rows.items()}
        later = [stacked for _, stacked in read.values() if stacked is not None]
        return {key: row for key, (row, _) in read.items()}, (steps + 1, *later)


def check_width(expected: int, width: int, space: Space) -> None:
    """Refuses observations of another size than the network takes."""
    if width != expected:
        hint = width_hint(expected, width)
        raise UserError(f"the network takes {expected} numbers, got {width} of {describe_space(space)}{hint}")


def width_hint(expected: int, width: int) -> str:
    """Returns what a network that takes more numbers may have been trained with; empty if nothing is likely.

    Example:
        >>> width_hint(16, 4)
        ': was it trained with 4 stacked frames? `policy=sb3` takes `policy.frame_stack=4`'
    """
    if expected == width + 1:
        takes = "`policy=sb3` takes `policy.time_limit`, and `policy=zoo_folder` reads it from the folder"
        return f": was it trained with TimeFeatureWrapper? {takes}"
    frames = expected // width
    if frames not in _STACKS or expected % width:
        return ""
    return f": was it trained with {frames} stacked frames? `policy=sb3` takes `policy.frame_stack={frames}`"


def _split_like(row: np.ndarray, parts: list[np.ndarray]) -> list[np.ndarray]:
    return np.split(row, np.cumsum([part.shape[1] for part in parts])[:-1].tolist(), axis=1)


def _width(space: Space) -> int:
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return int(np.prod(space.shape or ()))
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    return int(np.sum(space.nvec)) if isinstance(space, spaces.MultiDiscrete) else 0


def _numbers(values: np.ndarray, space: Space | None, lanes: int) -> np.ndarray:
    if isinstance(space, spaces.Discrete):
        return np.equal.outer(values - space.start, np.arange(int(space.n))).astype(np.float64)
    if isinstance(space, spaces.MultiDiscrete):
        counts, flat = space.nvec.ravel(), (values - space.start).reshape(lanes, -1)
        return np.concatenate([np.eye(count)[flat[:, i]] for i, count in enumerate(counts.tolist())], axis=1)
    return values.reshape(lanes, -1)
