import pytest

from brittlestar.config.hints import env_option, train_hint

SB3 = {"_target_": "brittlestar.policies.sb3.Sb3Policy"}


@pytest.mark.parametrize(
    ("env_id", "command"),
    [
        ("FetchPush-v4", "env=fetch_push algo=sac_her"),
        ("Pendulum-v1", "env=pendulum algo=sac"),
        ("MountainCarContinuous-v0", "env=mountain_car_continuous algo=sac"),
        ("LunarLander-v3", "env=gym env.id=LunarLander-v3 algo=ppo"),
    ],
)
def test_the_command_that_trains(env_id, command):
    assert train_hint({"env": {"id": env_id}, "policy": SB3}) == f"train one: `brittlestar train {command}`"


def test_the_command_names_the_module_of_an_environment():
    assert env_option("OwnPole-v4", "own_envs") == "env=gym env.id=own_envs:OwnPole-v4"
    config = {"env": {"id": "OwnPole-v4", "module": "own_envs"}, "policy": SB3}
    assert train_hint(config) == "train one: `brittlestar train env=gym env.id=own_envs:OwnPole-v4 algo=ppo`"


def test_no_command_for_an_unknown_environment():
    assert env_option("auto") == train_hint({"env": {"id": "auto"}, "policy": SB3}) == train_hint({"policy": SB3}) == ""


def test_no_command_for_a_policy_that_no_training_writes():
    policy = {"_target_": "brittlestar.policies.exported.OnnxPolicy"}
    assert train_hint({"env": {"id": "CartPole-v1"}, "policy": policy}) == ""


@pytest.mark.parametrize("arguments", [["policy.path=nothing.zip"], []], ids=["no such file", "no path"])
def test_an_evaluation_without_a_checkpoint_names_the_command(arguments, shell):
    done = shell("env=cartpole", "policy=sb3", *arguments, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "train one: `brittlestar train env=cartpole algo=ppo`" in done.stderr


def test_a_sweep_names_it_once(shell):
    done, _ = shell.sweep("env=pendulum", "policy=sb3", "policy.path=nothing.zip", "seed=0,1", check=False)
    assert done.returncode == 1
    assert done.stderr.count("train one: `brittlestar train env=pendulum algo=sac`") == 1
    assert "2 cells: " in done.stderr
