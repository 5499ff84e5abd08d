"""One MuJoCo model that replaces many that differ in a few numbers: all of them do not fit into the caches.

MuJoCo has no function that copies some fields of a model, and writing a slice of an array takes several times as long
as writing memory. So bytes are written to the addresses of the model's arrays. That relies on the layout of
`mjModel`: the arrays of one model lie in one block, at the same distances in every copy, and the numbers in `_BEFORE`
lie just before an array. Both are tried out. Where they do not hold, or with BRITTLESTAR_RAW_MEMORY=0, every lane
steps with its own model; the results are the same.
"""

import copy
import ctypes
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_GAP = 512
"""Arrays that lie no further apart, in bytes, are written at once, with what is between them."""
_ONLY_DRAWN = ("cam_", "light_", "stat.meanmass", "stat.meansize", "stat.extent", "stat.center")
"""Fields that only pictures depend on: the shared model is never drawn."""
_BEFORE = {
    "opt.gravity": (
        "timestep", "impratio", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance", "sleep_tolerance",
    ),
    "stat.center": ("meaninertia", "meanmass", "meansize", "extent"),
}  # fmt: skip
"""Single numbers that MuJoCo holds just before an array."""
_OFF = ("0", "false", "no", "off")
"""Values of BRITTLESTAR_RAW_MEMORY that turn direct writes off."""


class _Span(NamedTuple):
    """A piece of a model's memory: `size` bytes, from `offset` bytes behind the start of an array."""

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
        self._original, self.model = model, copy.copy(model)
        self.targets: tuple[memoryview, ...] = ()
        """Memory of the shared model."""
        self._is_allowed = os.environ.get("BRITTLESTAR_RAW_MEMORY", "").lower() not in _OFF
        self._singles = _find_singles(self.model) if self._is_allowed else {}
        self._fields: set[str] = set()
        self._places: list[_Span] = []
        self._spans: list[_Span] = []
        self._sources: dict[Any, list[tuple[int, int]]] = {}

    def covers(self, fields: Sequence[str]) -> bool:
        """Returns whether a model may differ from how it was made in these fields, too; new ones change `targets`."""
        if self._fields.issuperset(fields):
            return True
        new = [name for name in fields if name not in self._fields]
        places = [self._place(name) for name in new if not name.startswith(_ONLY_DRAWN)]
        valid = [place for place in places if place is not None]
        if not self._is_allowed or len(valid) < len(places):
            return False
        # An empty array may be anywhere.
        spans = self._join(self._places + [place for place in valid if place.size])
        if spans is None:
            return False
        self._fields |= set(new)
        self._places += [place for place in valid if place.size]
        self._spans, self._sources = spans, {}
        self.targets = tuple([_memory(address, size) for address, size in self._find(self.model)])
        return True

    def numbers(self, model: Any) -> list[bytes]:
        """Returns the present bytes of a model in all covered fields, one entry per target."""
        if model not in self._sources:
            self._sources[model] = self._find(model)
        return [ctypes.string_at(address, size) for address, size in self._sources[model]]

    def _find(self, model: Any) -> list[tuple[int, int]]:
        return [(_start(model, span), span.size) for span in self._spans]

    def _place(self, name: str) -> _Span | None:
        value = _value(self.model, name)
        return _Span(name, 0, value.nbytes) if isinstance(value, np.ndarray) else self._singles.get(name)

    def _join(self, places: list[_Span]) -> list[_Span] | None:
        """Joins what lies side by side; None if the distances differ between two models."""
        spans: list[_Span] = []
        end = 0
        for place in sorted(places, key=lambda place: _start(self.model, place)):
            start = _start(self.model, place)
            # Only arrays of the model itself are surely in one block.
            if spans and start - end <= _GAP and "." not in spans[-1].array + place.array:
                distance = start - _start(self.model, spans[-1])
                if _start(self._original, place) - _start(self._original, spans[-1]) != distance:
                    return None
                spans[-1] = spans[-1]._replace(size=distance + place.size)
            else:
                spans.append(place)
            end = start + place.size
        return spans


def _find_singles(model: Any) -> dict[str, _Span]:
    """Returns where single numbers are, as far as writing them to a private copy of a model proves it."""
    singles: dict[str, _Span] = {}
    for array, names in _BEFORE.items():
        group = array.split(".")[0]
        holder = getattr(model, group)
        if not all(hasattr(holder, name) for name in names):
            continue
        originals = [getattr(holder, name) for name in names]
        for place, name in enumerate(names):
            setattr(holder, name, float(place))
        first = -8 * len(names)
        present = (ctypes.c_double * len(names)).from_address(_address(model, array) + first)
        if list(present) == list(range(len(names))):
            singles |= {f"{group}.{name}": _Span(array, first + 8 * i, 8) for i, name in enumerate(names)}
        for name, value in zip(names, originals, strict=True):
            setattr(holder, name, value)
    return singles


def _value(model: Any, name: str) -> Any:
    for part in name.split("."):
        model = getattr(model, part, None)
    return model


def _address(model: Any, name: str) -> int:
    return int(_value(model, name).__array_interface__["data"][0])


def _start(model: Any, span: _Span) -> int:
    return _address(model, span.array) + span.offset


def _memory(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")
