"""The edits that stand in a simulator, as a value that several simulators can have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

Edit = Callable[[Any], Any]


class Standing:
    """Which edits of which owners stand. Nobody changes one: an edit makes a new one.

    Attributes:
        edits: field to owner to edit, in the order of the first use.
        keys: owner to what decides its edits.
        in_model: the edited fields that are in a MuJoCo model, in alphabetical order.
        outside: the edited fields that are not.
        state: equal where the edits of the model are.

    Example:
        >>> first = CLEAN.after("heavy", {"body_mass": lambda mass: 2 * mass}, key=2.0, in_model=["body_mass"])
        >>> first.state
        (('body_mass', ('heavy', 2.0)),)
        >>> first.without("heavy") is CLEAN
        True
    """

    __slots__ = ("edits", "in_model", "keys", "outside", "state")

    def __init__(self, edits: dict[str, dict[Any, Edit]], keys: dict[Any, Any], in_model: list[str]) -> None:
        self.edits, self.keys, self.in_model = edits, keys, in_model
        self.outside = [name for name in edits if name not in in_model] if len(edits) > len(in_model) else []
        self.state = tuple([(name, *[(owner, keys[owner]) for owner in edits[name]]) for name in in_model])

    def after(self, owner: Any, changes: dict[str, Edit], key: Any, in_model: Collection[str]) -> Standing:
        """Returns what stands after an edit; an owner that edits a field again replaces its own edit."""
        edits, is_new = self.edits.copy(), False
        for name, change in changes.items():
            is_new = is_new or name not in edits
            edits[name] = {**edits[name], owner: change} if name in edits else {owner: change}
        names = sorted({*self.in_model, *in_model}) if is_new else self.in_model
        return Standing(edits, self.keys | {owner: key}, names)

    def without(self, owner: Any) -> Standing:
        """Returns what stands without the edits of one owner."""
        if owner not in self.keys:
            return self
        left = {name: {who: edit for who, edit in edits.items() if who != owner} for name, edits in self.edits.items()}
        edits = {name: left[name] if owner in self.edits[name] else self.edits[name] for name in left if left[name]}
        keys = {who: key for who, key in self.keys.items() if who != owner}
        return Standing(edits, keys, [name for name in self.in_model if name in edits]) if edits else CLEAN


CLEAN = Standing({}, {}, [])
"""No edit stands."""
