"""The inspect command: what it prints, and one line for a mistake."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from brittlestar.checkpoints import describe_path
from brittlestar.commands.inspect import main


@pytest.fixture
def agent(tmp_path, build, marker):
    extra = build.serialized(build.finish(build.payloads(marker)["os.system"]))
    data = json.dumps(build.data(lr_schedule=extra, **{"evil\x1b[31m\nkey": extra})).encode()
    (tmp_path / "agent.zip").write_bytes(build.zipped(build.agent(data=data)))
    (tmp_path / "vecnormalize.pkl").write_bytes(build.statistics())
    np.savez(tmp_path / "evaluations.npz", results=np.array([[0.0, 0.0], [1.0, 3.0]]))
    return tmp_path / "agent.zip"


def test_it_prints_what_a_file_contains(call, agent):
    code, output, error = call(main, str(agent))
    assert (code, error) == (0, "")
    for line in (
        r"algorithm +ppo",
        r"observations +Box\(\[-1. -1. -8.\], \[1. 1. 8.\], \(3,\), float32\)",
        r"actions +Box\(-2.0, 2.0, \(1,\), float32\)",
        r"settings +activation relu, net_arch \[4\], gSDE no, squashed no, extractor default",
        r"layer +mlp_extractor.policy_net.0.weight 4 x 3 float32",
        r"versions +Python 3.11.7, Numpy 2.0.0, stable_baselines3 2.4.0",
        r"would run +data: lr_schedule .*",
        r"would run +data: evil\?\[31m key .*",
        r"would run +policy.pth .*",
        r" +observations \(3,\), count 10, epsilon 1e-08, clip 10, norm_obs True, norm_reward False",
        r"recorded +return 2.00, std 1.41, n 2",
    ):
        assert re.search(f"^{line}$", output, re.MULTILINE), line
    assert "value_net" not in output


def test_it_describes_a_folder_and_statistics(agent):
    assert describe_path(str(agent.parent)).startswith("folder ")
    assert describe_path(str(agent.parent / "vecnormalize.pkl")).startswith("statistics ")


def test_it_describes_a_policy_of_the_zoo(call):
    _, output, _ = call(main, "zoo/cartpole_ppo")
    assert re.search(r"^algorithm +ppo$", output, re.MULTILINE)
    code, _, error = call(main, "zoo/cartpole_pop")
    assert (code, error) == (1, "brittlestar: the zoo has no `cartpole_pop`; did you mean `cartpole_ppo`?\n")


def test_a_mistake_is_one_line(call, agent):
    code, output, error = call(main, str(agent.parent / "agnet.zip"))
    assert (code, output) == (1, "")
    assert re.fullmatch(r"brittlestar: there is no file /\S+/agnet.zip; did you mean `agent.zip`\?\n", error)


def test_a_damaged_file_is_one_line(call, agent):
    agent.write_bytes(agent.read_bytes()[:-30])
    code, output, error = call(main, str(agent))
    assert (code, output) == (1, "")
    assert re.fullmatch(r"brittlestar: /\S+/agent.zip cannot be read: [^\n]+\n", error)
