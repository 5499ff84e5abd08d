"""`brittlestar zoo`, and `policy=zoo/<name>` on the command line."""

import subprocess
import sys
from argparse import Namespace

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.commands import zoo as command
from brittlestar.config import config_folder
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo

NAMES = list(zoo.recipes())
UNTRAINED = [name for name in NAMES if not zoo.is_shipped(name)]

LIST = """
import runpy, sys
sys.argv = [sys.argv[1]]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    assert not end.code
assert not {"torch", "pandas", "hydra", "scipy"} & set(sys.modules)
"""


def test_the_list_is_made_without_torch(shell):
    script = str(config_folder().parent / "scripts" / "zoo.py")
    done = subprocess.run([sys.executable, "-c", LIST, script], cwd=shell.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"| {name} " in done.stdout for name in NAMES)


def test_a_zoo_policy_brings_its_environment(shell):
    done = shell("policy=zoo/cartpole_ppo", "episodes=20", "perturbation=none", "check=baseline")
    assert "zoo/cartpole_ppo on cartpole" in done.stdout
    assert "ok: recorded" in done.stdout
    auto = shell("policy=zoo/cartpole_ppo", "episodes=20", "perturbation=none", "env=auto")
    assert "on CartPole-v1" in auto.stdout and "(cached)" in auto.stdout
    refused = shell("policy=zoo/cartpole_ppo", "env=acrobot", check=False)
    assert "zoo/cartpole_ppo was trained in CartPole-v1, not in Acrobot-v1" in refused.stderr


def test_a_sweep_takes_policies_of_the_zoo_and_others(shell):
    few = ["episodes=3", "perturbation.sigma=0,0.5"]
    shell.sweep("policy=random,zoo/cartpole_ppo", "env=cartpole", *few)
    assert {(row["policy"], row["env"]) for row in shell.table("sweep", "curve")} == {
        ("random", "cartpole"), ("zoo/cartpole_ppo", "cartpole"),
    }  # fmt: skip
    (shell.folder / "models.yaml").write_text("- {policy: zoo/cartpole_ppo, name: mine}\n")
    shell.sweep("models=models.yaml", *few, name="models")
    assert len(shell.table("models", "curve")) == 2


def test_typos_and_untrained_policies_are_one_line(shell):
    for wrong in ("zoo/cartpole_pp", "cartpole_ppo"):
        done = shell(f"policy={wrong}", check=False)
        assert done.returncode == 1
        assert f"`policy={wrong}` does not exist; did you mean `zoo/cartpole_ppo`?" in done.stderr
    assert "zoo/cartpole_ppo\n    ppo on cartpole, trained: return 500" in shell("--list", "policy").stdout
    if UNTRAINED:
        option = next(option for option, name in zoo.zoo_options().items() if name == UNTRAINED[0])
        done = shell(f"policy=zoo/{option}", check=False)
        assert f"is not trained yet: `brittlestar zoo train {UNTRAINED[0]}`" in done.stderr
    done = shell("train", "cartpole_pp", script="scripts/zoo.py", check=False)
    assert done.returncode == 1 and "did you mean `cartpole_ppo`?" in done.stderr
    assert "needs names or `--all`" in shell("train", script="scripts/zoo.py", check=False).stderr


def test_check_of_an_empty_zoo_says_so(monkeypatch, capsys):
    monkeypatch.setattr(command, "is_shipped", lambda name: False)
    assert command._check(Namespace(names=[])) == 0
    assert capsys.readouterr().out == "the zoo has no trained policy: `brittlestar zoo train NAME`\n"


def test_check_continues_behind_a_damaged_card(monkeypatch, capsys):
    def check(name):
        if name == "cartpole_ppo":
            raise UserError("card.json is damaged")
        return []

    monkeypatch.setattr("brittlestar.training.zoo_adoption.check_card", check)
    assert command._check(Namespace(names=["cartpole_ppo", "cartpole_a2c"])) == 1
    lines = ["cartpole_ppo: card.json is damaged", "cartpole_a2c: agrees with its card"]
    assert capsys.readouterr().out.splitlines() == lines
