"""The inspect command: what it prints, and one line for a mistake."""

from __future__ import annotations

import re

from brittlestar.commands.inspect import main
from brittlestar.sweeps.index import INDEX


def test_it_prints_what_a_file_contains(call, agent_with_code):
    code, output, error = call(main, str(agent_with_code))
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


def test_it_describes_a_policy_of_the_zoo(call):
    _, output, _ = call(main, "zoo/cartpole_ppo")
    assert output.startswith("card         ppo on cartpole, trained: return 500")
    assert "\nrecipe       brittlestar train env=cartpole algo=ppo seed=0\n" in output
    assert re.search(r"^algorithm +ppo$", output, re.MULTILINE)
    code, _, error = call(main, "zoo/cartpole_pop")
    assert (code, error) == (1, "brittlestar: the zoo has no `cartpole_pop`; did you mean `cartpole_ppo`?\n")


def test_a_mistake_is_one_line(call, agent_with_code):
    code, output, error = call(main, str(agent_with_code.parent / "agnet.zip"))
    assert (code, output) == (1, "")
    assert re.fullmatch(r"brittlestar: there is no file /\S+/agnet.zip; did you mean `agent.zip`\?\n", error)


def test_a_damaged_file_is_one_line(call, agent_with_code):
    agent_with_code.write_bytes(agent_with_code.read_bytes()[:-30])
    code, output, error = call(main, str(agent_with_code))
    assert (code, output) == (1, "")
    assert re.fullmatch(r"brittlestar: /\S+/agent.zip cannot be read: [^\n]+\n", error)


def test_a_sweep_without_all_cells_names_the_missing_ones(call, make_cell, save_cells, tmp_path):
    folder = save_cells(tmp_path / "sweep", [make_cell((1.0,)), make_cell((1.0,), seed=1)])
    lines = (folder / INDEX).read_bytes().splitlines(keepends=True)
    (folder / INDEX).write_bytes(b"".join(lines[:-2]))
    code, output, _ = call(main, str(folder))
    assert code == 0 and f"note: 1 of 2 cells of {folder} have no record (cell 1)" in output
