import socket

import numpy as np
import pytest
from gymnasium import spaces
from wire_bed import endpoint, free_port, plain_server, raw_server, steer

from brittlestar.config.build import build
from brittlestar.errors import UserError
from brittlestar.policies import ConstantPolicy
from brittlestar.policies.server import ConnectionSettings, ServerPolicy
from brittlestar.policies.server.address import Address
from brittlestar.policies.server.connection import PolicyConnection, announced_metadata
from brittlestar.policies.server.opening import LostConnectionError, ServerError
from brittlestar.policies.server.session import Offer

BOX = spaces.Box(-1.0, 1.0, (6,), np.float32)
QUICK = ConnectionSettings(timeout_seconds=0.5, connect_seconds=0.5, reconnects=0)


def metadata_of(url, settings=QUICK):
    connection = PolicyConnection(Address.read(url), settings)
    try:
        return connection.open().entries
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:8000", "did you mean `ws://127.0.0.1:8000`?"),
        ("https://my.host/policy", "did you mean `wss://my.host/policy`?"),
        ("127.0.0.1:8000", "did you mean `ws://127.0.0.1:8000`?"),
        ("ws://127.0.0.1", "has no port, such as ws://127.0.0.1:8000"),
        ("ws://:8000", "has no host"),
        ("ws://127.0.0.1:99999", "is no address"),
        ("ws://me:secret@127.0.0.1:8000", "must hold no password"),
        ("", "must start with ws://"),
    ],
)
def test_a_wrong_address_is_an_error_with_the_right_form(url, message):
    with pytest.raises(UserError) as error:
        ServerPolicy(url)
    assert message in str(error.value) and "secret" not in str(error.value)


@pytest.mark.parametrize("name", ["timeout_seconds", "connect_seconds", "largest_megabytes"])
@pytest.mark.parametrize("value", [0.0, 1e7, 1e30, 1e300])
def test_a_limit_that_nothing_can_hold_is_refused(name, value):
    node = {"_target_": "brittlestar.policies.server.ConnectionSettings", name: value}
    with pytest.raises(UserError) as error:
        build(node, "policy.connection")
    assert f"`{name}` must be above 0 and at most 1,000,000, got {value}" in str(error.value)


@pytest.mark.parametrize("seconds", [1e-9, 1e6])
def test_the_limits_themselves_are_taken(seconds):
    with plain_server(steer(), {"version": 1}) as server:
        settings = ConnectionSettings(timeout_seconds=seconds, connect_seconds=max(seconds, 5.0), largest_megabytes=1e6)
        assert metadata_of(server.url, settings) == {"version": 1}


def test_a_server_that_is_not_there_is_one_line():
    with pytest.raises(LostConnectionError, match="nothing listens at ws://127.0.0.1:.*: is the server running?"):
        metadata_of(f"ws://127.0.0.1:{free_port()}")
    with pytest.raises(LostConnectionError, match="the host 'no.such.host.invalid' is not known"):
        metadata_of("ws://no.such.host.invalid:8000")


def test_a_server_that_never_accepts_is_one_line_after_the_timeout():
    late = pytest.raises(LostConnectionError, match=r"within 0.5 s \(`policy.connection.connect_seconds`\)")
    with socket.create_server(("127.0.0.1", 0)) as listener, late:
        metadata_of(f"ws://127.0.0.1:{listener.getsockname()[1]}")


@pytest.mark.parametrize("data", [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b"220 mail ready\r\n", b""])
def test_another_kind_of_server_is_named(data):
    with raw_server(data) as url, pytest.raises(ServerError, match="is no websocket server|HTTP status 404"):
        metadata_of(url)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "sent no metadata within 0.5 s"),
        ("Traceback:\n  x\nRuntimeError: no weights", "in place of metadata: RuntimeError: no weights"),
        (b"\xc1garbage", "no msgpack message"),
        (b"\x93\x01\x02\x03", "metadata is of type list, expected a map"),
    ],
)
def test_missing_or_broken_metadata_is_one_line(metadata, message):
    with plain_server(steer(), metadata) as server, pytest.raises(ServerError) as error:
        metadata_of(server.url)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_token_is_taken_from_the_environment_and_checked(monkeypatch):
    offer = Offer(lambda: ConstantPolicy(0.5), BOX, BOX)
    with endpoint(offer, token="right") as server:
        with pytest.raises(ServerError, match="asks for a token: set the environment variable BRITTLESTAR_TOKEN"):
            metadata_of(server.url)
        monkeypatch.setenv("BRITTLESTAR_TOKEN", "wrong")
        with pytest.raises(ServerError, match="refuses the token in the environment variable BRITTLESTAR_TOKEN"):
            metadata_of(server.url)
        monkeypatch.setenv("BRITTLESTAR_TOKEN", "right")
        assert metadata_of(server.url)["chunk"] == 1


def test_metadata_are_asked_for_once_for_the_many_cells_of_a_sweep():
    with plain_server(steer(), {"version": 1}) as server:
        for _ in range(5):
            assert announced_metadata(Address.read(server.url), QUICK).entries == {"version": 1}
        assert server.connections == 1
