"""The edits that stand in a simulator, as a value that several simulators can have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

Edit = Callable[[Any], Any]


@dataclass(frozen=True, eq=False, slots=True)
class Standing:
    """Which edits of which owners stand. It never changes: an edit makes a new one.

    Example:
        >>> first = CLEAN.after("heavy", {"body_mass": lambda mass: 2 * mass}, key=2.0, in_model=["body_mass"])
        >>> first.state
        (('body_mass', ('heavy', 2.0)),)
        >>> first.without("heavy") is CLEAN
        True
    """

    edits: dict[str, dict[Any, Edit]]
    """Field to owner to edit, in the order of the first use."""
    keys: dict[Any, Any]
    """Owner to what decides its edits."""
    in_model: frozenset[str]
    """The edited fields that are in a MuJoCo model."""
    outside: tuple[str, ...]
    """The edited fields that are not."""
    state: tuple
    """Equal where the edits of the model are."""

    def after(self, owner: Any, changes: dict[str, Edit], key: Any, in_model: Collection[str]) -> Standing:
        """Returns what stands after an edit; an owner that edits a field again replaces its own edit."""
        edits = self.edits | {name: {**self.edits.get(name, {}), owner: change} for name, change in changes.items()}
        return _standing(edits, self.keys | {owner: key}, self.in_model.union(in_model))

    def without(self, owner: Any) -> Standing:
        """Returns what stands without the edits of one owner."""
        if owner not in self.keys:
            return self
        left = {name: {who: edit for who, edit in edits.items() if who != owner} for name, edits in self.edits.items()}
        edits = {name: left[name] if owner in self.edits[name] else self.edits[name] for name in left if left[name]}
        keys = {who: key for who, key in self.keys.items() if who != owner}
        return _standing(edits, keys, self.in_model.intersection(edits)) if edits else CLEAN


def _standing(edits: dict[str, dict[Any, Edit]], keys: dict[Any, Any], in_model: frozenset[str]) -> Standing:
    names = sorted(in_model)
    state = tuple([(name, *[(owner, keys[owner]) for owner in edits[name]]) for name in names])
    return Standing(edits, keys, in_model, tuple(edits.keys() - in_model), state)


CLEAN = Standing({}, {}, frozenset(), (), ())
"""No edit stands."""
