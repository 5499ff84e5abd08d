import sys

import gymnasium as gym
import pytest

from brittlestar.envs.base import EnvSpec
from brittlestar.envs.ids import first_known, is_known, register_id, registered_limit, similar_id, versions_of
from brittlestar.errors import UserError

MODULE = """
import gymnasium as gym
gym.register("OwnPole-v4", entry_point="gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=33)
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module that registers an environment, before it is imported."""
    (tmp_path / "own_envs.py").write_text(MODULE)
    (tmp_path / "broken_envs.py").write_text("1 / 0")
    (tmp_path / "needy_envs.py").write_text("import nothing_like_this")
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_envs"
    gym.registry.pop("OwnPole-v4", None)
    for name in ("own_envs", "broken_envs", "needy_envs"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("fields", [{"id": "own_envs:OwnPole-v4"}, {"id": "OwnPole-v4", "module": "own_envs"}])
def test_a_module_in_the_id_is_the_same_as_beside_it(own_module, fields):
    spec = EnvSpec(**fields)
    assert (spec.id, spec.module) == ("OwnPole-v4", "own_envs")
    assert spec == EnvSpec(id="own_envs:OwnPole-v4")
    env = spec.make()
    assert (env.spec.id, env.spec.max_episode_steps) == ("OwnPole-v4", 33)
    assert registered_limit("OwnPole-v4") == 33


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("no_such_envs", "`env.module`: there is no module `no_such_envs`; install its package, or add its folder to"),
        ("panda_gym", "`env.module`: there is no module `panda_gym`; `pip install panda-gym`"),
        ("broken_envs", "`env.module`: importing `broken_envs` failed: ZeroDivisionError: division by zero"),
        ("needy_envs", "`env.module`: importing `needy_envs` failed: No module named 'nothing_like_this'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(own_module, module, message):
    with pytest.raises(UserError) as caught:
        EnvSpec(id="OwnPole-v4", module=module).make()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_an_installed_package_that_is_known_needs_no_module(tmp_path, monkeypatch):
    (tmp_path / "panda_gym.py").write_text(MODULE.replace("OwnPole-v4", "PandaReach-v3"))
    monkeypatch.syspath_prepend(tmp_path)
    register_id("PandaReach-v3")
    try:
        assert versions_of("PandaReach-v1") == ["PandaReach-v3"]
    finally:
        del gym.registry["PandaReach-v3"], sys.modules["panda_gym"]


@pytest.mark.parametrize(
    ("env_id", "known"),
    [("CartPole-v1", True), ("Hopper-v3", True), ("FetchReach-v1", True), ("PandaReach-v1", True), ("model-v2", False)],
)
def test_an_id_is_known_in_any_version(env_id, known):
    assert is_known(env_id) == known
    assert first_known(["best-v3", env_id]) == (env_id if known else None)


@pytest.mark.parametrize(
    ("env_id", "similar"),
    [
        ("CartPol-v1", "CartPole-v1"),
        ("Cartpole-v0", "CartPole-v0"),
        ("MountianCar-v0", "MountainCar-v0"),
        ("PandaReach-v1", None),
        ("HopperBulletEnv-v0", None),
        ("SurroundNoFrameskip-v4", None),
    ],
)
def test_only_nearly_equal_names_are_suggested(env_id, similar):
    ids = ["CartPole-v0", "CartPole-v1", "MountainCar-v0", "FetchReach-v1", "Reacher-v4", "PongNoFrameskip-v4"]
    assert similar_id(env_id, [*ids, "Hopper-v4"]) == similar
