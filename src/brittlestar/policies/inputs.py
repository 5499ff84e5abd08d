"""Inputs of a network: observations flattened, extended, stacked and normalised as in its training."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Moments, Observation, Starts, count_lanes
from brittlestar.policies.scaling import Fit, Scaling


@dataclass
class Inputs:
    """Turns observations into one row of numbers per lane.

    The order is that of training: it appends the remaining time, then stacks frames, then normalises both.

    Example:
        >>> inputs = Inputs(keys=["observation", "desired_goal"])
        >>> inputs.bind(spaces.Dict({"observation": spaces.Box(-1, 1, (2,)), "desired_goal": spaces.Box(-1, 1, (1,))}))
        3
    """

    keys: list[str] | None = None
    """Entries of a dict observation, in order; None takes all of them, sorted."""
    scalings: dict[str, Scaling] = field(default_factory=dict)
    """Statistics by entry; `""` is a plain observation, or the whole row of a dict."""
    time_limit: int | None = None
    """Steps of a training episode, if the remaining share of them is an input."""
    fit: Fit | None = None
    """Adapter to an observation of another version of the environment."""
    stack: int = 1
    """Number of stacked observations, oldest first, zeros before the first."""

    def __post_init__(self) -> None:
        self._parts: dict[str, Space] | None = None
        self._frame: tuple[int, ...] = (-1,)
        self._along = 0

    @property
    def has_state(self) -> bool:
        """Whether it needs a state."""
        return self.time_limit is not None or self.stack > 1

    def bind(self, space: Space) -> int:
        """Checks the observation space and returns the number of inputs."""
        self._parts = self._split(space)
        self._frame, self._along = self._axes(space)
        widths = [_width(part) for part in self._parts.values()]
        if 0 in widths or not widths:
            raise UserError(f"the network takes rows of numbers, got observations {describe_space(space)}")
        base = self.fit.width if self.fit else sum(widths)
        width = (base + (self.time_limit is not None)) * self.stack
        for key, part in self._parts.items():
            self._check_scaling(key, _width(part) if key else width)
        if "" not in self._parts:
            self._check_scaling("", width)
        return width

    def _axes(self, space: Space) -> tuple[tuple[int, ...], int]:
        if not isinstance(space, spaces.Box) or len(space.shape) < 2 or self.fit or self.time_limit is not None:
            return (-1,), 0
        # As in `VecFrameStack`, the channels of an image are its shortest axis.
        return space.shape, 0 if is_image(space) and np.argmin(space.shape) == 0 else len(space.shape) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a row before it is flattened, if the observation has several axes."""
        shape = list(self._frame)
        if len(shape) > 1:
            shape[self._along] *= self.stack
        return tuple(shape)

    def _split(self, space: Space) -> dict[str, Space]:
        if not isinstance(space, spaces.Dict):
            return {"": space}
        for key in self.keys or []:
            if key not in space.spaces:
                raise UserError(f"the network takes `{key}`, got observations {describe_space(space)}")
        return {key: space.spaces[key] for key in self.keys or sorted(space.spaces)}

    def _check_scaling(self, key: str, width: int) -> None:
        if key in self.scalings and self.scalings[key].mean.shape != (width,):
            shape = self.scalings[key].mean.shape
            statistics = f"the statistics of `{key}`" if key else "the statistics"
            hint = ": was it trained with TimeFeatureWrapper? Set `policy.time_limit`, or use `policy=zoo_folder`"
            message = f"{statistics} have shape {shape}, but the network has {width} inputs"
            raise UserError(message + (hint if shape == (width + 1,) else ""))

    def statistics_of(self, space: Space) -> dict[str, Moments]:
        """Returns the mean and standard deviation that each entry is normalised by; of a stack, those of the newest.

        Example:
            >>> inputs = Inputs(scalings={"": Scaling(mean=np.array([1.0, 9.0]), var=np.ones(2))}, time_limit=50)
            >>> inputs.statistics_of(spaces.Box(-1, 1, (1,)))[""][0]
            array([1.])
        """
        moments = {key: _moments(scaling) for key, scaling in self.scalings.items() if key}
        if "" not in self.scalings:
            return moments
        mean, std = (row.reshape(self.stack, -1)[-1] for row in _moments(self.scalings[""]))
        start = 0
        for key, part in self._split(space).items():
            width = _width(part)
            # Numbers that the network does not take are not normalised: mean 0 and standard deviation 1.
            used = max(0, min(width, (self.fit.keep if self.fit else len(mean)) - start))
            moments[key] = np.zeros(width), np.ones(width)
            for whole, row in zip(moments[key], (mean, std), strict=True):
                whole[:used] = row[start : start + used]
            start += width
        return moments

    def read(self, observation: Observation, state: Any, first: Starts) -> tuple[list[np.ndarray], Any]:
        """Returns the inputs `(lanes, n)`, in parts along the last axis, and the state for the next step."""
        parts = list(self._entries(observation).values())
        if self.fit:
            parts = [self.fit.apply(np.concatenate(parts, axis=1))]
        if self.has_state:
            parts, state = self._with_history(np.concatenate(parts, axis=1), state, first)
        if "" in self.scalings:
            parts = [self.scalings[""].apply(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))]
        return parts, state

    def pull(self, gradient: np.ndarray, observation: Observation, state: Any, first: Starts) -> dict[str, np.ndarray]:
        """Returns the gradient of the present observation, by entry, from the gradient of the inputs."""
        entries = self._entries(observation)
        if "" in self.scalings:
            gradient = self.scalings[""].pull(gradient, self.read(observation, state, first)[0][0])
        if self.has_state:
            gradient = self._newest(gradient)
        ends = np.cumsum([part.shape[1] for part in entries.values()]).tolist()
        if self.fit:
            gradient = Fit(min(self.fit.keep, ends[-1]), ends[-1]).apply(gradient)
        slopes = {}
        for (key, part), slope in zip(entries.items(), np.split(gradient, ends[:-1], axis=1), strict=True):
            values = observation[key] if key else observation
            if np.issubdtype(values.dtype, np.floating):
                scaling = self.scalings.get(key) if key else None
                slopes[key] = (scaling.pull(slope, part) if scaling else slope).reshape(values.shape)
        return slopes

    def _entries(self, observation: Observation) -> dict[str, np.ndarray]:
        lanes, entries = count_lanes(observation), {}
        unbound = dict.fromkeys(self.keys or sorted(observation)) if isinstance(observation, dict) else {"": None}
        for key, space in (self._parts or unbound).items():
            values = _numbers(observation[key] if key else observation, space, lanes)
            entries[key] = self.scalings[key].apply(values) if key and key in self.scalings else values
        return entries

    def _newest(self, gradient: np.ndarray) -> np.ndarray:
        """Returns the gradient of the newest frame, without that of the remaining time."""
        lanes = len(gradient)
        if len(self._frame) == 1:
            return gradient.reshape(lanes, self.stack, -1)[:, -1, : None if self.time_limit is None else -1]
        frames = np.split(gradient.reshape(lanes, *self.shape), self.stack, axis=self._along + 1)
        return frames[-1].reshape(lanes, -1)

    def _with_history(self, row: np.ndarray, state: Any, first: Starts) -> tuple[list[np.ndarray], Any]:
        lanes = len(row)
        width = row.shape[1] + (self.time_limit is not None)
        steps, frames = state or (np.zeros(lanes, dtype=np.int64), np.zeros((lanes, self.stack, width)))
        if first is not None:
            steps, frames = np.where(first, 0, steps), np.where(first[:, None, None], 0.0, frames)
        if self.time_limit is not None:
            row = np.concatenate([row, (1 - steps / self.time_limit)[:, None]], axis=1)
        frames = np.concatenate([frames[:, 1:], row[:, None]], axis=1)
        return [self._stacked(frames)], (steps + 1, frames)

    def _stacked(self, frames: np.ndarray) -> np.ndarray:
        if len(self._frame) == 1:
            return frames.reshape(len(frames), -1)
        images = [frames[:, age].reshape(len(frames), *self._frame) for age in range(self.stack)]
        return np.concatenate(images, axis=self._along + 1).reshape(len(frames), -1)


def _moments(scaling: Scaling) -> Moments:
    return scaling.mean.ravel(), np.sqrt(scaling.var + scaling.epsilon).ravel()


def is_image(space: Space) -> bool:
    """Returns whether Stable-Baselines3 treats observations as images.

    Example:
        >>> is_image(spaces.Box(0, 255, (64, 64, 3), np.uint8)), is_image(spaces.Box(0, 1, (64, 64, 3)))
        (True, False)
    """
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) != 3:
        return False
    return bool((space.low == 0).all() and (space.high == 255).all())


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
