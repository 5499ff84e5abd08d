"""Faults of servers: every request gets its answer or one clear line, in bounded time, and nothing is lost."""

import time

import msgpack
import numpy as np
import pytest
from gymnasium import spaces
from wire_bed import plain_server, steer

from brittlestar.errors import HarnessError
from brittlestar.policies.server import ConnectionSettings, ServerPolicy
from brittlestar.policies.server.codec import encode_frame
from brittlestar.randomness import LaneDraws

pytestmark = pytest.mark.slow
SECONDS = 3.0
SETTINGS = ConnectionSettings(timeout_seconds=SECONDS, connect_seconds=30.0, reconnects=3, largest_megabytes=10.0)
HUGE = encode_frame({"actions": np.zeros((1, 12_500_000))})
OBJECTS = msgpack.packb({"actions": {b"__ndarray__": True, b"data": b"\x80\x04N.", b"dtype": "|O", b"shape": [1]}})
FAULTS = {
    "sound": (None, None, 700),
    "slow": (TimeoutError, "did not answer within 3 s", 12),
    "cut": (ConnectionError, None, 100),
    "garbage": (b"\xc1\x00garbage", "no msgpack message", 60),
    "truncated": (encode_frame({"actions": np.zeros((1, 6))})[:-9], "no msgpack message", 28),
    "wrong shape": ({"actions": np.zeros((1, 5))}, "expected (chunk, 6)", 30),
    "no chunk": ({"actions": np.zeros(6)}, "expected (chunk, 6)", 10),
    "objects": (OBJECTS, "only numbers and booleans are read", 10),
    "other keys": ({"action": np.zeros((1, 6))}, "did you mean `action`?", 10),
    "text": ("Traceback\n  File\nRuntimeError: out of memory", "reports an error: RuntimeError: out of memory", 20),
    "100 MB": (HUGE, "above `policy.connection.largest_megabytes` = 10", 20),
}
"""Answer, message (None: the request succeeds) and number of each kind."""


def test_a_thousand_requests_with_faults(rng):
    kinds = rng.permutation([kind for kind, (_, _, count) in FAULTS.items() for _ in range(count)]).tolist()
    assert len(kinds) == 1000 and len(HUGE) > 100e6
    now, sound = {"kind": "sound", "faults": 0}, steer()

    def reply(number, request):
        answer, _, _ = FAULTS[now["kind"]]
        if answer is None or (answer is ConnectionError and now["faults"]):
            return sound(number, request)
        now["faults"] += 1
        return answer

    outcomes, slowest = [], 0.0
    with plain_server(reply) as server:
        policy = ServerPolicy(server.url, connection=SETTINGS)
        policy.bind(spaces.Box(-9, 9, (2,)), spaces.Box(-1, 1, (6,)), LaneDraws(0, "policy", 1))
        for number, kind in enumerate(kinds):
            now.update(kind=kind, faults=0)
            seen, started = np.array([[number / 1000, 1.0]]), time.monotonic()
            try:
                actions, _ = policy.predict(seen, None, np.array([True]))
                outcomes.append(np.array_equal(actions, sound(0, {"observation": seen})["actions"]))
            except HarnessError as error:
                outcomes.append(str(error))
            slowest = max(slowest, time.monotonic() - started)
    for kind, outcome in zip(kinds, outcomes, strict=True):
        _, message, _ = FAULTS[kind]
        if message is None:
            assert outcome is True, (kind, outcome)
        else:
            assert message in str(outcome) and server.url in outcome and "\n" not in outcome, (kind, outcome)
    assert slowest < 60


def test_a_server_that_dies_fails_its_cells_and_the_sweep_goes_on(shell):
    sound = steer(size=1)
    alive = lambda number, request: {"actions": 2 * sound(number, request)["actions"]}  # noqa: E731
    dying = lambda number, request: ConnectionError if number > 30 else alive(number, request)  # noqa: E731
    with plain_server(alive) as good, plain_server(dying) as bad:
        words = ["env=pendulum", "env.max_steps=20", "policy=server", f"policy.url={good.url},{bad.url}", "episodes=3",
                 "seed=0,1", "policy.connection.reconnects=1", "hydra.launcher.n_jobs=2"]  # fmt: skip
        done, _ = shell.sweep(*words, check=False)
        # Two workers, and the command itself before them: each has a connection of its own.
        assert good.connections >= 2
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    rows, failures = shell.table("sweep", "cells"), shell.table("sweep", "failures")
    assert {row["policy.url"] for row in rows} == {good.url} and len(rows) == 2
    assert all(row["repeatable"] is False and row["requests"] >= 60 and row["latency_median_ms"] > 0 for row in rows)
    assert len(failures) == 2
    for failure in failures:
        assert failure["error"].startswith(
            f"{bad.url} closed the connection before it answered; 1 new connection failed, too"
        )
