from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from brittlestar.cells.auto_env import resolve_env, trained_id
from brittlestar.config import config_folder
from brittlestar.errors import UserError

AUTO = yaml.safe_load((config_folder() / "env/auto.yaml").read_text())


def test_a_known_environment_brings_its_success_and_references():
    cartpole = yaml.safe_load((config_folder() / "env/cartpole.yaml").read_text())
    assert resolve_env(AUTO, {"path": "somewhere/CartPole-v1.zip"}) == cartpole


def test_any_other_id_is_run_as_it_is():
    env = resolve_env(AUTO, {"path": "LunarLander-v3.zip"})
    assert (env["id"], env["success"]) == ("LunarLander-v3", None)


def test_another_version_of_a_known_environment_has_its_sensors_but_not_its_returns():
    old, newest = (resolve_env(AUTO, {"path": f"HalfCheetah-{version}.zip"}) for version in ("v3", "v5"))
    assert old["sensor_groups"] == newest["sensor_groups"] and old["sensor_groups"]
    assert (old["returns"]["reference"], newest["returns"]["reference"]) == (None, 4800.0)


def test_the_goals_of_an_older_fetch_are_those_of_the_newest():
    old, new = (resolve_env(AUTO, {"path": f"FetchReach-{version}.zip"}) for version in ("v1", "v4"))
    assert old["success"] == new["success"] and old["success"]
    assert old["id"] == "FetchReach-v1"


def test_settings_of_the_user_hold():
    added = AUTO | {"max_steps": 7, "kwargs": {"gravity": 1}, "backend": "gymnasium"}
    env = resolve_env(added, {"path": "CartPole-v1.zip"})
    assert {key: env[key] for key in ("id", "max_steps", "kwargs", "backend")} == {
        "id": "CartPole-v1", "max_steps": 7, "kwargs": {"gravity": 1}, "backend": "gymnasium",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("env_kwargs.yml", "gravity: -5.0\nrender_mode: human"),
        ("config.yml", "env_kwargs: {gravity: -5.0}"),
        ("args.yml", "!!python/object/apply:collections.OrderedDict\n- - - env_kwargs\n    - gravity: -5.0"),
    ],
)
@pytest.mark.parametrize("name", ["", "CartPole-v1.zip"])
def test_the_arguments_of_the_environment_are_those_of_the_training(tmp_path, file, text, name):
    folder = tmp_path / "CartPole-v1_1"
    (folder / "CartPole-v1").mkdir(parents=True)
    (folder / "CartPole-v1.zip").touch()
    (folder / "CartPole-v1/config.yml").write_text("policy: MlpPolicy")
    (folder / "CartPole-v1" / file).write_text(text)
    env = resolve_env(AUTO, {"path": str(folder / name)})
    assert env["kwargs"] == {"gravity": -5.0} and env["success"] is None is env["returns"]["reference"]
    assert resolve_env(AUTO | {"kwargs": {"gravity": 1}}, {"path": str(folder / name)})["kwargs"] == {"gravity": 1}


@pytest.mark.parametrize(("name", "alive"), [("a2c", True), ("ppo", False)])
def test_ant_shows_contacts_to_an_agent_that_saw_them(name, alive):
    shared = Path(__file__).parents[3] / "shared/checkpoints/rl-trained-agents"
    folder = Path(os.environ.get("BRITTLESTAR_AGENTS", shared)) / name / "Ant-v3_1"
    if not folder.is_dir():
        pytest.skip("needs the trained agents of ../shared/checkpoints")
    assert resolve_env(AUTO, {"path": str(folder)})["kwargs"] == {"post_constraint": alive}


@pytest.mark.parametrize(
    ("policy", "message"),
    [({}, "this policy has none"), ({"path": "model.zip"}, "would; choose it by `env=NAME`")],
)
def test_a_policy_that_does_not_name_its_environment_is_refused(policy, message):
    with pytest.raises(UserError, match=message):
        resolve_env(AUTO, policy)


CODE = "import pathlib; pathlib.Path({marker!r}).touch()"


def zoo_folder(folder: Path, args: str, name: str = "Trap-v0") -> str:
    (folder / f"{name}_1" / name).mkdir(parents=True)
    (folder / f"{name}_1" / f"{name}.zip").touch()
    (folder / f"{name}_1" / name / "args.yml").write_text(args)
    return str(folder / f"{name}_1")


@pytest.mark.parametrize("trust", [{}, {"trust": False}])
def test_files_of_an_agent_import_no_module(tmp_path, monkeypatch, marker, trust):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trap_env.py").write_text(CODE.format(marker=str(marker)))
    path = zoo_folder(tmp_path / "a", "env: trap_env:Trap-v0")
    ways = "`policy.trust=true` or `env=gym" if trust else "add `env=gym env.id=trap_env:Trap-v0`"
    with pytest.raises(UserError, match=f"names the environment Trap-v0 of the module `trap_env`: .*{ways}"):
        resolve_env(AUTO, {"path": path} | trust)
    with pytest.raises(UserError, match="of the module `trap_env`"):
        resolve_env(AUTO, {"path": "agents/trap_env:Trap-v0.zip"} | trust)


def test_a_module_that_the_user_trusts_or_names_is_imported(tmp_path):
    path = zoo_folder(tmp_path, "env: mine:Trap-v0")
    assert resolve_env(AUTO, {"path": path, "trust": True})["module"] == "mine"
    assert resolve_env(AUTO | {"module": "json"}, {"path": zoo_folder(tmp_path / "b", "env: json:Trap-v0")})["id"]


@pytest.mark.parametrize("kwargs", ["{x: {_target_: os.system, command: ls}}", "{x: [{_target_: os.getcwd}]}"])
def test_the_arguments_in_the_files_of_an_agent_are_never_code(tmp_path, kwargs):
    path = zoo_folder(tmp_path, f"env: CartPole-v1\nenv_kwargs: {kwargs}", "CartPole-v1")
    with pytest.raises(UserError, match=r"an argument of its environment names code to run: os\."):
        resolve_env(AUTO, {"path": path, "trust": True})


AGENT = "hub:sb3/ppo-CartPole-v1"


@pytest.mark.parametrize("path", [AGENT, f"{AGENT}/ppo-CartPole-v1.zip", "ppo-CartPole-v1.zip", "a/CartPole-v1.zip"])
def test_the_environment_is_in_the_name(path):
    assert trained_id(path) == "CartPole-v1"


@pytest.mark.parametrize("path", ["Hopper-v3/SAC/model.zip", "agents/sac/Hopper-v3_1/best_model.zip", "Hopper-v3/sac"])
def test_a_folder_names_the_environment(path):
    assert resolve_env(AUTO, {"path": path})["id"] == "Hopper-v3"


def test_a_known_id_comes_before_another_name_with_a_version():
    assert trained_id("CartPole-v1/model-v2.zip") == "CartPole-v1"
    assert trained_id("somewhere/model-v2.zip") == "model-v2"
