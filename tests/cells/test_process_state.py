"""A cell leaves its process as it found it."""

import decimal
import gc
import io
import locale
import os
import random
import resource
import signal
import socket
import sys
import time
import warnings

import numpy as np
import pytest

from brittlestar.cells import process_state
from brittlestar.cells.process_state import own_process_state


def test_folder_variables_and_generators_are_restored(tmp_path, monkeypatch):
    monkeypatch.setenv("KEPT", "1")
    folder, before, state = os.getcwd(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    with own_process_state(3):
        os.chdir(tmp_path)
        os.environ["KEPT"] = "2"
        os.environ["ADDED"] = "1"
        random.random(), np.random.rand()  # noqa: NPY002
    assert (os.getcwd(), os.environ["KEPT"], "ADDED" in os.environ) == (folder, "1", False)
    assert random.getstate() == before and np.random.get_state()[1].tolist() == state  # noqa: NPY002


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_the_same_seed_gives_the_same_numbers_whatever_came_before(draw):
    numbers = []
    for seed in (5, 6, 5, 2**61 + 5):
        draw()
        with own_process_state(seed):
            numbers.append(draw())
    assert numbers[0] == numbers[2] != numbers[1]


def test_variables_of_imported_modules_remain(monkeypatch):
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.delenv("ADDED", raising=False)
    with own_process_state(3, imports=True):
        os.environ["ADDED"], os.environ["KEPT"] = "1", "2"
    assert (os.environ.pop("ADDED"), os.environ["KEPT"]) == ("1", "1")


def umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def torch():
    return pytest.importorskip("torch")


def lower_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def new_streams():
    sys.stdout = io.StringIO()


CHANGES = {
    "umask": (umask, lambda: os.umask(0o777)),
    "signal handler": (lambda: signal.getsignal(signal.SIGTERM), lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)),
    "alarm": (lambda: signal.getitimer(signal.ITIMER_REAL), lambda: signal.alarm(1000)),
    "soft limit": (lambda: resource.getrlimit(resource.RLIMIT_NOFILE), lower_files),
    "timeout of sockets": (socket.getdefaulttimeout, lambda: socket.setdefaulttimeout(0.01)),
    "collector": (gc.isenabled, gc.disable),
    "stream": (lambda: sys.stdout, new_streams),
}
COMPUTING = {
    "locale": (lambda: locale.setlocale(locale.LC_ALL), lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8")),
    "errors of NumPy": (np.geterr, lambda: np.seterr(all="raise")),
    "torch type": (lambda: torch().get_default_dtype(), lambda: torch().set_default_dtype(torch().float64)),
    "torch gradients": (lambda: torch().is_grad_enabled(), lambda: torch().set_grad_enabled(False)),
    "denormals": (lambda: bool(np.float64(2.0**-1022) / 2 == 0), lambda: torch().set_flush_denormal(True)),
    "decimals": (lambda: decimal.getcontext().prec, lambda: setattr(decimal.getcontext(), "prec", 3)),
    "recursion": (sys.getrecursionlimit, lambda: sys.setrecursionlimit(3210)),
}
IMPORTING = {
    "torch threads": (lambda: torch().get_num_threads(), lambda: torch().set_num_threads(3)),
    "path": (lambda: [*sys.path], lambda: sys.path.append("/nowhere")),
    "filters": (lambda: [*warnings.filters], lambda: warnings.simplefilter("ignore")),
}


@pytest.mark.parametrize("name", CHANGES | COMPUTING | IMPORTING)
def test_a_rollout_leaves_no_setting_behind(name, monkeypatch):
    monkeypatch.setattr(process_state, "_is_altered", False)
    read, change = (CHANGES | COMPUTING | IMPORTING)[name]
    before = read()
    with own_process_state(3):
        change()
        assert read() != before, "the test changes something"
    assert read() == before and not process_state.is_altered()


@pytest.mark.parametrize("name", CHANGES | COMPUTING)
def test_an_import_may_only_change_how_its_process_computes_and_that_is_known(name, monkeypatch):
    monkeypatch.setattr(process_state, "_is_altered", False)
    read, change = (CHANGES | COMPUTING)[name]
    before = read()
    with own_process_state(3):
        with own_process_state(3, imports=True):
            change()
        assert (read() != before) == process_state.is_altered() == (name in COMPUTING)
    assert read() == before


def test_the_time_zone_is_restored(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    with own_process_state(3):
        os.environ["TZ"] = "Asia/Tokyo"
        time.tzset()
    assert (time.tzname[0], os.environ["TZ"]) == ("UTC", "UTC")


def test_handlers_remain_as_the_answer_to_a_signal_has_set_them():
    before = signal.getsignal(signal.SIGTERM)

    def answer():
        with own_process_state(3):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            answer()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
