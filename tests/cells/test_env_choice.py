"""Which environment a cell runs in."""

import sys

import pytest
from wire_bed import plain_server, steer

from brittlestar.cells.env_choice import (
    ForeignPolicyError,
    choose_env,
    notes_on_other_env,
    refuse_foreign_policy,
    refuse_other_env,
)
from brittlestar.cells.known_env import BY_HAND, shipped_envs
from brittlestar.errors import UserError

SHIPPED = shipped_envs()
PENDULUM = {"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "pendulum_sac", "adapter": None}
CHOICES = {"env": "cartpole", "policy": "zoo/pendulum_sac"}


def chosen(env, overrides=(), policy=PENDULUM, choices=CHOICES):
    return choose_env({"env": env, "policy": policy}, choices, overrides)


def test_a_policy_of_the_zoo_brings_its_environment_into_an_experiment():
    env = chosen(SHIPPED["cartpole"], ["policy=zoo/pendulum_sac", "seed=0"])
    assert (env.node, env.option) == (SHIPPED["pendulum"], "pendulum")
    (note,) = env.notes
    assert note == "zoo/pendulum_sac runs in its own environment Pendulum-v1, not in `env=cartpole` of the experiment"


def test_settings_that_fit_any_environment_and_those_of_the_command_hold():
    threshold = SHIPPED["cartpole"]["success"] | {"threshold": 9.0}
    changed = SHIPPED["cartpole"] | {"max_steps": 7, "success": threshold, "default_action": 1}
    env = chosen(changed, ["env.default_action=1"]).node
    assert env == SHIPPED["pendulum"] | {"max_steps": 7, "default_action": 1}


@pytest.mark.parametrize("override", ["env=cartpole", "env.id=CartPole-v1", "++env.id=CartPole-v1"])
def test_an_environment_that_the_command_names_wins(override):
    env = chosen(SHIPPED["cartpole"], [override])
    assert (env.node, env.option, env.notes) == (SHIPPED["cartpole"], "cartpole", [])


@pytest.mark.parametrize(
    ("env", "policy"),
    [
        (SHIPPED["pendulum"], PENDULUM),
        (SHIPPED["cartpole"], PENDULUM | {"adapter": "pad"}),
        (SHIPPED["cartpole"], {"_target_": "brittlestar.policies.RandomPolicy"}),
        (SHIPPED["cartpole"], {}),
    ],
)
def test_a_policy_that_fits_adapts_or_names_none_keeps_the_environment(env, policy):
    assert chosen(env, policy=policy).node is env


def test_auto_takes_all_settings_of_the_user():
    mine = SHIPPED["auto"] | {"returns": {"random": None, "reference": -100.0}, "default_action": [0.5]}
    env = chosen(mine, ["env=auto", "env.sensor_groups=null"])
    shipped = SHIPPED["pendulum"]
    returns = shipped["returns"] | {"reference": -100.0}
    assert env.node == shipped | {"returns": returns, "default_action": [0.5], "sensor_groups": None}
    assert (env.option, env.notes) == ("Pendulum-v1", ["Pendulum-v1 has returns of `env=pendulum`"])
    old = chosen(SHIPPED["auto"], ["env=auto"], {"path": "FetchReach-v1.zip"})
    assert old.notes == ["FetchReach-v1 has success, signals, sensor_groups of `env=fetch_reach`"]
    assert chosen(SHIPPED["auto"], ["env=auto"], {"path": "LunarLander-v3.zip"}).notes == []


def test_an_id_by_hand_is_completed():
    env = chosen(SHIPPED[BY_HAND] | {"id": "Pendulum-v1"}, ["env=gym", "env.id=Pendulum-v1"], choices={"env": BY_HAND})
    assert env.node["returns"] == SHIPPED["pendulum"]["returns"] and env.option == "Pendulum-v1"
    own = chosen(SHIPPED[BY_HAND] | {"id": "Pendulum-v1"}, choices={"env": "my_pendulum"})
    assert own.node["returns"] == SHIPPED[BY_HAND]["returns"], "a file of the user has what it says"


def test_a_training_has_no_policy_to_take_the_environment_from():
    with pytest.raises(UserError, match="`env=auto` is the environment of a policy, and a training has none"):
        choose_env({"env": SHIPPED["auto"]}, {"env": "auto"}, [])


def test_a_policy_in_another_environment_is_refused_before_it_is_loaded():
    message = "zoo/pendulum_sac was trained in Pendulum-v1, not in CartPole-v1: take `env=auto`, or set"
    with pytest.raises(ForeignPolicyError, match=message):
        refuse_foreign_policy({"env": SHIPPED["cartpole"], "policy": PENDULUM})
    refuse_foreign_policy({"env": SHIPPED["cartpole"], "policy": PENDULUM | {"adapter": "pad"}})
    refuse_foreign_policy({"env": SHIPPED["pendulum"], "policy": PENDULUM})


def test_an_agent_of_a_folder_in_another_environment_is_refused_before_it_is_loaded(agents):
    path = str(agents / "ppo" / "CartPole-v1_1")
    folder = {"_target_": "brittlestar.policies.sb3.ZooFolderPolicy", "path": path, "adapter": None}
    refuse_foreign_policy({"env": SHIPPED["cartpole"], "policy": folder})
    with pytest.raises(ForeignPolicyError, match="was trained in CartPole-v1, not in Pendulum-v1"):
        refuse_foreign_policy({"env": SHIPPED["pendulum"], "policy": folder})


def test_a_loaded_policy_without_an_adapter_is_refused_in_another_environment():
    class Trained:
        path, trained_in = "mine.zip", "CartPole-v1"

    refuse_other_env(Trained(), "CartPole-v1")
    refuse_other_env(object(), "Pendulum-v1")
    with pytest.raises(ForeignPolicyError, match=r"mine.zip was trained in CartPole-v1, not in Pendulum-v1"):
        refuse_other_env(Trained(), "Pendulum-v1")


class Agent:
    def __init__(self, trained_in, adapter=None):
        self.path, self.trained_in, self.adapter = "a.zip", trained_in, adapter


def test_an_agent_in_another_environment_is_refused():
    for agent in (Agent("CartPole-v1"), Agent("CartPole-v0", "same"), Agent(None), object()):
        refuse_other_env(agent, "CartPole-v1")
    refuse_other_env(Agent("CartPole-v1"), "CartPole")
    for other in ("CartPole-v0", "Acrobot-v1"):
        with pytest.raises(UserError, match=f"a.zip was trained in {other}, not in CartPole-v1: take `env=auto`"):
            refuse_other_env(Agent(other), "CartPole-v1")


def test_arguments_of_the_training_are_noted_unless_the_user_sets_them(tmp_path):
    (tmp_path / "CartPole-v1.zip").touch()
    (tmp_path / "args.yml").write_text("env_kwargs: {sutton_barto_reward: true}")
    policy = {"path": str(tmp_path / "CartPole-v1.zip")}
    assert "'sutton_barto_reward': True}, as in the training" in chosen(SHIPPED["auto"], policy=policy).notes[-1]
    plain = chosen(SHIPPED["auto"] | {"kwargs": {"render_mode": None}}, policy=policy)
    assert not any("as in the training" in note for note in plain.notes)


def test_a_file_without_adapters_that_names_another_version_gets_a_note(tmp_path):
    (tmp_path / "CartPole-v0.onnx").touch()
    node = {"path": str(tmp_path / "CartPole-v0.onnx")}
    (note,) = notes_on_other_env(node, "CartPole-v1")
    assert note.endswith(
        "CartPole-v0.onnx names CartPole-v0 and runs in CartPole-v1: another version is another environment"
    )
    assert notes_on_other_env(node, "CartPole-v0") == []
    for other in ({"path": "mine:policy"}, node | {"adapter": None}, {}):
        assert notes_on_other_env(other, "CartPole-v1") == []


VISION = {"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "fetch_reach_vision", "adapter": None}
SEEING = {"env": "fetch_reach", "policy": "zoo/fetch_reach_vision"}


def test_a_policy_that_sees_brings_its_cameras():
    env = chosen(SHIPPED["fetch_reach"], policy=VISION, choices=SEEING)
    assert (env.node, env.option) == (SHIPPED["fetch_reach_vision"], "fetch_reach_vision")
    assert env.notes == [
        "zoo/fetch_reach_vision runs in its own environment `env=fetch_reach_vision`, not in `env=fetch_reach` of the"
        " experiment"
    ]
    by_name = chosen(SHIPPED["fetch_reach"], ["env=fetch_reach"], policy=VISION, choices=SEEING)
    assert by_name.node == SHIPPED["fetch_reach"], "the command names an environment"


def test_auto_has_the_cameras_of_a_policy_that_sees():
    env = chosen(SHIPPED["auto"] | {"max_steps": 9}, ["env=auto"], VISION, SEEING | {"env": "auto"})
    assert env.node == SHIPPED["fetch_reach_vision"] | {"max_steps": 9}
    assert env.notes == ["the policy was trained in `env=fetch_reach_vision`"]


@pytest.mark.parametrize("env", ["auto", "cartpole"])
def test_a_module_that_a_server_names_is_refused_and_never_imported(env, tmp_path, monkeypatch):
    (tmp_path / "evil_mod.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with plain_server(steer(), {"env": "evil_mod:Foo-v0"}) as server:
        policy = {"_target_": "brittlestar.policies.server.ServerPolicy", "url": server.url}
        with pytest.raises(UserError) as error:
            chosen(SHIPPED[env], policy=policy, choices={"env": env, "policy": "server"})
        by_hand = SHIPPED["gym"] | {"id": "CartPole-v1"}
        mine = chosen(by_hand, ["env=gym", "env.id=CartPole-v1"], policy, {"env": "gym", "policy": "server"})
    assert str(error.value) == (
        f"{server.url} names the environment Foo-v0 of the module `evil_mod`: if you trust its code, "
        "add `env=gym env.id=evil_mod:Foo-v0`"
    )
    assert mine.node["id"] == "CartPole-v1" and "evil_mod" not in sys.modules


@pytest.mark.parametrize("option", ["gym", "auto", "hopper", "no_such_option"])
def test_an_option_that_does_not_make_the_environment_of_a_server_is_not_taken(option):
    with plain_server(steer(), {"env": "Pendulum-v1", "env_option": option}) as server:
        policy = {"_target_": "brittlestar.policies.server.ServerPolicy", "url": server.url}
        env = chosen(SHIPPED["cartpole"], policy=policy)
    assert (env.node, env.option) == (SHIPPED["pendulum"], "pendulum")
