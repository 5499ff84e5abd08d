"""A connection to a policy server: requests and answers, timeouts, and a new connection after a lost one."""

import contextlib
import time
import weakref
from typing import Any, NamedTuple

from brittlestar.errors import counted
from brittlestar.policies.server.address import Address
from brittlestar.policies.server.codec import MEGABYTE, FrameError, decode_frame, encode_frame
from brittlestar.policies.server.metadata import ServerMetadata
from brittlestar.policies.server.opening import (
    ConnectionSettings,
    LostConnectionError,
    ServerError,
    last_line,
    open_websocket,
)

_TOO_BIG = 1009
"""Code of a websocket that is closed because of a frame above its limit."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
"""Seconds before the first and before later attempts to connect again."""
_FRESH_SECONDS, _QUICK_SECONDS = 5.0, 1.0


class PolicyConnection:
    """A websocket to a policy server, which is opened by the first request and after each loss.

    Attributes:
        metadata: what the server announced; None before the first connection.
        reconnects: number of connections after the first one.
    """

    def __init__(self, address: Address, settings: ConnectionSettings) -> None:
        self._address, self._settings = address, settings
        self._open: list[Any] = []
        """The websocket, if there is one."""
        self.metadata: ServerMetadata | None = None
        self.reconnects = 0
        weakref.finalize(self, _close, self._open)

    def open(self) -> ServerMetadata:
        """Connects, unless there is a connection, and returns the metadata of the server."""
        if not self._open or self.metadata is None:
            self.close()
            websocket, metadata = open_websocket(self._address, self._settings)
            self._open.append(websocket)
            self._refuse_changes(metadata)
            self.metadata = metadata
        return self.metadata

    def ask(self, request: dict[str, Any], resend: bool = True) -> dict[str, Any]:
        """Sends a request and returns the answer.

        A lost connection is opened again and the request sent again, if the server may get it twice (`resend`).
        """
        frame, pause = encode_frame(request), _FIRST_PAUSE
        for left in range(self._settings.reconnects if resend else 0, -1, -1):
            try:
                self.open()
                return self._exchange(frame)
            except LostConnectionError as error:
                self.close()
                if not left:
                    raise self._give_up(error, resend) from None
                time.sleep(pause)
                self.reconnects, pause = self.reconnects + 1, min(2 * pause, _LONGEST_PAUSE)
            except BaseException:
                # An answer that comes late must not pass for that of the next request.
                self.close()
                raise
        raise AssertionError("the loop returns or raises")

    def close(self) -> None:
        """Closes the websocket."""
        _close(self._open)

    def _give_up(self, error: Exception, resend: bool) -> ServerError:
        if not resend:
            return ServerError(f"{error}; the server held the state of the episodes, which is lost with it")
        again = counted(self._settings.reconnects, "new connection")
        return ServerError(f"{error}; {again} failed, too")

    def _exchange(self, frame: bytes) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        (websocket,), url, limit = self._open, self._address.url, self._settings.timeout_seconds
        try:
            with contextlib.suppress(TimeoutError):
                extra = websocket.recv(timeout=0)
                raise ServerError(f"{url} sent a frame of {len(extra):,} bytes that no request asked for")
            websocket.send(frame)
            answer = websocket.recv(timeout=limit)
        except TimeoutError:
            what = f"{limit:g} s (`policy.connection.timeout_seconds`)"
            raise ServerError(f"{url} did not answer within {what}") from None
        except ConnectionClosed as error:
            raise self._closed(error, frame) from None
        if isinstance(answer, str):
            raise ServerError(f"{url} reports an error: {last_line(answer)}")
        try:
            message = decode_frame(answer)
        except FrameError as error:
            raise ServerError(f"{url}: {error}") from None
        if not isinstance(message, dict):
            raise ServerError(f"{url} answered with a {type(message).__name__}, expected a map with `actions`")
        return message

    def _closed(self, error: Any, frame: bytes) -> ServerError:
        url, most = self._address.url, self._settings.largest_megabytes
        if error.sent is not None and error.sent.code == _TOO_BIG:
            return ServerError(f"{url} sent a frame above `policy.connection.largest_megabytes` = {most:g}")
        if error.rcvd is not None and error.rcvd.code == _TOO_BIG:
            return ServerError(f"{url} takes no request of {len(frame) / MEGABYTE:.3g} MB")
        if isinstance(error.__cause__, BlockingIOError | TimeoutError):
            return ServerError(f"{url} did not read a request of {len(frame) / MEGABYTE:.3g} MB in time")
        return LostConnectionError(f"{url} closed the connection before it answered")

    def _refuse_changes(self, metadata: ServerMetadata) -> None:
        """Refuses to go on with a server that has become another one."""
        if self.metadata is not None and metadata.fingerprint != self.metadata.fingerprint:
            names, self.metadata = metadata.changes(self.metadata), None
            self.close()
            raise ServerError(
                f"{self._address.url} announces other metadata than before ({names}): it is another server"
            )


def _close(websockets: list[Any]) -> None:
    while websockets:
        with contextlib.suppress(Exception):
            websockets.pop().close()


def announced_metadata(address: Address, settings: ConnectionSettings) -> ServerMetadata:
    """Connects for a moment and returns what the server announces.

    The cells of a sweep ask again and again while they are composed, so an answer holds for some seconds, and so does a
    failure that took long. A cell refuses a server that has changed since.
    """
    key, now = (address, settings), time.monotonic()
    if key not in _announced or _announced[key].expires < now:
        outcome = _outcome_of(PolicyConnection(address, settings))
        is_quick_failure = isinstance(outcome, ServerError) and time.monotonic() - now < _QUICK_SECONDS
        _announced[key] = _Announced(outcome, now if is_quick_failure else time.monotonic() + _FRESH_SECONDS)
    metadata = _announced[key].outcome
    if isinstance(metadata, ServerError):
        raise type(metadata)(str(metadata))
    return metadata


def _outcome_of(connection: PolicyConnection) -> ServerMetadata | ServerError:
    try:
        return connection.open()
    except ServerError as error:
        return error
    finally:
        connection.close()


class _Announced(NamedTuple):
    outcome: ServerMetadata | ServerError
    expires: float


_announced: dict[tuple[Address, ConnectionSettings], _Announced] = {}
