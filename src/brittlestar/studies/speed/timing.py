"""Ways to measure (in turns, from inside, as a whole command), and figures with the bars they are held to."""

import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock


@dataclass
class Turns:
    """Measurements that took turns, by round and name."""

    rounds: list[dict[str, float]]

    def median(self, name: str) -> float:
        """Returns the median over the rounds."""
        return statistics.median(seconds[name] for seconds in self.rounds)

    def ratio(self, above: str, below: str) -> float:
        """Returns the median of the ratios of each round."""
        return statistics.median(seconds[above] / seconds[below] for seconds in self.rounds)


def take_turns(rounds: int, **measures: Callable[[], float]) -> Turns:
    """Measures A B A B, so that a machine that changes its speed does so for all of them."""
    return Turns([{name: measure() for name, measure in measures.items()} for _ in range(rounds)])


class _Baton:
    """Runs one of several threads at a time, and adds up the processor time of each."""

    def __init__(self, names: Sequence[str]) -> None:
        self.seconds = dict.fromkeys(names, 0.0)
        self._waiting, self._turn, self._started = list(names), threading.Condition(), 0.0

    def take(self, name: str) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._waiting[0] == name)
        self._started = time.thread_time()

    def hand_on(self, name: str, done: bool = False) -> None:
        self.seconds[name] += time.thread_time() - self._started
        with self._turn:
            self._waiting = self._waiting[1:] + ([] if done else [name])
            self._turn.notify_all()


def side_by_side(every: int, **runs: tuple[Any, Callable[[], Any]]) -> dict[str, float]:
    """Runs rollouts that take turns `every` so many steps, and returns the processor seconds of each.

    `runs` maps a name to lanes, and to the function that steps them.
    """
    baton = _Baton(list(runs))

    def run(name: str, lanes: Any, roll: Callable[[], Any]) -> None:
        step, steps = lanes.step, itertools.count(1)

        def counted(*arguments: Any) -> Any:
            if next(steps) % every == 0:
                baton.hand_on(name)
                baton.take(name)
            return step(*arguments)

        try:
            baton.take(name)
            with mock.patch.object(lanes, "step", counted):
                roll()
        finally:
            baton.hand_on(name, done=True)

    threads = [threading.Thread(target=run, args=(name, *lanes_and_roll)) for name, lanes_and_roll in runs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return baton.seconds


@dataclass
class Clock:
    """Seconds spent in a function."""

    seconds: float = 0.0


@contextlib.contextmanager
def clocked(owner: Any, *names: str, now: Callable[[], float] = time.perf_counter) -> Iterator[Clock]:
    """Adds up the time spent in functions of a module, as its callers see it."""
    clock = Clock()
    functions: dict[str, Any] = {name: _timed(getattr(owner, name), clock, now) for name in names}
    with mock.patch.multiple(owner, **functions):
        yield clock


def _timed(function: Callable, clock: Clock, now: Callable[[], float]) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        started = now()
        try:
            return function(*args, **kwargs)
        finally:
            clock.seconds += now() - started

    return run


@dataclass
class Finished:
    """A command that has ended."""

    seconds: float
    busy_seconds: float
    """Processor time, without that of the workers of a sweep."""
    megabytes: float
    output: str


def run_brittlestar(*arguments: str, folder: str | None = None) -> Finished:
    """Runs a command of brittlestar in a folder; None: in an empty one."""
    return run_python("-m", "brittlestar.commands.main", *arguments, folder=folder)


def run_python(*arguments: str, folder: str | None = None) -> Finished:
    """Runs Python in a folder (None: in an empty one) and returns wall time, peak memory and what it printed."""
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, cwd=folder or empty, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        output.seek(0)
        text = output.read().decode()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    return Finished(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


@dataclass
class Figure:
    """One line of the table; without a bar it only informs.

    Example:
        >>> Figure("ratio", 0.934, at_least=0.9).row()
        {'figure': 'ratio', 'value': '0.934', 'bar': '≥ 0.9', 'met': 'yes'}
    """

    what: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    def row(self) -> dict[str, str]:
        """Returns the figure as text."""
        bar = met = ""
        if self.at_least is not None:
            bar, met = f"≥ {self._text(self.at_least)}", "yes" if self.value >= self.at_least else "NO"
        if self.at_most is not None:
            bar, met = f"≤ {self._text(self.at_most)}", "yes" if self.value <= self.at_most else "NO"
        return {"figure": self.what, "value": self._text(self.value), "bar": bar, "met": met}

    def _text(self, value: float) -> str:
        number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{number} {self.unit}".strip()
