"""Reads a pickle as data: it has its own small machine, which calls nothing that the file names.

Only arrays, numbers, text and containers come back as themselves. Anything else becomes a `Stub`, which knows
its name, its arguments and its state, and does nothing.
"""

from __future__ import annotations

import io
import pickletools
import struct
import warnings
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_arrays import Pending, array_calls
from brittlestar.checkpoints.stubs import Call, Global, Stub, as_key, expect, make_global, name_of, plain_calls

MAX_PICKLE_BYTES = 256 << 20
"""Largest pickle that is read."""
MAX_OPCODES = 1_000_000
"""Most steps of one pickle; a state dict takes about 20 per tensor."""
MAX_COPIED = 4_000_000
"""Most items that containers may be built from, so that a small file cannot copy a large one again and again."""

_BROKEN = (
    ValueError, KeyError, IndexError, TypeError, OverflowError, AttributeError, EOFError, AssertionError, struct.error,
)  # fmt: skip
_PUSHED = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "BYTEARRAY8",
})  # fmt: skip
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = ("PROTO", "FRAME", "READONLY_BUFFER")
_MARK = object()


def read_pickle(
    file: bytes | BinaryIO,
    where: str,
    calls: Mapping[str, Call] | None = None,
    persistent: Call | None = None,
) -> Any:
    r"""Reads one pickle without running any of it; an open file is left behind its end.

    Args:
        file: the bytes, or a file open at the start of the pickle.
        where: name of file and entry for messages.
        calls: more functions to admit by name, for example of torch.
        persistent: turns the content of a persistent id into a value.

    Example:
        >>> read_pickle(b"cposix\nsystem\n(S'ls'\ntR.", "a.pkl").name
        'posix.system'
    """
    stream = io.BytesIO(file) if isinstance(file, bytes) else file
    machine = _Machine({**plain_calls(), **array_calls(), **(calls or {})}, persistent)
    try:
        with warnings.catch_warnings():
            # pickletools warns of escapes in text that a later Python refuses.
            warnings.simplefilter("ignore")
            return machine.run(stream)
    except RecursionError:
        raise unreadable(where, "it is nested too deeply") from None
    except _BROKEN as error:
        raise unreadable(where, f"damaged or unusual pickle ({type(error).__name__}: {error})") from None


class _Machine:
    def __init__(self, calls: Mapping[str, Call], persistent: Call | None) -> None:
        self._calls, self._persistent = calls, persistent
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._copied = 0

    def run(self, stream: BinaryIO) -> Any:
        for step, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if step >= MAX_OPCODES:
                raise ValueError(f"more than {MAX_OPCODES} steps")
            name = opcode.name
            if name == "STOP":
                break
            if name in _PUSHED:
                self._stack.append(argument)
            elif name in _CONSTANTS:
                self._stack.append(_CONSTANTS[name])
            elif name in _EMPTY:
                self._stack.append(_EMPTY[name]())
            elif name in _TUPLES:
                self._stack.append(tuple(reversed([self._pop() for _ in range(_TUPLES[name])])))
            elif name not in _IGNORED:
                self._step(name, argument)
        return _built(self._pop())

    def _step(self, name: str, argument: Any) -> None:
        handler = getattr(self, f"_do_{name.lower()}", None)
        if handler is None:
            raise ValueError(f"step {name} is not admitted")
        handler(argument)

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value should be")
        return value

    def _top(self) -> Any:
        if self._stack[-1] is _MARK:
            raise ValueError("a mark where a value should be")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        for place in range(len(self._stack) - 1, -1, -1):
            if self._stack[place] is _MARK:
                values = self._stack[place + 1 :]
                del self._stack[place:]
                return values
        raise ValueError("no mark")

    def _do_mark(self, _: Any) -> None:
        self._stack.append(_MARK)

    def _do_pop(self, _: Any) -> None:
        self._stack.pop()

    def _do_pop_mark(self, _: Any) -> None:
        self._since_mark()

    def _do_dup(self, _: Any) -> None:
        self._stack.append(self._top())

    def _do_tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _do_list(self, _: Any) -> None:
        self._stack.append(self._since_mark())

    def _do_dict(self, _: Any) -> None:
        values = self._since_mark()
        self._stack.append({})
        self._set_items(values)

    def _do_frozenset(self, _: Any) -> None:
        self._stack.append(frozenset(map(as_key, self._since_mark())))

    def _do_append(self, _: Any) -> None:
        self._append([self._pop()])

    def _do_appends(self, _: Any) -> None:
        self._append(self._since_mark())

    def _append(self, values: list[Any]) -> None:
        target = self._top()
        (target.items if isinstance(target, Stub) else expect(target, list)).extend(map(_built, values))

    def _do_additems(self, _: Any) -> None:
        values = self._since_mark()
        expect(self._top(), set).update(map(as_key, values))

    def _do_setitem(self, _: Any) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _do_setitems(self, _: Any) -> None:
        self._set_items(self._since_mark())

    def _set_items(self, values: list[Any]) -> None:
        target = self._top()
        pairs = list(zip(map(as_key, values[::2]), map(_built, values[1::2]), strict=True))
        if isinstance(target, Stub):
            target.items.extend(pairs)
        else:
            expect(target, dict).update(pairs)

    def _do_put(self, key: int) -> None:
        value = self._memo[key] = self._top()
        if isinstance(value, Pending):
            value.memo.append(key)

    _do_binput = _do_long_binput = _do_put

    def _do_memoize(self, _: Any) -> None:
        self._do_put(len(self._memo))

    def _do_get(self, key: int) -> None:
        self._stack.append(self._memo[key])

    _do_binget = _do_long_binget = _do_get

    def _do_global(self, names: str) -> None:
        self._stack.append(make_global(*names.split(" ", 1)))

    def _do_stack_global(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        self._stack.append(make_global(expect(module, str), expect(name, str)))

    def _do_reduce(self, _: Any) -> None:
        arguments, function = expect(self._pop(), tuple), self._pop()
        self._stack.append(self._call(function, arguments))

    _do_newobj = _do_reduce

    def _do_newobj_ex(self, _: Any) -> None:
        keywords, arguments, kind = self._pop(), expect(self._pop(), tuple), self._pop()
        self._stack.append(Stub(name_of(kind), (arguments, keywords)))

    def _do_inst(self, names: str) -> None:
        self._stack.append(Stub(names.replace(" ", "."), tuple(self._since_mark())))

    def _do_obj(self, _: Any) -> None:
        kind, *arguments = self._since_mark()
        self._stack.append(Stub(name_of(kind), tuple(arguments)))

    def _do_build(self, _: Any) -> None:
        state, target = self._pop(), self._top()
        if isinstance(target, Pending):
            self._stack[-1] = target.build(_built(state))
            self._memo.update(dict.fromkeys(target.memo, self._stack[-1]))
        elif isinstance(target, Stub):
            # Kept, not copied: one large state for a million objects would fill the memory.
            target.state = _attributes(state)

    def _do_binpersid(self, _: Any) -> None:
        if self._persistent is None:
            raise ValueError("a persistent id")
        self._stack.append(self._persistent(self._pop()))

    def _call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        name = name_of(function)
        if isinstance(function, Global) and name in self._calls:
            self._spend(arguments)
            result = self._calls[name](tuple(map(_built, arguments)))
            if result is not NotImplemented:
                return result
        if name in ("copyreg._reconstructor", "copy_reg._reconstructor", "copyreg.__newobj__") and arguments:
            return Stub(name_of(arguments[0]), arguments)
        return Stub(name, arguments)

    def _spend(self, arguments: tuple[Any, ...]) -> None:
        items = sum(len(part) for part in arguments if isinstance(part, (list, dict, tuple, set, frozenset)))
        letters = sum(len(part) for part in arguments if isinstance(part, str))
        self._copied += len(arguments) + items + letters // 32
        if self._copied > MAX_COPIED:
            raise ValueError(f"more than {MAX_COPIED} items to copy")


def _attributes(state: Any) -> Any:
    # (dict, slots) as of classes with __slots__
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict) and not state[0]:
        return state[1]
    return state


def _built(value: Any) -> Any:
    if isinstance(value, Pending):
        raise ValueError(f"{printable(value.kind)} without its state")
    return value
