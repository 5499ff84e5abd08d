"""Bounds of boxes: compared, described, and converted from one to another."""

from typing import Any, Self

import numpy as np
from gymnasium import spaces

from brittlestar.policies.base import Answer

_ROUNDING = 1e-6
_UNIT_RANGES = ((-1.0, 1.0), (0.0, 1.0))
"""Ranges of normalised numbers, as `RescaleAction` and `RescaleObservation` give them."""


class BoxConversion:
    """Maps actions to a box: `clip(slope * a + offset, low, high)`.

    Example:
        >>> conversion = BoxConversion.rescaling(spaces.Box(-1.0, 1.0, (1,)), spaces.Box(0.0, 4.0, (1,)))
        >>> conversion.apply(np.array([[-1.0], [0.5], [9.0]])).tolist()
        [[0.0], [3.0], [4.0]]
    """

    def __init__(self, slope: np.ndarray, offset: np.ndarray, space: spaces.Box) -> None:
        self._slope, self._offset = slope, offset
        self._low, self._high = space.low.astype(np.float64), space.high.astype(np.float64)

    @classmethod
    def clipping(cls, space: spaces.Box) -> Self:
        """Clips actions that have the units of the box."""
        return cls(np.ones(space.shape), np.zeros(space.shape), space)

    @classmethod
    def rescaling(cls, trained: spaces.Box, space: spaces.Box) -> Self:
        """Scales actions of one box to another one."""
        low, high, start, end = (b.astype(np.float64) for b in (space.low, space.high, trained.low, trained.high))
        # A number that cannot vary has no range to divide by.
        slope = (high - low) / np.where(end > start, end - start, 1.0)
        return cls(slope, low - slope * start, space)

    def apply(self, actions: np.ndarray) -> np.ndarray:
        """Maps actions, lane axis first."""
        return np.clip(self._slope * actions + self._offset, self._low, self._high)

    def invert(self, actions: np.ndarray) -> np.ndarray:
        """Maps actions of the box back."""
        return np.asarray((actions - self._offset) / np.where(self._slope == 0, 1.0, self._slope))

    @property
    def log_volume(self) -> float:
        """Logarithm of how much larger the box of the result is: what a log density loses."""
        return float(np.log(self._slope[self._slope > 0]).sum())

    def differentiate(self, answer: Answer) -> Answer:
        """Maps the flat outputs of a policy and their gradient, which is 0 where they are clipped."""
        slope, offset, low, high = (part.ravel() for part in (self._slope, self._offset, self._low, self._high))
        raw = slope * answer.outputs + offset
        inside = (raw >= low) & (raw <= high)
        return Answer(np.clip(raw, low, high), lambda gradient: answer.pull(gradient * inside * slope))


class OutputRange:
    """The range of a network's outputs so far, compared with the bounds of the actions.

    Example:
        >>> outputs = OutputRange(spaces.Box(-2.0, 2.0, (1,)))
        >>> outputs.add(np.array([[-0.9], [0.8]]))
        >>> outputs.notes("actor.pt", "is that right?")
        ['actor.pt: all outputs were in [-1, 1], the environment takes actions in [-2, 2]: is that right?']
    """

    def __init__(self, space: spaces.Box) -> None:
        self._space, self._lowest, self._highest = space, np.full(space.shape, np.inf), np.full(space.shape, -np.inf)

    def add(self, outputs: np.ndarray) -> None:
        """Adds outputs, lane axis first."""
        self._lowest = np.minimum(self._lowest, outputs.min(axis=0))
        self._highest = np.maximum(self._highest, outputs.max(axis=0))

    def notes(self, name: str, advice: str) -> list[str]:
        """Returns a note on outputs that look normalised where the actions are not, with what to do."""
        space, lowest, highest = self._space, self._lowest.min(), self._highest.max()
        beyond = [space.low.min() < -1.0, space.high.max() > 1.0]
        clipped = [(self._lowest < space.low - _ROUNDING).any(), (self._highest > space.high + _ROUNDING).any()]
        is_normalised = -1.0 - _ROUNDING <= lowest <= highest <= 1.0 + _ROUNDING
        if not is_normalised or not space.is_bounded() or not any(beyond + clipped):
            return []
        sides = f"all outputs were in [-1, 1], the environment takes actions {bounds_text(space)}"
        return [f"{name}: {sides}: {advice}"]


def same_bounds(one: spaces.Box, other: spaces.Box) -> bool:
    """Returns whether two boxes of the same shape have the same bounds; their text in a file is rounded."""
    pairs = ((one.low, other.low), (one.high, other.high))
    return all(np.allclose(mine, theirs, rtol=1e-5, atol=1e-7) for mine, theirs in pairs)


def is_unit(box: spaces.Box) -> bool:
    """Returns whether a box is the range of normalised numbers.

    Example:
        >>> is_unit(spaces.Box(-1.0, 1.0, (2,))), is_unit(spaces.Box(-2.0, 2.0, (2,)))
        (True, False)
    """
    return any(bool((box.low == low).all() and (box.high == high).all()) for low, high in _UNIT_RANGES)


def bounds_text(box: spaces.Box) -> str:
    """Writes the bounds of a box, short enough for a message.

    Example:
        >>> bounds_text(spaces.Box(-1.0, 1.0, (2,)))
        'in [-1, 1]'
        >>> bounds_text(spaces.Box(np.array([-1.5, 0.0]), np.ones(2), dtype=np.float64))
        'from [-1.5 0. ] to 1'
    """
    sides = [side.flat[0] if (side == side.flat[0]).all() else side for side in (box.low, box.high)]
    if all(np.ndim(side) == 0 for side in sides):
        return f"in [{sides[0]:g}, {sides[1]:g}]"
    return "from {} to {}".format(*(_short(side) for side in sides))


def _short(side: Any) -> str:
    return (
        " ".join(np.array2string(side, precision=4, threshold=6, edgeitems=2).split()) if np.ndim(side) else f"{side:g}"
    )


def is_within(inner: spaces.Box, outer: spaces.Box) -> bool:
    """Returns whether the bounds of a box lie within those of another one."""
    return bool((inner.low >= outer.low).all() and (inner.high <= outer.high).all())
