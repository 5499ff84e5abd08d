"""Nested dicts that differ in a few values: the differences, and a view of both together."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_MISSING = object()
GONE = object()
"""In place of a leaf of the base that is no leaf any more."""
RARE = frozenset(["delivery", "files", "overrides", "provenance", "timing"])
"""Keys of a manifest that no table needs of all cells at once."""
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


def slim(changes: dict[str, Any]) -> dict[str, Any]:
    """Returns changes of a manifest without the keys `RARE`; equal keys of many of them are one object."""
    return _with_shared_keys({key: value for key, value in changes.items() if key not in RARE})


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
    """A manifest that others are changes of."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.flat = flatten(manifest.get("config", {}))
        self.empty = [key for key, value in self.flat.items() if value == "{}"]


class Layered(Mapping[str, Any]):
    """A manifest as changes of a base; it merges a value when it is asked for, so that many of them take little memory.

    Changes of the keys `RARE` may be missing: then `read` returns all changes, from the place that it is given.

    Example:
        >>> manifest = Layered(Base({"config": {"seed": 0, "lanes": 4}, "status": "done"}), {"config": {"seed": 1}})
        >>> manifest["config"], manifest["status"], manifest.changed_config()
        ({'seed': 1, 'lanes': 4}, 'done', {'seed': 1})
    """

    __slots__ = ("_place", "_read", "base", "changes")

    def __init__(
        self, base: Base, changes: dict[str, Any], read: Callable[[int], dict[str, Any]] | None = None, place: int = 0
    ) -> None:
        self.base, self.changes = base, changes
        self._read, self._place = read, place

    def __getitem__(self, key: str) -> Any:
        changes = self._all_changes() if key in RARE else self.changes
        if key not in changes:
            return self.base.manifest[key]
        return merge(self.base.manifest.get(key), changes[key])

    def __contains__(self, key: object) -> bool:
        return key in self.base.manifest or key in (self._all_changes() if key in RARE else self.changes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.base.manifest | self._all_changes())

    def __len__(self) -> int:
        return len(self.base.manifest | self._all_changes())

    def _all_changes(self) -> dict[str, Any]:
        return self.changes if self._read is None else self._read(self._place)

    def setting(self, key: str) -> Any:
        """Returns one value of the config, and does not merge the others; None if there is none."""
        own, shared = self.changes.get("config", {}), self.base.manifest.get("config", {})
        if key not in own:
            return shared.get(key)
        return merge(shared[key], own[key]) if key in shared else own[key]

    def changed_config(self) -> dict[str, Any]:
        """Returns the leaves of the config that are not those of the base, by dotted key.

        A dict that is empty in the base and not in the changes is `GONE`.
        """
        own = flatten(self.changes.get("config", {}))
        return own | {key: GONE for key in self.base.empty if any(name.startswith(f"{key}.") for name in own)}
