"""The stack and the memo of a pickle interpreter, and its only way to build and call."""

from collections.abc import Mapping
from typing import Any

from brittlestar.checkpoints.messages import printable
from brittlestar.checkpoints.safe_arrays import Pending
from brittlestar.checkpoints.stubs import Call, Global, Stub, as_key, expect, name_of

MAX_COPIED = 4_000_000
"""Most items that containers may be built from, so that a small file cannot copy a large container many times."""

MARK = object()
_CONSTRUCTORS = ("copyreg._reconstructor", "copy_reg._reconstructor", "copyreg.__newobj__")


class PickleStack:
    """Values on a stack and in a memo; only allowed functions are called.

    Args:
        calls: allowed functions by name; calls of other functions become stubs.
        persistent: turns a persistent id into a value; None refuses persistent ids.
    """

    def __init__(self, calls: Mapping[str, Call], persistent: Call | None = None) -> None:
        self._calls, self._persistent = calls, persistent
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._copied = 0

    def push(self, value: Any) -> None:
        """Pushes a value, or `MARK`."""
        self._stack.append(value)

    def drop(self) -> None:
        """Removes the top, which may be a mark."""
        self._stack.pop()

    def pop(self) -> Any:
        """Removes and returns the top."""
        return _value(self._stack.pop())

    def pop_several(self, count: int) -> list[Any]:
        """Removes and returns the last values, in the order in which they were pushed."""
        return [self.pop() for _ in range(count)][::-1]

    def top(self) -> Any:
        """Returns the top."""
        return _value(self._stack[-1])

    def since_mark(self) -> list[Any]:
        """Removes the last mark and returns the values after it."""
        for place in range(len(self._stack) - 1, -1, -1):
            if self._stack[place] is MARK:
                values = self._stack[place + 1 :]
                del self._stack[place:]
                return values
        raise ValueError("no mark")

    def append(self, values: list[Any]) -> None:
        """Appends values to the list or the stub on the top."""
        target = self.top()
        (target.items if isinstance(target, Stub) else expect(target, list)).extend(map(built, values))

    def add_keys(self, values: list[Any]) -> None:
        """Adds values to the set on the top."""
        expect(self.top(), set).update(map(as_key, values))

    def set_items(self, values: list[Any], new: dict[Any, Any] | None = None) -> None:
        """Sets alternating keys and values in the dict or the stub on the top, or in a new one."""
        if new is not None:
            self.push(new)
        target = self.top()
        pairs = list(zip(map(as_key, values[::2]), map(built, values[1::2]), strict=True))
        if isinstance(target, Stub):
            target.items.extend(pairs)
        else:
            expect(target, dict).update(pairs)

    def set_state(self, state: Any) -> None:
        """Sets the state of the array, dtype or stub on the top."""
        target = self.top()
        if isinstance(target, Pending):
            self._stack[-1] = target.build(built(state))
            self._memo.update(dict.fromkeys(target.memo, self._stack[-1]))
        elif isinstance(target, Stub):
            # Classes with `__slots__` have a state (dict, slots).
            has_slots = isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict) and not state[0]
            # Not copied: one large state for a million objects would fill the memory.
            target.state = state[1] if has_slots else state

    def remember(self, key: int | None = None) -> None:
        """Stores the top in the memo, by default under the next number."""
        key, value = len(self._memo) if key is None else key, self.top()
        self._memo[key] = value
        if isinstance(value, Pending):
            value.memo.append(key)

    def recall(self, key: int) -> None:
        """Pushes a value of the memo."""
        self.push(self._memo[key])

    def load_persistent(self, identifier: Any) -> Any:
        """Returns the value of a persistent id."""
        if self._persistent is None:
            raise ValueError("a persistent id")
        return self._persistent(identifier)

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Calls an allowed function; returns a stub for any other."""
        name, arguments = name_of(function), expect(arguments, tuple)
        if isinstance(function, Global) and name in self._calls:
            self._count_copied(arguments)
            result = self._calls[name](tuple(map(built, arguments)))
            if result is not NotImplemented:
                return result
        if name in _CONSTRUCTORS and arguments:
            return Stub(name_of(arguments[0]), arguments)
        return Stub(name, arguments)

    def _count_copied(self, arguments: tuple[Any, ...]) -> None:
        items = sum(len(part) for part in arguments if isinstance(part, (list, dict, tuple, set, frozenset)))
        letters = sum(len(part) for part in arguments if isinstance(part, str))
        self._copied += len(arguments) + items + letters // 32
        if self._copied > MAX_COPIED:
            raise ValueError(f"more than {MAX_COPIED} items to copy")


def _value(value: Any) -> Any:
    if value is MARK:
        raise ValueError("a mark where a value should be")
    return value


def built(value: Any) -> Any:
    """Returns a value; refuses an array or dtype without its state."""
    if isinstance(value, Pending):
        raise ValueError(f"{printable(value.kind)} without its state")
    return value
