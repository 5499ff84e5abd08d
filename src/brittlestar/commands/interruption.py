"""Ctrl-C and SIGTERM: one line, the exit code of the signal, and nothing left behind, from the start of a command on.

The first signal raises `Interrupted` in the main thread, so that code that is at work removes what it has half written.
Before a command has started there is nothing to remove, and the process ends at once. So it does at a second signal,
and when the exception gets lost, as in a library that catches everything.
"""

# Python has these already when it starts. Any other import would delay the first answer to a signal.
import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_NAMES = {int(_signal.SIGINT): "interrupted", int(_signal.SIGTERM): "terminated"}
_CLEANUP_SECONDS = 20.0
"""Time for the code at work to end after a signal."""
_EXIT_SECONDS = 12.0
"""Time for the functions that are registered with `atexit`."""
_FAILED_SIGNAL = 128
"""An exit code is this plus the number of the signal."""
_KEPT = "; finished work is kept, the same command continues"
_received: int | None = None
_started, _outcome = False, _KEPT


def answer_signals() -> None:
    """Answers both signals from now on; one that the program ignores, as behind `nohup`, remains ignored."""
    try:
        for number in _NAMES:
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, _receive)
    except ValueError:
        # Only the main thread may answer signals.
        return
    import threading

    sys.excepthook, threading.excepthook, sys.unraisablehook = _hook, _thread_hook, _unraisable_hook


def is_own_process(program: str) -> bool:
    """Whether this process was started as the executable, not by another program that imports it, nor as a worker."""
    # A worker imports the program before it knows its parent.
    is_worker = any(word.startswith("from multiprocessing.") for word in sys.orig_argv)
    return not is_worker and os.path.basename(program) in ("brittlestar", "brittlestar.exe", "-m")


def begin() -> None:
    """Notes that a command has started: from now on a signal raises an exception."""
    global _started, _outcome
    _started, _outcome = True, _KEPT


def keep_nothing() -> None:
    """Notes that the command leaves no work behind, such as a server: the line of a signal then promises none."""
    global _outcome
    _outcome = ""


def end_if_interrupted(error: BaseException | None = None) -> None:
    """Ends the process if it received a signal, whatever the code at work has made of that."""
    if _received is not None:
        _end(_received, str(error) if isinstance(error, KeyboardInterrupt) else "")


def stop_line(error: KeyboardInterrupt) -> tuple[str, int]:
    """Returns the line of an interruption, and its exit code."""
    number = int(getattr(error, "number", _signal.SIGINT))
    return _line(number, str(error)), _FAILED_SIGNAL + number


def _line(number: int, text: str) -> str:
    return f"{text or _NAMES[number]}{_outcome}"


def _receive(number: int, frame: "Any") -> None:
    global _received
    if not _started:
        # There is nothing to remove yet, and this may be in the middle of any import.
        os.write(2, f"brittlestar: {_line(number, '')}\n".encode())
        os._exit(_FAILED_SIGNAL + number)
    if _received is not None:
        _end(number)
    _received = number
    import threading

    watch = threading.Timer(_CLEANUP_SECONDS, _end, [number])
    watch.daemon = True
    watch.start()
    from brittlestar.errors import Interrupted

    raise Interrupted(number)


def _end(number: int, text: str = "") -> "NoReturn":
    import atexit
    import contextlib
    import threading

    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(Exception):
        sys.stderr.write(f"brittlestar: {_line(number, text)}\n")
        sys.stderr.flush()
    # Not by the way of a program's end, which would wait for all threads, also for those of libraries.
    cleanup = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    cleanup.start()
    cleanup.join(_EXIT_SECONDS)
    os._exit(_FAILED_SIGNAL + number)


def _hook(kind: type[BaseException], error: BaseException, trace: "Any") -> None:
    end_if_interrupted(error)
    sys.__excepthook__(kind, error, trace)


def _thread_hook(arguments: "Any") -> None:
    import threading

    # Other threads may fail while the program ends.
    if _received is None:
        threading.__excepthook__(arguments)


def _unraisable_hook(arguments: "Any") -> None:
    # The exception of the signal came up where Python ignores exceptions, such as in a destructor.
    if isinstance(arguments.exc_value, KeyboardInterrupt):
        end_if_interrupted()
    elif _received is None:
        sys.__unraisablehook__(arguments)
