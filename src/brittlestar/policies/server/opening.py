"""Opens a websocket to a policy server; every way in which that fails is one line."""

import logging
import socket
import struct
from dataclasses import dataclass
from typing import Annotated, Any

from brittlestar.checkpoints.messages import printable
from brittlestar.errors import Bound, HarnessError, NonNegativeInt, check_fields
from brittlestar.policies.server.address import TOKEN_HEADER, TOKEN_START, Address, read_token
from brittlestar.policies.server.codec import MEGABYTE, FrameError, decode_frame
from brittlestar.policies.server.metadata import ServerMetadata

QUIET = logging.getLogger("brittlestar.policies.server")
"""Takes the library's own messages, so that they are not printed: errors are raised."""
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
_MOST = 1e6
"""Largest limit of seconds or megabytes: far above any use, and the operating system takes it."""
_Limit = Annotated[float, Bound(f"above 0 and at most {_MOST:,.0f}", lambda value: 0 < value <= _MOST)]
_CLOSE_SECONDS = 1.0
_NOT_ALLOWED = (401, 403)


class ServerError(HarnessError):
    """A policy server cannot be reached, or does not answer as the protocol demands."""


class LostConnectionError(ServerError):
    """There is no connection to a policy server; a later one may succeed."""


@dataclass(frozen=True)
class ConnectionSettings:
    """How long a client waits, how often it connects again, and what it accepts; nothing of it changes a result."""

    timeout_seconds: _Limit = 60.0
    """Longest time from a request to its answer."""
    connect_seconds: _Limit = 10.0
    """Longest time to connect, the metadata included."""
    reconnects: NonNegativeInt = 3
    """How often a request is sent again after the connection was lost."""
    largest_megabytes: _Limit = 64.0
    """Largest frame that is received."""
    token_variable: str | None = "BRITTLESTAR_TOKEN"
    """Environment variable with the token, which is then recorded nowhere; None sends no token."""

    def __post_init__(self) -> None:
        check_fields(self)


def open_websocket(address: Address, settings: ConnectionSettings) -> tuple[Any, ServerMetadata]:
    """Returns an open websocket and the metadata that the server sent; raises a `ServerError`."""
    from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus

    try:
        websocket = _connect(address, settings)
    except InvalidStatus as error:
        raise _refusal(address, settings, error.response.status_code) from None
    except (InvalidHandshake, InvalidMessage, EOFError) as error:
        reason = printable(str(error), 200)
        raise ServerError(f"{address.url} is no websocket server: {reason}") from None
    except TimeoutError:
        limit = f"{settings.connect_seconds:g} s (`policy.connection.connect_seconds`)"
        raise LostConnectionError(f"{address.url} did not accept the connection within {limit}") from None
    except OSError as error:
        raise LostConnectionError(_unreachable(address, error)) from None
    try:
        return websocket, _receive_metadata(address, settings, websocket)
    except BaseException:
        websocket.close()
        raise


def _connect(address: Address, settings: ConnectionSettings) -> Any:
    from websockets.sync.client import connect

    token = read_token(settings.token_variable)
    headers = {TOKEN_HEADER: TOKEN_START + token} if token else None
    plain = socket.create_connection((address.host, address.port), settings.connect_seconds)
    # A server that reads nothing would block a large request for ever: the library has no timeout for that.
    whole = int(settings.timeout_seconds)
    limit = struct.pack("ll", whole, int(1e6 * (settings.timeout_seconds - whole)) or int(not whole))
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    # The library waits for as long as it needs to, and has its own limit for the handshake.
    plain.settimeout(None)
    try:
        websocket = connect(
            address.url, sock=plain, compression=None, additional_headers=headers, logger=QUIET,
            # A server that computes for long may answer no pings. They would also draw from Python's random numbers.
            ping_interval=None, open_timeout=settings.connect_seconds, close_timeout=_CLOSE_SECONDS,
            max_size=int(settings.largest_megabytes * MEGABYTE),
        )  # fmt: skip
    except BaseException:
        plain.close()
        raise
    # A connection without a context has another meaning in later versions of the library.
    return websocket.__enter__()


def _receive_metadata(address: Address, settings: ConnectionSettings, websocket: Any) -> ServerMetadata:
    from websockets.exceptions import ConnectionClosed

    try:
        frame = websocket.recv(timeout=settings.connect_seconds)
    except TimeoutError:
        limit = f"{settings.connect_seconds:g} s (`policy.connection.connect_seconds`)"
        raise ServerError(f"{address.url} sent no metadata within {limit}: is it a policy server?") from None
    except ConnectionClosed:
        raise LostConnectionError(f"{address.url} closed the connection before it sent metadata") from None
    if isinstance(frame, str):
        raise ServerError(f"{address.url} sent an error in place of metadata: {last_line(frame)}")
    try:
        return ServerMetadata.read(decode_frame(frame))
    except FrameError as error:
        raise ServerError(f"{address.url}: {error}") from None


def last_line(text: str) -> str:
    """Returns the last line of a server's message: of a traceback, the one with the reason. It is printable and short.

    Example:
        >>> last_line("Traceback (most recent call last):\\n  ...\\nKeyError: 'state'\\n")
        "KeyError: 'state'"
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(lines[-1], 300) if lines else "an empty message"


def _refusal(address: Address, settings: ConnectionSettings, status: int) -> ServerError:
    if status not in _NOT_ALLOWED:
        return ServerError(
            f"{address.url} answers with HTTP status {status}: it is no policy server, or not at this path"
        )
    variable = settings.token_variable or "`policy.connection.token_variable`"
    if read_token(settings.token_variable):
        return ServerError(f"{address.url} refuses the token in the environment variable {variable}")
    return ServerError(f"{address.url} asks for a token: set the environment variable {variable}")


def _unreachable(address: Address, error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"nothing listens at {address.url}: is the server running?"
    if isinstance(error, socket.gaierror):
        return f"{address.url}: the host {address.host!r} is not known"
    return f"{address.url} cannot be reached: {error.strerror or error}"
