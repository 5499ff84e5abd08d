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


class Turns:
    """Measurements that took turns, by name and round."""

    def __init__(self, rounds: list[dict[str, float]]) -> None:
        self._rounds = rounds

    def median(self, name: str) -> float:
        """Returns the median over the rounds."""
        return statistics.median(each[name] for each in self._rounds)

    def ratio(self, above: str, below: str) -> float:
        """Returns the median of the ratios of each round."""
        return statistics.median(each[above] / each[below] for each in self._rounds)


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

        lanes.step = counted
        try:
            baton.take(name)
            roll()
        finally:
            lanes.step = step
            baton.hand_on(name, done=True)

    threads = [threading.Thread(target=run, args=(name, *each)) for name, each in runs.items()]
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
    clock, originals = Clock(), {name: getattr(owner, name) for name in names}
    for name, original in originals.items():
        setattr(owner, name, _timed(original, clock, now))
    try:
        yield clock
    finally:
        for name, original in originals.items():
            setattr(owner, name, original)


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
    """Processor time, of its workers too."""
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
        bar, met = self._bar()
        return {"figure": self.what, "value": self._text(self.value), "bar": bar, "met": met}

    def _text(self, value: float) -> str:
        number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{number} {self.unit}".strip()

    def _bar(self) -> tuple[str, str]:
        if self.at_least is not None:
            return f"≥ {self._text(self.at_least)}", "yes" if self.value >= self.at_least else "NO"
        if self.at_most is not None:
            return f"≤ {self._text(self.at_most)}", "yes" if self.value <= self.at_most else "NO"
        return "", ""
