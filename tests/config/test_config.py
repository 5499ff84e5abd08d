"""Every yaml composes, builds, and lists all the fields of its class."""

import dataclasses
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir

from brittlestar.config import GROUPS, Config, config_folder, plain_config, register
from brittlestar.config.build import build, locate

BUILT = (*GROUPS, "study")
OPTIONS = [(group, path.stem) for group in BUILT for path in sorted((config_folder() / group).glob("*.yaml"))]
EXPERIMENTS = [path.stem for path in sorted((config_folder() / "experiment").glob("*.yaml"))]
NEEDED = {"gym": ["env.id=CartPole-v1"], "callable": ["policy.path=builtins:abs"]}
NEEDED["env_parameter"] = ["perturbation.attribute=length"]
NEEDED |= {name: ["policy.path=is/read/later"] for name in ("torchscript", "onnx")}


@pytest.fixture(scope="module", autouse=True)
def hydra():
    register()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        yield


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """A folder of rl-zoo with an agent that has learnt nothing."""
    stable_baselines3, torch = pytest.importorskip("stable_baselines3"), pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("ppo") / "CartPole-v1_1"
    folder.mkdir()
    model = stable_baselines3.PPO("MlpPolicy", "CartPole-v1", device="cpu")
    model.save(folder / "CartPole-v1.zip")
    actor = {f"actor.{name}": value for name, value in model.policy.mlp_extractor.policy_net.state_dict().items()}
    torch.save(actor, folder / "cleanrl.pth")
    return folder


@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_option_composes_and_builds(group, name, request):
    needed = NEEDED.get(name, [])
    if name in ("sb3", "zoo_folder", "cleanrl"):
        file = {"sb3": "CartPole-v1.zip", "zoo_folder": "", "cleanrl": "cleanrl.pth"}[name]
        needed = [f"policy.path={request.getfixturevalue('agent') / file}"]
    config = plain_config(compose("config", [f"{group}={name}", *needed]))
    built = build(config[group], group)
    assert type(built) is locate(config[group]["_target_"], group)


@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_option_lists_all_fields_and_has_a_help_text(group, name):
    path = config_folder() / group / f"{name}.yaml"
    node = yaml.safe_load(path.read_text())
    assert path.read_text().startswith("# "), "the first line is the help text"

    def check(node, where):
        if isinstance(node, dict):
            if "_target_" in node:
                target = locate(node["_target_"], where)
                fields = {f.name for f in dataclasses.fields(target)} if dataclasses.is_dataclass(target) else set()
                assert set(node) - {"_target_"} == fields, where
            for key, value in node.items():
                check(value, f"{where}.{key}")

    check(node, group)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_composes(name):
    config = compose("config", [f"experiment={name}"], return_hydra_config=True)
    assert config.hydra.sweeper.params


def test_names_that_other_rooms_use():
    config = compose("config", return_hydra_config=True)
    assert config.store == "outputs/store"
    assert config.lanes == config.env.lanes
    assert {"episodes", "seed", "lanes", "store"} <= set(config)
    assert "dir" in config.hydra.sweep


def test_the_top_level_is_typed():
    assert set(plain_config(compose("config"))) == {field.name for field in dataclasses.fields(Config)}


def test_levels_of_the_published_studies():
    for env in ("fetch_reach", "fetch_push"):
        params = {
            study: compose("config", [f"experiment={env}_{study}"], return_hydra_config=True).hydra.sweeper.params
            for study in ("observation", "action", "low_pass")
        }
        assert params["observation"]["perturbation.sigma"] == "0,0.005,0.01,0.02,0.05,0.1,0.2"
        assert params["action"]["perturbation.sigma"] == "0,0.01,0.025,0.05,0.1,0.2,0.35,0.5"
        assert params["low_pass"]["mitigation.alpha"] == "0.3,0.5,0.7,1"


def test_the_config_folder_is_found():
    assert (Path(config_folder()) / "config.yaml").is_file()
