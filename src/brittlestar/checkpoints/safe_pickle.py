"""Reads a pickle as data: an interpreter of its opcodes that calls nothing that the file names.

Arrays, numbers, text and containers come back as themselves. Everything else becomes an inert `Stub` with its name,
arguments and state.
"""

import io
import pickletools
import struct
import warnings
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from brittlestar.checkpoints.messages import TRUNCATED, unreadable
from brittlestar.checkpoints.pickle_stack import MARK, PickleStack, built
from brittlestar.checkpoints.safe_arrays import array_calls
from brittlestar.checkpoints.stubs import Call, Stub, as_key, make_global, name_of, plain_calls

MAX_PICKLE_BYTES = 256 << 20
"""Largest pickle that is read."""
MAX_OPCODES = 1_000_000
"""Most opcodes of one pickle; a state dict needs about 20 per tensor."""

_PROTOCOL, _STOP = b"\x80", b"."
"""The first byte of a pickle since protocol 2, and the last one of any pickle."""
_ERRORS = (
    ValueError, KeyError, IndexError, TypeError, OverflowError, AttributeError, EOFError, AssertionError, struct.error,
)  # fmt: skip
_PUSHED = (
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "BYTEARRAY8",
)  # fmt: skip
_HANDLERS: dict[str, Callable[[PickleStack, Any], Any]] = {
    **dict.fromkeys(_PUSHED, PickleStack.push),
    **dict.fromkeys(("PROTO", "FRAME", "READONLY_BUFFER"), lambda stack, _: None),
    "NONE": lambda stack, _: stack.push(None),
    "NEWTRUE": lambda stack, _: stack.push(True),
    "NEWFALSE": lambda stack, _: stack.push(False),
    "EMPTY_TUPLE": lambda stack, _: stack.push(()),
    "MARK": lambda stack, _: stack.push(MARK),
    "POP": lambda stack, _: stack.drop(),
    "POP_MARK": lambda stack, _: stack.since_mark(),
    "DUP": lambda stack, _: stack.push(stack.top()),
    "TUPLE": lambda stack, _: stack.push(tuple(stack.since_mark())),
    "TUPLE1": lambda stack, _: stack.push((stack.pop(),)),
    "TUPLE2": lambda stack, _: stack.push(tuple(stack.pop_several(2))),
    "TUPLE3": lambda stack, _: stack.push(tuple(stack.pop_several(3))),
    "LIST": lambda stack, _: stack.push(stack.since_mark()),
    "EMPTY_LIST": lambda stack, _: stack.push([]),
    "EMPTY_DICT": lambda stack, _: stack.push({}),
    "EMPTY_SET": lambda stack, _: stack.push(set()),
    "DICT": lambda stack, _: stack.set_items(stack.since_mark(), {}),
    "FROZENSET": lambda stack, _: stack.push(frozenset(map(as_key, stack.since_mark()))),
    "APPEND": lambda stack, _: stack.append([stack.pop()]),
    "APPENDS": lambda stack, _: stack.append(stack.since_mark()),
    "ADDITEMS": lambda stack, _: stack.add_keys(stack.since_mark()),
    "SETITEM": lambda stack, _: stack.set_items(stack.pop_several(2)),
    "SETITEMS": lambda stack, _: stack.set_items(stack.since_mark()),
    "MEMOIZE": lambda stack, _: stack.remember(),
    "GLOBAL": lambda stack, names: stack.push(make_global(*names.split(" ", 1))),
    "STACK_GLOBAL": lambda stack, _: stack.push(make_global(*stack.pop_several(2))),
    "REDUCE": lambda stack, _: stack.push(stack.call(*stack.pop_several(2))),
    "NEWOBJ": lambda stack, _: stack.push(stack.call(*stack.pop_several(2))),
    "NEWOBJ_EX": lambda stack, _: stack.push(_stub(*stack.pop_several(3))),
    "INST": lambda stack, names: stack.push(Stub(names.replace(" ", "."), tuple(stack.since_mark()))),
    "OBJ": lambda stack, _: stack.push(_stub(*stack.since_mark())),
    "BUILD": lambda stack, _: stack.set_state(stack.pop()),
    "BINPERSID": lambda stack, _: stack.push(stack.load_persistent(stack.pop())),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), PickleStack.remember),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), PickleStack.recall),
}


def read_pickle(
    file: bytes | BinaryIO, where: str, calls: Mapping[str, Call] | None = None, persistent: Call | None = None
) -> Any:
    r"""Reads one pickle without running any of it; an open file is left at the end of the pickle.

    Args:
        file: the bytes, or a file open at the start of the pickle.
        where: name of file and entry for messages.
        calls: further allowed functions by name, for example of torch.
        persistent: turns a persistent id into a value.

    Example:
        >>> read_pickle(b"cposix\nsystem\n(S'ls'\ntR.", "a.pkl").name
        'posix.system'
    """
    stream = io.BytesIO(file) if isinstance(file, bytes) else file
    stack = PickleStack({**plain_calls(), **array_calls(), **(calls or {})}, persistent)
    try:
        with warnings.catch_warnings():
            # pickletools warns of escapes that later versions of Python refuse.
            warnings.simplefilter("ignore")
            return _run(stream, stack)
    except RecursionError:
        raise unreadable(where, "it is nested too deeply") from None
    except _ERRORS as error:
        if isinstance(file, bytes) and file.startswith(_PROTOCOL) and not file.endswith(_STOP):
            raise unreadable(where, TRUNCATED) from None
        raise unreadable(where, f"damaged or unusual pickle ({type(error).__name__}: {error})") from None


def _run(stream: BinaryIO, stack: PickleStack) -> Any:
    for step, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        if step >= MAX_OPCODES:
            raise ValueError(f"more than {MAX_OPCODES} opcodes")
        if opcode.name == "STOP":
            break
        if opcode.name not in _HANDLERS:
            raise ValueError(f"opcode {opcode.name} is not allowed")
        _HANDLERS[opcode.name](stack, argument)
    return built(stack.pop())


def _stub(kind: Any, *arguments: Any) -> Stub:
    return Stub(name_of(kind), arguments)
