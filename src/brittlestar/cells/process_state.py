"""What the code of a policy or an environment can change for the cells that come after it in the same process."""

import contextlib
import decimal
import gc
import locale
import os
import resource
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from brittlestar.policies.global_generators import preserve_generators, seed_globally

_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGALRM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCHLD,
)
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
_SMALLEST_NORMAL = 2.0**-1022
_STRICTEST_MASK = 0o077


_is_altered = False


def is_altered() -> bool:
    """Whether a module that some cell imported has changed how this process computes: no other code should run here."""
    return _is_altered


@contextlib.contextmanager
def own_process_state(seed: int, imports: bool = False) -> Iterator[None]:
    """Seeds the global random generators for a cell, and undoes behind it what its code changed in the process.

    That is the folder, variables, the umask, signal handlers and alarms, limits, how NumPy and torch compute, and what
    else this module lists. With `imports`, new variables, paths, filters of warnings and ways to compute remain,
    because a module sets what it needs only once. If it computes in another way, `is_altered` is true from then on.

    brittlestar draws from no global generator. A policy or an environment that does gets the same numbers whatever
    cells its process ran before.

    Example:
        >>> import random
        >>> with own_process_state(seed=0):
        ...     first = random.random()
        >>> with own_process_state(seed=0):
        ...     print(random.random() == first)
        True
    """
    global _is_altered
    folder, variables = os.getcwd(), dict(os.environ)
    states = [(read, restore, read()) for read, restore in _STATES + ([] if imports else _COMPUTING + _IMPORTING)]
    computing = [read() for read, _ in _COMPUTING]
    try:
        with preserve_generators():
            seed_globally(seed, step=0)
            yield
    except KeyboardInterrupt:
        # The answer to a signal has changed the handlers: the process ends.
        states = [state for state in states if state[0] is not _handlers]
        raise
    finally:
        os.chdir(folder)
        _restore_variables(variables, new_variables=imports)
        for read, restore, before in states:
            if read() != before:
                restore(before)
        _is_altered |= [read() for read, _ in _COMPUTING] != computing


def _restore_variables(variables: dict[str, str], new_variables: bool) -> None:
    zone = os.environ.get("TZ")
    for name in [] if new_variables else [name for name in os.environ if name not in variables]:
        del os.environ[name]
    for name, value in variables.items():
        os.environ[name] = value
    if os.environ.get("TZ") != zone:
        time.tzset()


def _umask() -> int:
    # There is no other way to read it. Files that another thread makes meanwhile are too private, not too public.
    mask = os.umask(_STRICTEST_MASK)
    os.umask(mask)
    return mask


def _handlers() -> list[Any]:
    return [signal.getsignal(number) for number in _SIGNALS]


def _set_handlers(handlers: list[Any]) -> None:
    for number, handler in zip(_SIGNALS, handlers, strict=True):
        # Only the main thread may set handlers. One that was not set from Python is None.
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(number, handler)


def _alarms() -> list[bool]:
    """Whether a signal comes after some time."""
    return [signal.getitimer(timer)[0] > 0 for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]


def _stop_alarms(alarms: list[bool]) -> None:
    for timer, was_set in zip((signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF), alarms, strict=True):
        if not was_set:
            signal.setitimer(timer, 0)


def _soft_limits() -> list[int]:
    return [resource.getrlimit(limit)[0] for limit in _LIMITS]


def _set_soft_limits(soft: list[int]) -> None:
    for limit, value in zip(_LIMITS, soft, strict=True):
        # A lower hard limit is for good.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _numpy_errors() -> tuple[dict[str, Any], Any, int]:
    return {**np.geterr()}, np.geterrcall(), np.getbufsize()


def _set_numpy_errors(state: tuple[dict[str, Any], Any, int]) -> None:
    np.seterr(**state[0])
    np.seterrcall(state[1])
    np.setbufsize(state[2])


def _torch() -> Any:
    """Returns torch as far as its settings exist; a module that is being imported in another thread has none yet."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "are_deterministic_algorithms_enabled") else None


def _torch_settings() -> tuple[str, bool, bool]:
    """Returns type, gradients and determinism of torch; without torch, those that it starts with."""
    torch = _torch()
    if torch is None:
        return "float32", True, False
    kind = str(torch.get_default_dtype()).rpartition(".")[2]
    return kind, torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled()


def _set_torch_settings(settings: tuple[str, bool, bool]) -> None:
    torch = _torch()
    torch.set_default_dtype(getattr(torch, settings[0]))
    torch.set_grad_enabled(settings[1])
    torch.use_deterministic_algorithms(settings[2])


def _torch_threads() -> int | None:
    """Returns the threads of torch; None before it is imported."""
    torch = _torch()
    return None if torch is None else torch.get_num_threads()


def _set_torch_threads(threads: int | None) -> None:
    if threads is not None:
        _torch().set_num_threads(threads)


def _flushes_denormals() -> bool:
    """Whether the processor takes numbers below 2**-1022 for 0, as some libraries make it do for speed."""
    return float(np.float64(_SMALLEST_NORMAL) / np.float64(2.0)) == 0.0


def _keep_denormals(flushes: bool) -> None:
    # Only torch can be asked to undo it.
    if _torch() is not None:
        _torch().set_flush_denormal(flushes)


def _set_collecting(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()


def _set_streams(streams: tuple[Any, Any]) -> None:
    sys.stdout, sys.stderr = streams


def _set_path(path: list[str]) -> None:
    sys.path[:] = path


def _set_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]


def _decimals() -> tuple[int, str]:
    return decimal.getcontext().prec, decimal.getcontext().rounding


def _set_decimals(state: tuple[int, str]) -> None:
    decimal.getcontext().prec, decimal.getcontext().rounding = state


_States = list[tuple[Callable[[], Any], Callable[[Any], Any]]]
_STATES: _States = [
    (_umask, os.umask),
    (_handlers, _set_handlers),
    (_alarms, _stop_alarms),
    (_soft_limits, _set_soft_limits),
    (socket.getdefaulttimeout, socket.setdefaulttimeout),
    (gc.isenabled, _set_collecting),
    (lambda: (sys.stdout, sys.stderr), _set_streams),
]
"""How to read and to restore what remains in the process."""
_COMPUTING: _States = [
    (_locale, lambda name: locale.setlocale(locale.LC_ALL, name)),
    (_numpy_errors, _set_numpy_errors),
    (_torch_settings, _set_torch_settings),
    (_flushes_denormals, _keep_denormals),
    (_decimals, _set_decimals),
    (sys.getrecursionlimit, sys.setrecursionlimit),
]
"""What changes numbers, or whether there are any."""
_IMPORTING: _States = [
    (_torch_threads, _set_torch_threads),
    (lambda: [*sys.path], _set_path),
    (lambda: [*warnings.filters], _set_filters),
]
"""What may change with an import, and changes no number of other code."""
