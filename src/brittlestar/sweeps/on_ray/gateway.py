"""The process between a sweep and a Ray cluster; the only module that imports Ray.

Ray writes to stdout and stderr, waits minutes for an address that does not answer, and ends the program when it loses
the cluster. In a process of its own, none of that reaches the sweep. `connection.py` is the other end of the pipe.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

READY, REFUSED_START, SLOTS, ITEM, ENDED = "ready", "refused", "slots", "item", "ended"
FILE, TASK = "file", "task"
DIED, BROKEN = "died", "broken"
_WAIT_SECONDS, _SLOTS_SECONDS = 0.1, 5.0
_MOST_UNREAD = 16
"""Records of one task that wait for the driver before the task pauses."""


class Gateway:
    """Starts tasks on a cluster and passes on what they yield."""

    def __init__(self, pipe: Connection, options: dict[str, Any]) -> None:
        import ray

        self._ray, self._pipe, self._needs = ray, pipe, options["needs"]
        self._inbox: queue.Queue[Any] = queue.Queue()
        self._files: dict[str, Any] = {}
        self._running: dict[Any, int] = {}
        self._slots, self._looked = -1, 0.0
        ray.init(**options["init"])
        self._task = ray.remote(_compute).options(
            num_returns="streaming",
            max_retries=0,
            _generator_backpressure_num_objects=_MOST_UNREAD,
            **options["task"],
        )
        threading.Thread(target=self._receive, daemon=True).start()

    def serve(self) -> None:
        """Runs until the driver closes the pipe or ends."""
        while True:
            self._report_slots()
            for message in self._messages():
                if message is None:
                    return
                self._handle(*message)
            for generator in self._ready():
                self._pass_on(generator)

    def _receive(self) -> None:
        """Reads from the pipe at any time, so that two processes that write never wait for each other."""
        try:
            while True:
                self._inbox.put(self._pipe.recv())
        except (EOFError, OSError):
            self._inbox.put(None)

    def _messages(self) -> Iterator[Any]:
        try:
            yield self._inbox.get(timeout=None if self._running else _WAIT_SECONDS, block=not self._running)
            while True:
                yield self._inbox.get_nowait()
        except queue.Empty:
            return

    def _handle(self, kind: str, *content: Any) -> None:
        if kind == FILE:
            digest, path = content
            with open(path, "rb") as file:
                self._files[digest] = self._ray.put(file.read())
        else:
            number, parcel, files = content
            references = {path: (digest, [self._files[digest]]) for path, digest in files.items()}
            self._running[self._task.remote(parcel, references)] = number

    def _ready(self) -> list[Any]:
        if not self._running:
            return []
        running = list(self._running)
        ready, _ = self._ray.wait(running, num_returns=1, timeout=_WAIT_SECONDS, fetch_local=False)
        # The first of many would be served again and again.
        return self._ray.wait(running, num_returns=len(running), timeout=0, fetch_local=False)[0] if ready else []

    def _pass_on(self, generator: Any) -> None:
        number, errors = self._running[generator], self._ray.exceptions
        try:
            self._pipe.send((ITEM, number, self._ray.get(next(generator))))
            return
        except StopIteration:
            reason = "", ""
        except errors.RayTaskError as error:
            reason = BROKEN, _line(error.cause or error)
        except errors.RayError as error:
            reason = DIED, _cause(error)
        del self._running[generator]
        self._pipe.send((ENDED, number, *reason))

    def _report_slots(self) -> None:
        """Reports how many tasks the nodes can run at once, whenever that changes."""
        if time.monotonic() - self._looked < _SLOTS_SECONDS:
            return
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        slots, self._looked = sum(_slots(node, self._needs) for node in nodes), time.monotonic()
        if slots != self._slots:
            self._pipe.send((READY if self._slots < 0 else SLOTS, slots))
            self._slots = slots


def _compute(parcel: bytes, files: dict[str, Any]) -> Iterator[bytes]:
    """Runs on a node."""
    import ray

    from brittlestar.sweeps.on_ray.task import compute_parcel

    # A reference inside of a list is fetched only when the node lacks the file.
    yield from compute_parcel(parcel, files, lambda reference: ray.get(reference[0]))


def _slots(node: dict[str, float], needs: dict[str, float]) -> int:
    """Returns how many tasks a node can run at once.

    Example:
        >>> _slots({"CPU": 8.0, "memory": 4e9}, {"CPU": 2, "memory": 2e9}), _slots({"CPU": 8.0}, {"GPU": 1})
        (2, 0)
    """
    return int(min((node.get(name, 0) // need for name, need in needs.items() if need), default=1))


def _cause(error: Exception) -> str:
    causes = {
        "NodeDiedError": "the node was lost",
        "OutOfMemoryError": "the node was out of memory, and Ray ended the worker",
        "WorkerCrashedError": "the Ray worker died",
        "ObjectLostError": "the node with the result was lost",
        "OwnerDiedError": "the node with the result was lost",
    }
    return causes.get(type(error).__name__, _line(error))


def _line(error: BaseException) -> str:
    """Returns an error in one line; Ray's messages have many, the reason first or last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:500]


def _start_error(error: BaseException | None) -> str:
    """Returns why Ray could not be reached; the first error of a chain is the most exact one."""
    line = ""
    while error is not None:
        if "InvalidAuthToken" in str(error):
            return "it asks for a token; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH=FILE, see docs/ray.md"
        line, error = line or _line(error), error.__cause__
    return line


def main() -> None:
    """Serves the driver at the other end of the pipe whose number is the argument."""
    pipe = Connection(int(sys.argv[1]))
    (options,) = pipe.recv()
    try:
        gateway = Gateway(pipe, options)
    except Exception as error:
        pipe.send((REFUSED_START, _start_error(error)))
        return
    try:
        gateway.serve()
    except (BrokenPipeError, ConnectionResetError):
        # The driver was killed.
        pass
    finally:
        import ray

        ray.shutdown()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
