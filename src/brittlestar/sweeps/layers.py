"""Nested dicts that differ in a few values: the differences, and a view of both together."""

from __future__ import annotations

import json
import marshal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_MISSING = ...
"""In place of a value that is not there; no JSON has it, and `marshal` keeps it."""
GONE = object()
"""In place of a leaf of the base that is no leaf any more."""
RARE = frozenset(["delivery", "files", "overrides", "provenance", "timing"])
"""Keys of a manifest that no table needs of all cells at once."""
_OWN = (("cell",), ("number",), ("config", "seed"), ("config", "policy", "training"))
"""Values of a manifest that differ between the cells of one curve and one strength."""
_PLACES, _SEED = {"cell": 0, "number": 1}, 2
_WITH_OWN, _WITH_OWN_SETTING = frozenset(path[0] for path in _OWN), frozenset(["policy"])
_PLAIN = (str, int, float, type(None))


def difference(base: dict[str, Any], node: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the values of a nested dict that differ from a base; None if the base has a key that it lacks.

    Example:
        >>> difference({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}, "d": 4})
        {'a': {'c': 3}, 'd': 4}
    """
    if node is base:
        return {}
    if len(node) < len(base) or any(key not in node for key in base):
        return None
    changes: dict[str, Any] = {}
    for key, value in node.items():
        other = base.get(key, _MISSING)
        if value is other:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            inner = difference(other, value)
            if inner is None:
                return None
            if inner:
                changes[key] = inner
        elif _differ(value, other):
            changes[key] = value
    return changes


def _differ(value: Any, other: Any) -> bool:
    if type(value) is not type(other):
        return True
    if isinstance(value, str | int):
        return value != other
    # By their text: [1] and [1.0], or 0.0 and -0.0, are equal and yet different configs.
    return repr(value) != repr(other)


def merge(base: Any, changes: Any) -> Any:
    """Returns a base with changes, see `difference`; what did not change is shared with the base.

    Example:
        >>> merge({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}})
        {'a': {'b': 1, 'c': 3}}
    """
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    merged = dict(base)
    for key, value in changes.items():
        merged[key] = merge(base[key], value) if key in base else value
    return merged


def _with_shared_keys(node: dict[str, Any]) -> dict[str, Any]:
    return {
        sys.intern(key): _with_shared_keys(value) if isinstance(value, dict) else value for key, value in node.items()
    }


def flatten(node: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of a nested dict by dotted key; a list is its JSON.

    Example:
        >>> flatten({"a": {"b": [1]}, "c": {}})
        {'a.b': '[1]', 'c': '{}'}
    """
    leaves: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, dict) and value:
            leaves |= flatten(value, f"{prefix}{key}.")
        else:
            # Many manifests have the same keys.
            leaves[sys.intern(prefix + key)] = value if isinstance(value, _PLAIN) else json.dumps(value)
    return leaves


class Base:
    """A manifest that others are changes of; see `ChangePool`."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.flat = flatten(manifest.get("config", {}))
        self.empty = [key for key, value in self.flat.items() if value == "{}"]


class Changes:
    """Changes of a base that many manifests have in common, without the keys `RARE` and the values `_OWN`."""

    __slots__ = ("base", "flat_config", "memo", "values")

    def __init__(self, base: Base, values: dict[str, Any]) -> None:
        self.base, self.values = base, _with_shared_keys(values)
        own = flatten(self.values.get("config", {}))
        self.flat_config = own | {k: GONE for k in base.empty if any(name.startswith(f"{k}.") for name in own)}
        """Leaves of the config by dotted key; a dict that is empty in the base and not here is `GONE`."""
        self.memo: dict[Any, Any] = {}
        """What readers derive from it once for all its manifests."""


class ChangePool:
    """Makes manifests that share equal changes: those of one curve and strength differ in `_OWN` alone."""

    def __init__(self) -> None:
        self._changes: dict[tuple[int, bytes], Changes] = {}

    def manifest(
        self, base: Base, changes: dict[str, Any], read: Callable[[int], dict[str, Any]] | None = None, place: int = 0
    ) -> Layered:
        """Returns a manifest; see `Layered`."""
        values = {key: value for key, value in changes.items() if key not in RARE}
        own = tuple([_take(values, path) for path in _OWN])
        # Unlike dicts, their bytes can be looked up, and 1 is not 1.0.
        key = id(base), marshal.dumps(values, 2)
        shared = self._changes.get(key)
        if shared is None:
            shared = self._changes[key] = Changes(base, values)
        return Layered(shared, own, read, place)


def _take(values: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Returns a value of a nested dict and leaves it out of the dict; `_MISSING` if there is none."""
    name, *rest = path
    if name not in values:
        return _MISSING
    inner = values[name]
    if not rest:
        del values[name]
        return inner
    if not isinstance(inner, dict) or rest[0] not in inner:
        return _MISSING
    # A copy: the caller keeps its dict.
    values[name] = inner = dict(inner)
    value = _take(inner, tuple(rest))
    if not inner and value is not _MISSING:
        del values[name]
    return value


class Layered(Mapping[str, Any]):
    """A manifest as changes of a base; it merges a value when it is asked for, so that many of them take little memory.

    Changes of the keys `RARE` may be missing: then `read` returns all changes, from the place that it is given.

    Example:
        >>> base = Base({"config": {"seed": 0, "lanes": 4}, "status": "done"})
        >>> manifest = ChangePool().manifest(base, {"config": {"seed": 1}})
        >>> manifest["config"], manifest["status"], manifest.setting("seed")
        ({'seed': 1, 'lanes': 4}, 'done', 1)
    """

    __slots__ = ("own", "place", "read", "shared")

    def __init__(
        self, shared: Changes, own: tuple, read: Callable[[int], dict[str, Any]] | None = None, place: int = 0
    ) -> None:
        self.shared, self.own = shared, own
        self.read, self.place = read, place

    @property
    def base(self) -> Base:
        """The manifest that this one is changes of."""
        return self.shared.base

    @property
    def changes(self) -> dict[str, Any]:
        """All changes, without those of the keys `RARE`."""
        changes = self.shared.values
        for path, value in zip(_OWN, self.own, strict=True):
            if value is not _MISSING:
                for name in reversed(path):
                    value = {name: value}
                changes = merge(changes, value)
        return changes

    def __getitem__(self, key: str) -> Any:
        own = self.own[_PLACES[key]] if key in _PLACES else _MISSING
        if own is not _MISSING:
            return own
        changes = self._changes_of(key)
        if key not in changes:
            return self.base.manifest[key]
        return merge(self.base.manifest.get(key), changes[key])

    def __contains__(self, key: object) -> bool:
        return key in self.base.manifest or key in self._changes_of(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.base.manifest | self._all_changes())

    def __len__(self) -> int:
        return len(self.base.manifest | self._all_changes())

    def _changes_of(self, key: object) -> dict[str, Any]:
        if key in RARE:
            return self._all_changes()
        return self.changes if key in _WITH_OWN else self.shared.values

    def _all_changes(self) -> dict[str, Any]:
        return self.changes if self.read is None else self.read(self.place)

    def setting(self, key: str) -> Any:
        """Returns one value of the config, and does not merge the others; None if there is none."""
        if key == "seed" and self.own[_SEED] is not _MISSING:
            return self.own[_SEED]
        changes = self.changes if key in _WITH_OWN_SETTING else self.shared.values
        own, shared = changes.get("config", {}), self.base.manifest.get("config", {})
        if key not in own:
            return shared.get(key)
        return merge(shared[key], own[key]) if key in shared else own[key]
