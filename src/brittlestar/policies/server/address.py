"""The address of a policy server, and the token that it may ask for."""

import os
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from brittlestar.errors import UserError

TOKEN_HEADER, TOKEN_START = "Authorization", "Api-Key "
_SCHEMES = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss"}
_EXAMPLE = "such as ws://127.0.0.1:8000"


@dataclass(frozen=True)
class Address:
    """A checked address: host and port of `ws://HOST:PORT`.

    Example:
        >>> Address.read("ws://127.0.0.1:8000")
        Address(url='ws://127.0.0.1:8000', host='127.0.0.1', port=8000)
        >>> Address.read("http://127.0.0.1:8000")
        Traceback (most recent call last):
        brittlestar.errors.UserError: `url` must start with ws:// or wss://; did you mean `ws://127.0.0.1:8000`?
    """

    url: str
    host: str
    port: int

    @classmethod
    def read(cls, url: str) -> "Address":
        """Checks an address; a port may be missing for wss:// only, whose servers are often behind a web server."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UserError(f"`url` {url!r} is no address, {_EXAMPLE}: {error}") from None
        if parts.scheme not in ("ws", "wss"):
            raise UserError(f"`url` must start with ws:// or wss://; {_suggestion(url, parts)}")
        if not parts.hostname:
            raise UserError(f"`url` {url!r} has no host, {_EXAMPLE}")
        if "@" in parts.netloc:
            raise UserError("`url` must hold no password, because it is recorded: use `connection.token_variable`")
        if port is None and parts.scheme == "ws":
            raise UserError(f"`url` {url!r} has no port, {_EXAMPLE}")
        return cls(url, parts.hostname, port or 443)


def _suggestion(url: str, parts: SplitResult) -> str:
    if parts.scheme in _SCHEMES and parts.netloc:
        return f"did you mean `{_SCHEMES[parts.scheme]}://{url.partition('://')[2]}`?"
    return f"did you mean `ws://{url}`?" if url and "/" not in url else f"got {url!r}, {_EXAMPLE}"


def read_token(variable: str | None) -> str | None:
    """Returns the token in an environment variable; None if it is not set, or if there is no variable."""
    token = os.environ.get(variable, "") if variable else ""
    if not token.isprintable() or not token.isascii():
        raise UserError(f"the token in the environment variable {variable} must be printable ASCII characters")
    return token or None
