"""One compiled model for several environments: what it relies on, and whose models remain their own."""

import threading

import mujoco
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.envs import EnvSpec, model_sharing
from brittlestar.envs.model_sharing import share_model

SHARING = ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "FetchReach-v4", "FetchPush-v4"]


@pytest.mark.parametrize("env_id", SHARING)
def test_the_installed_simulators_can_share_a_model(env_id):
    compile_model, first = mujoco.MjModel.from_xml_path, EnvSpec(id=env_id).make()
    second = EnvSpec(id=env_id).make(like=first)
    assert second.unwrapped.model is first.unwrapped.model, "the simulator has changed: see `envs/model_sharing.py`"
    assert second.unwrapped.data is not first.unwrapped.data
    assert mujoco.MjModel.from_xml_path is compile_model


def test_only_the_same_file_in_the_same_thread_is_shared(tmp_path):
    env, models = EnvSpec(id="Hopper-v5").make(), []
    path = env.unwrapped.fullpath
    (tmp_path / "other.xml").write_text("<mujoco/>")
    with share_model(env):
        assert mujoco.MjModel.from_xml_path(path) is env.unwrapped.model
        models.append(mujoco.MjModel.from_xml_path(str(tmp_path / "other.xml")))
        thread = threading.Thread(target=lambda: models.append(mujoco.MjModel.from_xml_path(path)))
        thread.start()
        thread.join()
    assert models[0].nq == 0
    assert models[1] is not env.unwrapped.model and models[1].nq == env.unwrapped.model.nq


def test_a_class_that_cannot_be_changed_compiles_as_usual():
    class Fixed(type):
        def __setattr__(cls, name, value):
            raise TypeError("immutable")

    class Model(metaclass=Fixed):
        @staticmethod
        def from_xml_path(path):
            return "compiled"

    class Env:
        model, fullpath = Model(), "hopper.xml"
        unwrapped = property(lambda self: self)

    Env.__module__ = "gymnasium.envs.mujoco.hopper_v5"
    with share_model(Env()):
        assert Model.from_xml_path("hopper.xml") == "compiled"


def test_environments_of_other_packages_have_their_own_models():
    lanes = Lanes(EnvSpec(id="AdroitHandDoor-v1"), 2)
    assert not model_sharing._is_read_only(lanes.envs[0])
    assert lanes.envs[0].unwrapped.model is not lanes.envs[1].unwrapped.model
