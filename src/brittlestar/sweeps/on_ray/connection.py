"""The driver's end of the pipe to the process that talks to Ray, see `gateway.py`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import brittlestar
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray import gateway

_END_SECONDS = 12.0
"""Time for a Ray of this machine to end its processes."""
_QUIET = {
    # Ray prints the deaths of workers and nodes to stdout. They are retried, and reported when that does not help.
    "RAY_DEDUP_LOGS_SKIP_REGEX": r"[\s\S]",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class RayConnection:
    """A Ray cluster; use it as a context manager."""

    def __init__(self, address: str | None, options: dict[str, Any], connect_seconds: float) -> None:
        if importlib.util.find_spec("ray") is None:
            raise UserError("`hydra/launcher=ray` needs Ray: `pip install brittlestar[ray]`")
        self._address, self._options, self._seconds = address, options, connect_seconds
        self.slots = 0
        """Tasks that the nodes of the cluster can run at once."""

    def __enter__(self) -> RayConnection:
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()
        home = str(Path(brittlestar.__file__).parents[1])
        paths = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", gateway.__name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            # Ctrl-C reaches every process of a terminal. Only the sweep answers it, and ends this process.
            start_new_session=True,
            env={**self._variables(), **_QUIET, "PYTHONPATH": paths},
        )
        theirs.close()
        self._pipe = Connection(ours.detach())
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._pipe.close()
        is_local = self._address is None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS if is_local or self.slots else 1.0)
        # The process that starts a Ray on this machine ends it, also if that takes longer. Killed, it could not.
        if self._process.poll() is None and not is_local:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def send(self, *message: Any) -> None:
        """Sends a message."""
        try:
            self._pipe.send(message)
        except OSError:
            raise self._lost() from None

    def receive(self, seconds: float) -> tuple[Any, ...] | None:
        """Returns the next message; None if there is none for some time."""
        try:
            message = self._pipe.recv() if self._pipe.poll(seconds) else None
        except (EOFError, OSError):
            raise self._lost() from None
        if message is not None and message[0] == gateway.SLOTS:
            self.slots = message[1]
        return message

    def _variables(self) -> dict[str, str]:
        """Returns the environment; a Ray of this sweep alone gets a token of its own, in place of one in a file."""
        own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        return {**(own if self._address is None and "RAY_AUTH_MODE" not in os.environ else {}), **os.environ}

    def _connect(self) -> None:
        self.send(self._options)
        end = time.monotonic() + self._seconds
        message = self.receive(self._seconds)
        if message is None:
            waited = f"{self._place} does not answer within {time.monotonic() - end + self._seconds:.0f} s"
            raise UserError(f"{waited}; the sweep must start where it sees the processes of a node: its own container")
        kind, content = message
        if kind != gateway.READY:
            raise UserError(f"{self._place} cannot be used: {content}")
        self.slots = content

    @property
    def _place(self) -> str:
        return (
            f"the Ray cluster at `hydra.launcher.address={self._address}`" if self._address else "Ray on this machine"
        )

    def _lost(self) -> UserError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        reason = f" ({lines[-1][:300]})" if lines else ""
        return UserError(f"{self._place} was lost{reason}; finished work is kept, the same command continues")
