"""What a policy server announces about itself when a client connects, and what of it counts."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.checkpoints.messages import printable
from brittlestar.policies.server.codec import FrameError

BATCH = "brittlestar/batch"
"""Key of a request that holds the observations of several lanes, and of the metadata of a server that takes it."""
BATCH_VERSION = 1
_MOST_NUMBERS = 64
"""An array of more numbers is recorded as its digest."""
_LONGEST_TEXT = 1000


@dataclass(frozen=True)
class ServerMetadata:
    """The metadata of a server as plain data.

    Example:
        >>> ServerMetadata.read({"repeatable": True, "mean": np.zeros(2)}).entries
        {'repeatable': True, 'mean': [0.0, 0.0]}
    """

    entries: dict[str, Any]

    @classmethod
    def read(cls, message: Any) -> "ServerMetadata":
        """Returns the metadata of a server's first frame; refuses one that is not a map with names."""
        if not isinstance(message, dict):
            raise FrameError(f"the metadata is of type {type(message).__name__}, expected a map")
        return cls(_plain(message))

    @property
    def is_repeatable(self) -> bool:
        """Whether the server promises that the same requests get the same answers, also later."""
        return self.entries.get("repeatable") is True

    @property
    def takes_batches(self) -> bool:
        """Whether the server takes the observations of all lanes in one request."""
        return self.entries.get(BATCH) == BATCH_VERSION

    @property
    def keeps_state(self) -> bool:
        """Whether the server keeps a state for each lane of a connection, which a cut of the connection loses."""
        return self.entries.get("stateful") is True

    @property
    def env_id(self) -> str:
        """The environment that the policy was made for; empty if the server names none."""
        return self._text("env")

    @property
    def env_option(self) -> str:
        """The option of the group `env` that makes this environment; empty if the server names none."""
        return self._text("env_option")

    def _text(self, name: str) -> str:
        value = self.entries.get(name)
        return value if isinstance(value, str) else ""

    @property
    def fingerprint(self) -> str:
        """A digest of all entries."""
        return hashlib.sha256(json.dumps(self.entries, sort_keys=True).encode()).hexdigest()[:32]

    def changes(self, other: "ServerMetadata") -> str:
        """Returns the names of entries that differ.

        Example:
            >>> ServerMetadata({"digest": "a", "env": "x"}).changes(ServerMetadata({"digest": "b", "env": "x"}))
            'digest'
        """
        names = {*self.entries, *other.entries}
        return ", ".join(sorted(name for name in names if self.entries.get(name) != other.entries.get(name)))


def _plain(value: Any) -> Any:
    """Returns data that JSON can hold."""
    if isinstance(value, dict):
        return {_line(name if isinstance(name, str) else repr(name)): _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        # An array without numbers can have axes that would be billions of lists.
        is_short = 0 < value.size <= _MOST_NUMBERS or value.shape == (0,)
        return value.tolist() if is_short else _digest(value.tobytes(), f"array {value.shape}")
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str):
        return _line(value)
    return _digest(value, f"{len(value)} bytes") if isinstance(value, bytes) else value


def _line(text: str) -> str:
    """Returns a text that cannot control a terminal; one that loses something gets a digest, so that changes count."""
    line = printable(text, _LONGEST_TEXT)
    return line if line == text else _digest(text.encode(), line)


def _digest(data: bytes, what: str) -> str:
    return f"{what}, sha256 {hashlib.sha256(data).hexdigest()[:16]}"
