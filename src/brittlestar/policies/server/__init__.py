"""Policies over a wire: a websocket with msgpack arrays, as policy servers of robots speak it.

Contents:
    policy: the client, a policy of a cell.
    key_map, image_size, chunks: what is sent, and how the answers are played.
    connection, opening, address, metadata, codec, latency: the protocol.
    session, endpoint: the server, which offers a policy to other programs.
"""

from brittlestar.policies.server.chunks import ChunkRule
from brittlestar.policies.server.key_map import KeyMap
from brittlestar.policies.server.opening import ConnectionSettings
from brittlestar.policies.server.policy import ServerPolicy

__all__ = ["ChunkRule", "ConnectionSettings", "KeyMap", "ServerPolicy"]
