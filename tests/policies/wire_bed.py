"""Policy servers for tests: real websockets on loopback, right ones and broken ones."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from brittlestar.policies.server.codec import decode_frame, encode_frame
from brittlestar.policies.server.endpoint import PolicyEndpoint
from brittlestar.policies.server.opening import QUIET
from brittlestar.policies.server.session import Offer

Reply = Callable[[int, dict], object]


class PlainServer:
    """Speaks the plain protocol: metadata, then one observation a request. `reply(number, request)` gives the answer.

    The answer is a dict to pack, bytes or text to send as they are, or an exception class: `ConnectionError` cuts the
    connection, `TimeoutError` never answers.
    """

    def __init__(self, reply: Reply, metadata: object = b"\x80", port: int = 0) -> None:
        self.reply, self.metadata = reply, metadata
        self.requests: list[dict] = []
        self.connections = 0
        self._server = serve(self._handle, "127.0.0.1", port, compression=None, max_size=None, logger=QUIET)
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._ended = threading.Event()
        self._thread.start()

    def _handle(self, websocket) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionClosed):
            if self.metadata is not None:
                websocket.send(self.metadata if isinstance(self.metadata, bytes | str) else encode_frame(self.metadata))
            for frame in websocket:
                self.requests.append(decode_frame(frame))
                answer = self.reply(len(self.requests) - 1, self.requests[-1])
                if answer is ConnectionError:
                    websocket.socket.shutdown(socket.SHUT_RDWR)
                    return
                if answer is TimeoutError:
                    self._ended.wait(60)
                    return
                for part in answer if isinstance(answer, list) else [answer]:
                    websocket.send(encode_frame(part) if isinstance(part, dict) else part)

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()


@contextlib.contextmanager
def plain_server(reply: Reply, metadata: object = b"\x80", port: int = 0) -> Iterator[PlainServer]:
    server = PlainServer(reply, metadata, port)
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def endpoint(offer: Offer, token: str | None = None, **metadata: object) -> Iterator[PolicyEndpoint]:
    """Our own server."""
    server = PolicyEndpoint(offer, offer.describe() | metadata, token=token)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def raw_server(data: bytes) -> Iterator[str]:
    """A TCP server that is no websocket: it sends some bytes to everyone and hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with contextlib.suppress(OSError):
                    peer.recv(4096)
                    peer.sendall(data)
                time.sleep(0.01)
                peer.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@contextlib.contextmanager
def deaf_server() -> Iterator[str]:
    """A server that shakes hands, sends empty metadata, and never reads anything after that."""
    listener, peers = socket.create_server(("127.0.0.1", 0)), []

    def run() -> None:
        with contextlib.suppress(OSError):
            while True:
                peers.append(listener.accept()[0])
                key = re.search(rb"Sec-WebSocket-Key: (\S+)", peers[-1].recv(4096))[1]
                digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
                head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                accept = b"Sec-WebSocket-Accept: " + base64.b64encode(digest)
                peers[-1].sendall(head + accept + b"\r\n\r\n\x82\x01\x80")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for peer in peers:
            peer.close()


def steer(chunk: int = 1, size: int = 6) -> Reply:
    """Answers with a chunk that depends on the observation alone, and differs from step to step of the chunk."""

    def reply(number: int, request: dict) -> dict:
        state = np.asarray(request["observation"], np.float64).ravel()
        first = np.tanh(np.resize(state, size))
        return {"actions": np.stack([np.roll(first, step) / (1 + step) for step in range(chunk)]).astype(np.float32)}

    return reply
