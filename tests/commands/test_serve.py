"""`brittlestar serve` as a user runs it."""

import http.client
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from brittlestar.commands.serve import main
from brittlestar.policies.server.address import Address
from brittlestar.policies.server.connection import PolicyConnection
from brittlestar.policies.server.opening import ConnectionSettings

COMMAND = [sys.executable, "-m", "brittlestar.commands.main", "serve"]


def start(folder, *words):
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    return process, line, re.search(r"ws://127.0.0.1:(\d+)", line)


@pytest.mark.parametrize(
    ("number", "line"),
    [(signal.SIGTERM, "terminated"), pytest.param(signal.SIGINT, "interrupted", marks=pytest.mark.slow)],
)
def test_a_policy_is_served_until_a_signal_and_leaves_one_line(tmp_path, number, line):
    process, first, address = start(tmp_path, "env=cartpole", "policy=constant", "policy.action=1", "port=0")
    assert first.startswith("serving constant for CartPole-v1 at ws://127.0.0.1:") and "without a token" in first
    health = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
    health.request("GET", "/health")
    assert health.getresponse().read() == b"ok\n"
    health.close()
    client = PolicyConnection(Address.read(address[0]), ConnectionSettings())
    assert client.open().env_id == "CartPole-v1" and client.metadata.is_repeatable
    assert client.ask({"observation": np.zeros(4, np.float32)})["actions"].tolist() == [1]
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    client.close()
    assert process.returncode == 128 + number and out == ""
    assert err.splitlines() == [f"brittlestar: {line}"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-m", "policy=random"], 2, "`serve` offers one policy, without `-m`"),
        (["policy=randm"], 1, "random"),
        (["policy=random", "prot=1"], 1, "port"),
        (["policy=server"], 1, "`policy.url` needs a value"),
        (["policy=random", "port=99999"], 1, "`port` must be 0 to 65535, got 99999"),
        (["env=cartpole", "policy=p_controller"], 1, ""),
        (["policy=sb3", "policy.path=missing.zip", "env=cartpole"], 1, "missing.zip"),
    ],
)
def test_a_mistake_is_one_line(call, words, code, message):
    done, out, err = call(main, *words)
    assert done == code and out == ""
    assert err.startswith("brittlestar: ") and err.count("\n") == 1 and message in err, err


@pytest.mark.parametrize(
    ("variable", "how"),
    [("null", "`token_variable=null` takes none"), ("MY_TOKEN", "set the environment variable MY_TOKEN for a token")],
)
def test_a_server_for_other_machines_without_a_token_is_noted(call, monkeypatch, variable, how):
    silent = SimpleNamespace(url="ws://0.0.0.0:8000", serve_forever=lambda: None)
    monkeypatch.setattr("brittlestar.policies.server.endpoint.PolicyEndpoint", lambda *_: silent)
    _, out, err = call(main, "env=cartpole", "policy=random", "host=0.0.0.0", f"token_variable={variable}")
    assert out.startswith("serving random for CartPole-v1")
    assert err == f"note: every program that reaches this machine may use the policy; {how}\n"


def test_the_help_lists_the_keys(call):
    code, out, _ = call(main, "--help")
    assert code == 0 and "host=127.0.0.1" in out and "token_variable=" in out and "--multirun" not in out
