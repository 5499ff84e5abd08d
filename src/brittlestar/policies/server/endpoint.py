"""A websocket server that offers a policy: metadata, requests, a health check, and a token if there is one."""

import errno
import functools
import hmac
import http
import ipaddress
import socket
import threading
from typing import Any

from brittlestar.errors import UserError, shortened
from brittlestar.policies.server.address import TOKEN_HEADER, TOKEN_START
from brittlestar.policies.server.codec import MEGABYTE, decode_frame, encode_frame
from brittlestar.policies.server.opening import QUIET
from brittlestar.policies.server.session import Offer, PolicySession

HEALTH = "/health"
_MOST_CONNECTIONS = 256
_LARGEST_FRAME = 64 * MEGABYTE
_PING_SECONDS = 30.0


class PolicyEndpoint:
    """Serves a policy, each connection with a copy of its own, until `close`.

    Args:
        offer: the policy.
        metadata: what every client gets first.
        host: the address to listen at; loopback unless the user asks for another one.
        port: 0 takes any that is free.
        token: what clients must send; None takes all clients.
    """

    def __init__(
        self, offer: Offer, metadata: dict[str, Any], host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        from websockets.sync.server import serve

        self._offer, self._greeting, self._token = offer, encode_frame(metadata), token
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._server: Any = serve(
            self._handle, sock=_listen(host, port), compression=None, max_size=_LARGEST_FRAME, logger=QUIET,
            process_request=self._process_request, ping_interval=_PING_SECONDS, ping_timeout=None,
            # A page in a browser sends its origin. No such page may query a policy on this machine.
            origins=[None],
        )  # fmt: skip
        self.host, self.port = host, int(self._server.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"ws://[{self.host}]:{self.port}" if ":" in self.host else f"ws://{self.host}:{self.port}"

    def serve_forever(self) -> None:
        """Answers requests until `close`, or until an exception in this thread."""
        self._server.serve_forever()

    def close(self) -> None:
        """Ends all connections."""
        self._server.shutdown()

    def _process_request(self, connection: Any, request: Any) -> Any:
        """Answers plain HTTP and refuses a wrong token; None goes on with the websocket."""
        if request.path == HEALTH:
            return connection.respond(http.HTTPStatus.OK, "ok\n")
        given = request.headers.get(TOKEN_HEADER, "")
        if self._token and not hmac.compare_digest(given.encode(), f"{TOKEN_START}{self._token}".encode()):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "this server needs another token\n")
        return None

    def _handle(self, websocket: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        if not self._free.acquire(blocking=False):
            websocket.send(f"the server has {_MOST_CONNECTIONS} connections, and takes no more")
            return
        try:
            websocket.send(self._greeting)
            # Made by the first request: a client may only want the metadata.
            session = functools.cache(lambda: PolicySession(self._offer))
            for frame in websocket:
                websocket.send(_reply(session, frame))
        except ConnectionClosed:
            pass
        finally:
            self._free.release()


def _reply(session: Any, frame: bytes | str) -> bytes | str:
    """Returns the answer to a frame; text is an error."""
    if isinstance(frame, str):
        return "a request must be a binary frame, got text"
    try:
        return encode_frame(session().answer(decode_frame(frame)))
    except UserError as error:
        return " ".join(str(error).split())
    except Exception as error:  # Of the policy: the client gets it, and the server goes on.
        return shortened(" ".join(f"{type(error).__name__}: {error}".split()))


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise UserError(f"`port` must be 0 to 65535, got {port}")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = f"`host`: cannot listen at {host}: {error.strerror or error}"
        if error.errno == errno.EADDRINUSE:
            reason = f"`port`: {port} at {host} is in use; take another one, or `port=0` for any that is free"
        elif error.errno == errno.EACCES:
            reason = f"`port`: {port} needs more rights; take one from 1024 on"
        raise UserError(reason) from None


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
