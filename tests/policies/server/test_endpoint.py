import http.client
import os
import threading

import numpy as np
import pytest
from gymnasium import spaces
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from wire_bed import endpoint

from brittlestar.errors import UserError
from brittlestar.policies import ConstantPolicy, as_policy
from brittlestar.policies.server.codec import decode_frame, encode_frame
from brittlestar.policies.server.endpoint import PolicyEndpoint
from brittlestar.policies.server.session import Offer

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
OFFER = Offer(lambda: ConstantPolicy(0.5), BOX, BOX)
SEEN = encode_frame({"observation": np.zeros(2)})


def exchange(client, frame):
    client.send(frame)
    return client.recv(timeout=60)


def http_status(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def test_health_is_answered_without_a_token_and_all_else_needs_it():
    with endpoint(OFFER, token="secret") as server:
        assert http_status(server, "/health") == (200, "ok\n")
        assert http_status(server, "/")[0] == 401
        for headers in (None, {"Authorization": "Api-Key wrong"}, {"Authorization": "secret"}):
            with pytest.raises(InvalidStatus) as error:
                connect(server.url, additional_headers=headers)
            assert error.value.response.status_code == 401
        with connect(server.url, additional_headers={"Authorization": "Api-Key secret"}) as client:
            assert decode_frame(client.recv())["chunk"] == 1


def test_a_page_in_a_browser_is_refused():
    with endpoint(OFFER) as server, pytest.raises(InvalidStatus) as error:
        connect(server.url, origin="https://evil.example")
    assert error.value.response.status_code == 403


def test_bad_frames_are_answered_by_a_line_and_the_connection_goes_on():
    def fail(observation):
        raise RuntimeError("two\nlines")

    with endpoint(OFFER) as server, connect(server.url) as client:
        client.recv()
        frames = {b"\xc1": "no msgpack", "text": "must be a binary frame", b"\x80": "has no `observation`"}
        for frame, message in (frames | {os.urandom(500): ""}).items():
            client.send(frame)
            reply = client.recv(timeout=30)
            assert isinstance(reply, str) and message in reply and "\n" not in reply
        client.send(SEEN)
        assert decode_frame(client.recv(timeout=30))["actions"].tolist() == [[0.5, 0.5]]
    broken = PolicyEndpoint(Offer(lambda: as_policy(fail), BOX, BOX), {})
    thread = threading.Thread(target=broken.serve_forever)
    thread.start()
    with connect(broken.url) as client:
        assert decode_frame(client.recv()) == {}
        client.send(SEEN)
        assert client.recv(timeout=30) == "RuntimeError: two lines"
    broken.close()
    thread.join()


def test_a_frame_above_the_limit_ends_its_connection_only():
    with endpoint(OFFER) as server:
        with connect(server.url) as client:
            client.recv()
            with pytest.raises(ConnectionClosed, match="1009"):
                exchange(client, bytes(80_000_000))
        with connect(server.url) as client:
            assert client.recv(timeout=30)


def test_a_port_in_use_and_a_wrong_address_are_one_line():
    taken = "is in use; take another one, or `port=0`"
    with endpoint(OFFER) as server, pytest.raises(UserError, match=f"{server.port} at 127.0.0.1 {taken}"):
        PolicyEndpoint(OFFER, {}, port=server.port)
    with pytest.raises(UserError, match="`port` must be 0 to 65535, got 70000"):
        PolicyEndpoint(OFFER, {}, port=70000)
    with pytest.raises(UserError, match="`host`: cannot listen at no.such.host.invalid"):
        PolicyEndpoint(OFFER, {}, host="no.such.host.invalid")


def test_clients_at_the_same_time_have_policies_of_their_own():
    class Counter:
        def __init__(self):
            self.calls = 0

        def predict(self, observation):
            self.calls += 1
            return np.full(2, self.calls / 10, np.float32)

    offer = Offer(lambda: as_policy(Counter()), BOX, BOX)
    with endpoint(offer) as server, connect(server.url) as first, connect(server.url) as second:
        first.recv(), second.recv()
        for client, expected in ((first, 0.1), (first, 0.2), (second, 0.1), (first, 0.3), (second, 0.2)):
            assert round(float(decode_frame(exchange(client, SEEN))["actions"][0, 0]), 3) == expected
