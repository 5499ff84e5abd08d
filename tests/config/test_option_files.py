"""Every yaml composes, builds, and lists all the fields of its class."""

import dataclasses
import re

import pytest
import yaml
from hydra import compose

from brittlestar.config import GROUPS, config_folder, plain_config
from brittlestar.config.build import build, locate
from brittlestar.reports.option_notes import read_notes

BUILT = (*GROUPS, "study")
OPTIONS = [(group, path.stem) for group in BUILT for path in sorted((config_folder() / group).glob("*.yaml"))]
NEEDED = {"gym": ["env.id=CartPole-v1"], "callable": ["policy.path=builtins:abs"]}
NEEDED["server"] = ["policy.url=ws://127.0.0.1:8000"]
NEEDED["env_parameter"] = ["perturbation.attribute=length"]
NEEDED |= {name: ["policy.path=is/read/later"] for name in ("torchscript", "onnx")}


pytestmark = pytest.mark.usefixtures("hydra")


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


UNITS = re.compile(
    r"in the unit of `scale`|in units of the|in steps|in newtons|in pixels|[Pp]robability|[Ss]hare|fraction|[Ff]actor|"
    r"[Ww]eight|in standard deviations|[Mm]ultipl|%|quality|hides|in metres|in degrees|in stops|in kelvin"
)
"""How a comment states the unit of a strength, or that it has none."""
STRENGTHS = [
    (name, field)
    for group, name in OPTIONS
    if group == "perturbation"
    and (
        field := locate(
            yaml.safe_load((config_folder() / group / f"{name}.yaml").read_text())["_target_"], ""
        ).strength_field
    )
]


@pytest.mark.parametrize(("name", "field"), STRENGTHS)
def test_every_strength_states_its_unit(name, field):
    """Help and protocol have no other source."""
    meaning = read_notes((config_folder() / "perturbation" / f"{name}.yaml").read_text()).keys[field]
    assert meaning.endswith("The strength.") and UNITS.search(meaning), meaning
