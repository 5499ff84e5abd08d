"""One MuJoCo model that replaces many that differ in a few numbers: all of them do not fit into the caches."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_GAP = 512
"""Arrays that lie no further apart, in bytes, are written at once, with what is between them."""
_ONLY_SEEN = ("cam_", "light_", "stat.meanmass", "stat.meansize", "stat.extent", "stat.center")
"""Fields that only pictures depend on: the shared model is never drawn."""
_BEFORE = {
    "opt.gravity": (
        "timestep", "impratio", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance", "sleep_tolerance",
    ),
    "stat.center": ("meaninertia", "meanmass", "meansize", "extent"),
}  # fmt: skip
"""Single numbers that MuJoCo keeps just before an array; whether it does is tried out."""


class _Span(NamedTuple):
    """A piece of a model's memory: so many bytes from some bytes behind the start of an array on."""

    array: str
    offset: int
    size: int


class SharedModel:
    """A copy of one of several models that are alike except for some fields.

    Before a step, `target[:] = values` for each of `targets` and of the model's `numbers` makes it that model.

    Example:
        >>> import mujoco
        >>> models = [mujoco.MjModel.from_xml_string("<mujoco/>") for _ in range(2)]
        >>> models[1].opt.gravity[2] = -1.0
        >>> shared = SharedModel(models[0])
        >>> shared.covers(["opt.gravity", "opt.timestep", "body_mass"])
        True
        >>> for model in models:
        ...     for target, values in zip(shared.targets, shared.numbers(model)):
        ...         target[:] = values
        ...     print(shared.model.opt.gravity[2])
        -9.81
        -1.0
    """

    def __init__(self, model: Any) -> None:
        self.model = copy.copy(model)
        self.targets: tuple[memoryview, ...] = ()
        """Memory of the shared model."""
        self._singles = _singles(self.model)
        self._fields: set[str] = set()
        self._places: list[_Span] = []
        self._spans: list[_Span] = []
        self._sources: dict[Any, list[tuple[int, int]]] = {}

    def covers(self, fields: Sequence[str]) -> bool:
        """Returns whether models may differ in these fields, too; new fields change `targets`.

        Args:
            fields: in which a model may differ from how it was made.
        """
        if self._fields.issuperset(fields):
            return True
        new = [name for name in fields if name not in self._fields]
        places = [self._place(name) for name in new if not name.startswith(_ONLY_SEEN)]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            return False
        self._fields |= set(new)
        # An empty array may be anywhere.
        self._places += [place for place in known if place.size]
        self._spans, self._sources = self._lay_out(), {}
        self.targets = tuple([_memory(address, size) for address, size in self._find(self.model)])
        return True

    def numbers(self, model: Any) -> list[bytes]:
        """Returns the present bytes of a model in all covered fields, one entry per target."""
        if model not in self._sources:
            self._sources[model] = self._find(model)
        return [ctypes.string_at(address, size) for address, size in self._sources[model]]

    def _find(self, model: Any) -> list[tuple[int, int]]:
        return [(_address(model, span.array) + span.offset, span.size) for span in self._spans]

    def _place(self, name: str) -> _Span | None:
        value = _value(self.model, name)
        return _Span(name, 0, value.nbytes) if isinstance(value, np.ndarray) else self._singles.get(name)

    def _lay_out(self) -> list[_Span]:
        """Joins what lies side by side."""
        spans: list[_Span] = []
        end = 0
        for place in sorted(self._places, key=self._start):
            start = self._start(place)
            # Only arrays of the model itself are surely in one block.
            if spans and start - end <= _GAP and "." not in spans[-1].array + place.array:
                spans[-1] = spans[-1]._replace(size=start + place.size - self._start(spans[-1]))
            else:
                spans.append(place)
            end = start + place.size
        return spans

    def _start(self, span: _Span) -> int:
        return _address(self.model, span.array) + span.offset


def _singles(model: Any) -> dict[str, _Span]:
    """Returns where single numbers are, as far as that can be proven by writing them; the model is private."""
    found: dict[str, _Span] = {}
    for array, names in _BEFORE.items():
        group = array.split(".")[0]
        holder = getattr(model, group)
        if not all(hasattr(holder, name) for name in names):
            continue
        kept = [getattr(holder, name) for name in names]
        for place, name in enumerate(names):
            setattr(holder, name, float(place))
        first = -8 * len(names)
        present = (ctypes.c_double * len(names)).from_address(_address(model, array) + first)
        if list(present) == list(range(len(names))):
            found |= {f"{group}.{name}": _Span(array, first + 8 * i, 8) for i, name in enumerate(names)}
        for name, value in zip(names, kept, strict=True):
            setattr(holder, name, value)
    return found


def _value(model: Any, name: str) -> Any:
    for part in name.split("."):
        model = getattr(model, part, None)
    return model


def _address(model: Any, name: str) -> int:
    return int(_value(model, name).__array_interface__["data"][0])


def _memory(address: int, size: int) -> memoryview:
    # Memory is written several times faster than a slice of an array.
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")
