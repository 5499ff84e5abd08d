"""One entry of an observation on its way to a network: numbers, remaining time, statistics, stacked frames."""

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Moments
from brittlestar.policies.scaling import Scaling


@dataclass
class InputEntry:
    """Extends, normalises and stacks the numbers of one entry, `(lanes, n)`, as in training.

    Statistics of one frame normalise it before it is stacked, as in rl-zoo. Those of a whole stack normalise that.

    Example:
        >>> entry = InputEntry(width=3, timed=True)
        >>> entry.read(np.ones((1, 2)), np.array([0.9]), None)[0]
        array([[1. , 1. , 0.9]])
    """

    width: int
    """How many numbers a frame has, with the remaining time."""
    scaling: Scaling | None = None
    timed: bool = False
    """Whether the remaining share of the episode is appended."""
    stack: int = 1
    """Number of stacked frames, oldest first, zeros before the first."""
    frame: tuple[int, ...] = (-1,)
    """Shape of a frame, if it has several axes."""
    axis: int = 0
    """Axis of a frame along which it is stacked."""

    @property
    def scales_frames(self) -> bool:
        """Whether every frame is normalised before it is stacked."""
        return self.scaling is not None and self.scaling.mean.size == self.width

    @property
    def total(self) -> int:
        """How many numbers all frames have."""
        return self.width * self.stack

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the stack before it is flattened, if a frame has several axes."""
        sizes = list(self.frame)
        if len(sizes) > 1:
            sizes[self.axis] *= self.stack
        return tuple(sizes)

    def read(
        self, row: np.ndarray, remaining: np.ndarray | None, frames: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns the inputs, `(lanes, total)`, and the frames for the next step, `(lanes, stack, width)`."""
        if self.timed:
            assert remaining is not None
            row = np.concatenate([row, remaining[:, None]], axis=1)
        if self.scaling is not None and self.scales_frames:
            row = self.scaling.apply(row)
        if self.stack > 1:
            frames = np.zeros((len(row), self.stack, row.shape[1]), row.dtype) if frames is None else frames
            frames = np.concatenate([frames[:, 1:], row[:, None]], axis=1)
            row = self._flat(frames)
        if self.scaling is not None and not self.scales_frames:
            row = self.scaling.apply(row)
        return row, frames

    def pull(self, gradient: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Returns the gradient of the newest numbers, without the time, from that of the inputs."""
        if self.scaling is not None and not self.scales_frames:
            gradient = self.scaling.pull(gradient, inputs)
        gradient = self._newest(gradient)
        if self.scaling is not None and self.scales_frames:
            gradient = self.scaling.pull(gradient, self._newest(inputs))
        return gradient[:, :-1] if self.timed else gradient

    def moments(self) -> Moments | None:
        """Returns mean and standard deviation of the newest numbers, without the time; None without statistics."""
        if self.scaling is None:
            return None
        mean, std = (self._newest(row[None])[0] for row in moments_of(self.scaling))
        return (mean[:-1], std[:-1]) if self.timed else (mean, std)

    def _flat(self, frames: np.ndarray) -> np.ndarray:
        if len(self.frame) == 1:
            return frames.reshape(len(frames), -1)
        images = [frames[:, age].reshape(len(frames), *self.frame) for age in range(self.stack)]
        return np.concatenate(images, axis=self.axis + 1).reshape(len(frames), -1)

    def _newest(self, rows: np.ndarray) -> np.ndarray:
        if rows.shape[1] == self.width or self.stack == 1:
            return rows
        if len(self.frame) == 1:
            return rows.reshape(len(rows), self.stack, -1)[:, -1]
        frames = np.split(rows.reshape(len(rows), *self.shape), self.stack, axis=self.axis + 1)
        return frames[-1].reshape(len(rows), -1)


def moments_of(scaling: Scaling) -> Moments:
    """Returns the mean and the standard deviation that numbers are normalised by."""
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


def image_refusal(expected: Space, given: str) -> UserError:
    """Returns the error of images of another size, or another number of frames, than a model takes."""
    return UserError(
        f"the model takes images {describe_space(expected)}, got {given}: stack frames by `policy.frame_stack` "
        "(`policy=zoo_folder` reads their number), and use the environment of its training"
    )


def frame_axes(space: Space) -> tuple[tuple[int, ...], int]:
    """Returns the shape of a frame and the axis along which `VecFrameStack` stacks it; `(-1,)` for a row of numbers."""
    if not isinstance(space, spaces.Box) or len(space.shape) < 2:
        return (-1,), 0
    # The channels of an image are its shortest axis.
    return space.shape, 0 if is_image(space) and np.argmin(space.shape) == 0 else len(space.shape) - 1
