import pytest

from brittlestar.config.build import build
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies import PushController
from brittlestar.sweeps.policy_words import env_node, policy_node


def test_an_option_is_the_policy_of_its_yaml():
    assert build(policy_node("push_controller"), "policy") == PushController()
    assert policy_node("zoo/cartpole_ppo")["name"] == "cartpole_ppo"


def test_files_and_folders_are_recognised(tmp_path):
    (tmp_path / "model.zip").touch()
    (tmp_path / "model.onnx").touch()
    (tmp_path / "agent").mkdir()
    (tmp_path / "training" / "final").mkdir(parents=True)
    (tmp_path / "training" / "final" / "policy.zip").touch()
    kinds = {"model.zip": "Sb3Policy", "model.onnx": "OnnxPolicy", "agent": "ZooFolderPolicy", "training": "Sb3Policy"}
    for name, kind in kinds.items():
        assert policy_node(str(tmp_path / name))["_target_"].endswith(f".{kind}"), name
    assert policy_node(str(tmp_path / "training"))["path"].endswith("training/final/policy.zip")
    assert policy_node("ws://127.0.0.1:8000")["_target_"].endswith(".ServerPolicy")
    assert policy_node("my_module:my_policy")["_target_"].endswith(".CallablePolicy")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("push_controler", "there is no policy, file or folder `push_controler`; did you mean `push_controller`"),
        ("zoo/cartpole_pop", "did you mean `zoo/cartpole_ppo`"),
        ("missing/model.zip", "there is no missing/model.zip"),
        ("sb3", "the policy `sb3` needs a file: name the file itself"),
    ],
)
def test_a_wrong_word_is_one_line(word, message):
    with pytest.raises(UserError, match=message):
        policy_node(word)


def test_an_environment_has_the_settings_of_its_config_by_name_and_by_id():
    by_name, by_id = (build(env_node(word), "env") for word in ("fetch_push", "FetchPush-v4"))
    assert by_name == by_id and by_name.success is not None
    assert build(env_node("FetchPush-v1"), "env").success == by_id.success
    assert build(env_node("LunarLander-v3"), "env") == EnvSpec(id="LunarLander-v3")
    for word in ("fetch_psh", "auto", "gym"):
        with pytest.raises(UserError, match=f"there is no environment `{word}`|needs a value"):
            env_node(word)
