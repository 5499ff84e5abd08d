"""One MuJoCo model that stands in for many that differ in a few numbers: all of them do not fit into the caches."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

_GAP = 512
"""Arrays that lie no further apart, in bytes, are written at once, with what is between them."""
_ONLY_SEEN = ("cam_", "light_", "stat.meanmass", "stat.meansize", "stat.extent", "stat.center")
"""What only pictures depend on: nobody draws the model on stage."""


class Patch:
    """The numbers of one model, to be written into the one on stage before each step."""

    __slots__ = ("_arrays", "_numbers")

    def __init__(self, arrays: list[tuple[memoryview, bytes]], numbers: list[tuple[Any, str, Any]]) -> None:
        self._arrays, self._numbers = arrays, numbers

    def __call__(self) -> None:
        """Writes them."""
        for target, values in self._arrays:
            target[:] = values
        for holder, field, value in self._numbers:
            setattr(holder, field, value)


class Stage:
    """A copy of one of several models that are alike except for some fields.

    Example:
        >>> import mujoco
        >>> models = [mujoco.MjModel.from_xml_string("<mujoco/>") for _ in range(2)]
        >>> models[1].opt.gravity[2] = -1.0
        >>> stage = Stage(models[0])
        >>> for patch in stage.patches(models, ["opt.gravity", "opt.timestep", "body_mass"]):
        ...     patch()
        ...     print(stage.model.opt.gravity[2])
        -9.81
        -1.0
    """

    def __init__(self, model: Any) -> None:
        self.model = copy.copy(model)
        self._fields: dict[str, None] = {}

    def patches(self, models: Sequence[Any], fields: Iterable[str]) -> list[Patch]:
        """Returns a patch for each model.

        Args:
            models: each of the same kind as the one on stage.
            fields: all in which they may differ from how they were made.
        """
        # Those of before, too: the one on stage still has the numbers of somebody.
        self._fields |= dict.fromkeys(name for name in fields if not name.startswith(_ONLY_SEEN))
        differing = [name for name in self._fields if any(_differs(model, self.model, name) for model in models)]
        numbers = [name for name in differing if not isinstance(_value(self.model, name), np.ndarray)]
        spans = self._spans([name for name in differing if name not in numbers])
        targets = [_memory(self.model, *span) for span in spans]
        found = []
        for model in models:
            values = [bytes(_memory(model, *span)) for span in spans]
            changes = [(*_place(self.model, name), _value(model, name)) for name in numbers]
            found.append(Patch(list(zip(targets, values, strict=True)), changes))
        return found

    def _spans(self, names: list[str]) -> list[tuple[str, int]]:
        """Returns the first field of each run of fields that lie side by side, and how many bytes the run has."""
        spans: list[tuple[str, int]] = []
        start = end = 0
        for name in sorted(names, key=lambda name: _address(self.model, name)):
            address, size = _address(self.model, name), _value(self.model, name).nbytes
            # Only arrays of the model itself are surely in one block.
            if spans and address - end <= _GAP and "." not in spans[-1][0] + name:
                spans[-1] = spans[-1][0], address + size - start
            else:
                start = address
                spans.append((name, size))
            end = address + size
        return spans


def _place(model: Any, name: str) -> tuple[Any, str]:
    *path, field = name.split(".")
    for part in path:
        model = getattr(model, part)
    return model, field


def _value(model: Any, name: str) -> Any:
    return getattr(*_place(model, name))


def _differs(one: Any, other: Any, name: str) -> bool:
    return np.asarray(_value(one, name)).tobytes() != np.asarray(_value(other, name)).tobytes()


def _address(model: Any, name: str) -> int:
    return int(_value(model, name).__array_interface__["data"][0])


def _memory(model: Any, first: str, size: int) -> memoryview:
    """Returns the memory of a model from one of its arrays on."""
    array = _value(model, first).reshape(-1).view(np.uint8)
    # Memory is written several times faster than a slice of an array.
    return np.lib.stride_tricks.as_strided(array, (size,), (1,)).data
