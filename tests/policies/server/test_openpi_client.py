"""The public package openpi-client, in a virtual environment of its own: its client and our server, and the reverse."""

import json
import subprocess
import sys

import numpy as np
import pytest
from gymnasium import spaces
from wire_bed import endpoint

from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.policies import as_policy
from brittlestar.policies.server import ChunkRule, KeyMap, ServerPolicy
from brittlestar.policies.server.image_size import resize_with_padding
from brittlestar.policies.server.session import Offer

pytestmark = pytest.mark.slow
SPACE = spaces.Dict({"image": spaces.Box(0, 255, (6, 8, 3), np.uint8), "state": spaces.Box(-9, 9, (3,), np.float64)})
ACTION = spaces.Box(-99, 99, (2,), np.float32)
THEIR_CLIENT = """
import json, sys
import numpy as np
from openpi_client import action_chunk_broker, websocket_client_policy
port, token = int(sys.argv[1]), sys.argv[2]
client = websocket_client_policy.WebsocketClientPolicy("127.0.0.1", port, api_key=token)
policy = action_chunk_broker.ActionChunkBroker(client, action_horizon=1)
actions = []
for i in range(4):
    seen = {"image": np.full((6, 8, 3), i, np.uint8), "state": np.arange(3.0) + i, "prompt": "push"}
    actions.append(policy.infer(seen)["actions"].tolist())
try:
    client.infer({"state": np.zeros(3)})
except RuntimeError as error:
    refusal = str(error)
print(json.dumps({"metadata": client.get_server_metadata(), "actions": actions, "refusal": refusal}))
"""
THEIR_SERVER = """
import sys
import numpy as np
from openpi_client import msgpack_numpy
from websockets.sync.server import serve

def handle(websocket):
    packer = msgpack_numpy.Packer()
    websocket.send(packer.pack({"model": "linear", "norm": np.ones(3), "step": np.int64(7)}))
    for frame in websocket:
        seen = msgpack_numpy.unpackb(frame)
        if seen["prompt"] != "swing up" or seen["observation/state"].dtype != np.float32:
            websocket.send("Traceback (most recent call last):\\nValueError: wrong request")
            continue
        first = np.tanh(seen["observation/state"].astype(np.float64).sum())
        chunk = np.array([[2.0 * first / (step + 1)] for step in range(4)])
        websocket.send(packer.pack({"actions": chunk, "server_timing": {"infer_ms": 0.5}}))

with serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
"""
THEIR_IMAGES = """
import sys
import numpy as np
from openpi_client import image_tools
images = np.load(sys.argv[1])
sizes = {name: [int(x) for x in name.split("x")[-2:]] for name in images}
np.savez(sys.argv[2], **{name: image_tools.resize_with_pad(images[name], *sizes[name]) for name in images})
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a virtual environment with openpi-client, which needs an older NumPy than ours."""
    folder = tmp_path_factory.mktemp("openpi")
    install = [folder / "bin/python", "-m", "pip", "install", "-q", "openpi-client==0.1.2", "typing_extensions"]
    for command in ([sys.executable, "-m", "venv", folder], install):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            pytest.skip(f"no virtual environment with openpi-client: {done.stderr.strip()[-200:]}")
    return folder / "bin/python"


def weigh(observation):
    return np.array([observation["state"].sum(), observation["image"].mean()], np.float32)


def test_their_client_gets_our_actions_metadata_and_errors(python):
    offer = Offer(lambda: as_policy(weigh), SPACE, ACTION)
    with endpoint(offer, token="secret", env="Push-v0") as server:
        command = [python, "-c", THEIR_CLIENT, str(server.port), "secret"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        wrong = subprocess.run([*command[:-1], "wrong"], capture_output=True, text=True, timeout=120)
    answers = json.loads(done.stdout)
    assert answers["metadata"]["env"] == "Push-v0" and answers["metadata"]["chunk"] == 1
    assert answers["actions"] == [[3.0 + 3 * i, float(i)] for i in range(4)]
    assert "the observation has no `image`; it has: state" in answers["refusal"]
    assert wrong.returncode and "401" in wrong.stderr


def test_our_client_plays_chunks_of_a_server_with_their_packer(python):
    keys, spec = KeyMap({"observation/state": "observation"}, prompt="swing up"), EnvSpec("Pendulum-v1", max_steps=11)

    class Replanning:
        """The same in this process."""

        def __init__(self):
            self.plan = []

        def predict(self, observation):
            if not self.plan:
                first = np.tanh(observation.astype(np.float64).sum())
                self.plan = [np.array([2.0 * first / (step + 1)]) for step in range(3)]
            return self.plan.pop(0)

    with subprocess.Popen([python, "-c", THEIR_SERVER], stdout=subprocess.PIPE, text=True) as process:
        try:
            policy = ServerPolicy(f"ws://127.0.0.1:{int(process.stdout.readline())}", None, keys, ChunkRule(4, 3))
            ours, one = (run_episodes(spec, Parts(policy), Plan(5), lanes=lanes).values for lanes in (3, 1))
            assert policy.remote["metadata"] == {"model": "linear", "norm": [1.0, 1.0, 1.0], "step": 7}
            reports_error = ServerPolicy(policy.url, keys=KeyMap({"observation/state": "observation"}, prompt="stop"))
            with pytest.raises(Exception, match="reports an error: ValueError: wrong request"):
                run_episodes(spec, Parts(reports_error), Plan(1))
        finally:
            process.terminate()
    here = run_episodes(spec, Parts(as_policy(Replanning())), Plan(5), lanes=2).values
    assert np.array_equal(ours, one, equal_nan=True) and np.array_equal(ours, here, equal_nan=True)
    assert policy.remote["latency"]["server_median_ms"] == 0.5


def test_images_are_resized_as_their_tools_do(python, tmp_path, rng):
    shapes = [(48, 64), (64, 48), (224, 224), (7, 31), (480, 640)]
    images = {f"{h}x{w}to{H}x{W}".replace("to", "x"): rng.integers(256, size=(2, h, w, 3), dtype=np.uint8)
              for h, w in shapes for H, W in ((224, 224), (30, 50))}  # fmt: skip
    np.savez(tmp_path / "images.npz", **images)
    command = [python, "-c", THEIR_IMAGES, tmp_path / "images.npz", tmp_path / "resized.npz"]
    subprocess.run(command, check=True, timeout=120)
    for name, resized in np.load(tmp_path / "resized.npz").items():
        ours = resize_with_padding(images[name], *map(int, name.split("x")[-2:]))
        # Two versions of Pillow may round differently.
        assert ours.shape == resized.shape and np.abs(ours.astype(int) - resized).max() <= 1, name
