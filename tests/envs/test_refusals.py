import importlib.util
import sys

import pytest

from brittlestar.envs import backends, refusals
from brittlestar.envs.base import EnvSpec
from brittlestar.envs.refusals import wrong_env
from brittlestar.errors import UserError

NEEDS_BOX2D = "LunarLander-v3 needs box2d: `pip install gymnasium[box2d]`"


def refused(env_id):
    with pytest.raises(UserError) as caught:
        EnvSpec(id=env_id).make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def without_box2d(monkeypatch):
    """Environments of Box2D cannot be imported."""
    monkeypatch.setitem(sys.modules, "Box2D", None)
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("env_id", "pip"),
    [
        ("PandaReach-v1", "panda-gym"),
        ("HopperBulletEnv-v0", "pybullet_envs_gymnasium"),
        ("MiniGrid-FourRooms-v0", "minigrid"),
    ],
)
def test_a_missing_package_is_named_and_nothing_unrelated_suggested(env_id, pip):
    if importlib.util.find_spec(pip.replace("-", "_")):
        pytest.skip(f"{pip} is installed")
    assert refused(env_id) == f"`env.id` {env_id!r} needs {pip}: `pip install {pip}`"


def test_a_registered_environment_names_the_package_that_it_lacks(without_box2d):
    assert refused("LunarLander-v3") == f"`env.id` 'LunarLander-v3' {NEEDS_BOX2D.partition(' ')[2]}"


def test_an_old_version_names_all_that_is_in_the_way_of_the_newest(without_box2d):
    line = refused("LunarLander-v2")
    assert line.startswith(
        "`env.id` 'LunarLander-v2' does not exist: take the newest version `LunarLander-v3`, which is not the"
    )
    assert "an agent of another version then needs `policy.adapter=same`" in line
    assert line.endswith(NEEDS_BOX2D)


@pytest.mark.parametrize(
    ("env_id", "reason", "newest"),
    [
        # Gymnasium and Gymnasium-Robotics both register these ids, with reasons of their own.
        ("Hopper-v2", "", "Hopper-v5"),
        ("Ant-v2", "", "Ant-v5"),
        ("Pusher-v4", "`Pusher-v4` is only supported on `mujoco<3`", "Pusher-v5"),
    ],
)
def test_a_registered_version_that_cannot_be_made_names_the_newest(env_id, reason, newest):
    line = refused(env_id)
    assert line.startswith(f"`env.id` {env_id!r} cannot be made: {reason}")
    assert f"; take the newest version `{newest}`" in line and "`policy.adapter=same`" in line


def test_an_id_that_only_envpool_runs_names_what_a_newer_one_needs():
    line = refused("Hopper-v3")
    assert "`pip install brittlestar[envpool]`" in line
    assert "take the newest version `Hopper-v5`" in line
    assert "`policy.adapter=same`" in line


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("CartPol-v1", "`env.id` 'CartPol-v1' does not exist; did you mean `CartPole-v1`?"),
        (
            "MyArm-v0",
            "`env.id` 'MyArm-v0' does not exist; if a package of yours registers it, name its module: `env.mod",
        ),
        ("CartPole-v7", "`env.id` 'CartPole-v7' does not exist: take the newest version `CartPole-v1`"),
    ],
)
def test_an_unknown_id_gets_only_related_advice(env_id, message):
    assert refused(env_id).startswith(message)


def test_an_agent_in_another_version_is_not_sent_to_one_that_cannot_be_made(monkeypatch, without_box2d):
    assert ": take `env=auto`, or set `policy.adapter=same` if" in wrong_env("a.zip", "CartPole-v0", "CartPole-v1")
    lander = wrong_env("a.zip", "LunarLander-v2", "LunarLander-v3")
    assert lander.startswith("a.zip was trained in LunarLander-v2, not in LunarLander-v3: set `policy.adapter=same` if")
    assert lander.endswith(f"; LunarLander-v2 itself cannot be made here; {NEEDS_BOX2D}")
    for module in (refusals, backends):
        monkeypatch.setattr(module, "envpool_available", lambda: False)
    hopper = wrong_env("a.zip", "Hopper-v3", "Hopper-v5")
    assert hopper.endswith("; Hopper-v3 itself needs EnvPool (`pip install brittlestar[envpool]`)")
