"""The edits that a simulator holds, as a value that several simulators can have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

Edit = Callable[[Any], Any]


class Edits:
    """The edits of all owners. The value never changes: one more edit makes a new value.

    Attributes:
        by_field: field to owner to edit, in the order of the first use.
        keys: owner to what decides its edits.
        in_model: the edited fields of the MuJoCo model, in alphabetical order.
        outside: the other edited fields.
        state: equal where the edits of the model are; worlds of one environment then have models of the same bytes.
    """

    __slots__ = ("by_field", "in_model", "keys", "outside", "state")

    def __init__(self, by_field: dict[str, dict[Any, Edit]], keys: dict[Any, Any], in_model: list[str]) -> None:
        self.by_field, self.keys, self.in_model = by_field, keys, in_model
        self.outside = [name for name in by_field if name not in in_model] if len(by_field) > len(in_model) else []
        self.state = tuple([(name, *[(owner, keys[owner]) for owner in by_field[name]]) for name in in_model])

    def after(self, owner: Any, changes: dict[str, Edit], key: Any, in_model: Collection[str]) -> Edits:
        """Returns the edits after one more; an owner that edits a field again replaces its own edit."""
        by_field, is_new = self.by_field.copy(), False
        for name, change in changes.items():
            is_new = is_new or name not in by_field
            by_field[name] = {**by_field[name], owner: change} if name in by_field else {owner: change}
        names = sorted({*self.in_model, *in_model}) if is_new else self.in_model
        return Edits(by_field, self.keys | {owner: key}, names)

    def without(self, owner: Any) -> Edits:
        """Returns the edits of all other owners."""
        if owner not in self.keys:
            return self
        left: dict[str, dict[Any, Edit]] = {}
        for name, edits in self.by_field.items():
            remaining = {other: edit for other, edit in edits.items() if other != owner} if owner in edits else edits
            if remaining:
                left[name] = remaining
        keys = {other: key for other, key in self.keys.items() if other != owner}
        return Edits(left, keys, [name for name in self.in_model if name in left]) if left else NO_EDITS


NO_EDITS = Edits({}, {}, [])
