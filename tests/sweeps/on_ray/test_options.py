import re
from pathlib import Path

import pytest
import yaml

from brittlestar.config import config_folder
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.options import RayOptions

SHIPPED = yaml.safe_load(Path(config_folder(), "hydra/launcher/ray.yaml").read_text())


def test_the_shipped_config_has_every_option_with_its_default():
    values = {key: value for key, value in SHIPPED.items() if key != "_target_"}
    assert RayOptions(**values) == RayOptions()
    assert set(values) == set(vars(RayOptions()))


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("num_cpus", 0, "above 0"),
        ("num_cpus", "abc", "above 0"),
        ("num_cpus", None, "above 0"),
        ("num_cpus", True, "above 0"),
        ("num_gpus", -1, "at least 0"),
        ("retries", -1, "at least 0"),
        ("minutes_per_task", 0, "above 0"),
        ("max_in_flight", 0, "above 0"),
        ("memory_gb", float("nan"), "above 0"),
        ("connect_seconds", 0, "above 0"),
        ("checkpoint_minutes", 0, "above 0"),
        ("resources", 3, "names with numbers, as in {a100: 1}"),
        ("runtime_env", "pip", "names with values"),
        ("extra_files", "data", "a list of files and folders"),
        ("ship_code", "maybe", "true or false"),
    ],
)
def test_a_wrong_option_is_refused_with_name_bound_and_value(name, value, bound):
    with pytest.raises(UserError, match=re.escape(f"`hydra.launcher.{name}` must be {bound}, got {value}")):
        RayOptions(**{name: value})


@pytest.mark.parametrize(
    ("option", "text"),
    [({"address": "ray://head:10001"}, "address=auto"), ({"runtime_env": {"working_dir": "."}}, "extra_files")],
)
def test_what_cannot_work_names_what_does(option, text):
    with pytest.raises(UserError, match=text):
        RayOptions(**option)


def test_the_variables_of_the_user_are_added_to_those_of_the_driver(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "egl")
    options = RayOptions(runtime_env={"env_vars": {"NAME": "value"}, "pip": ["x"]}).for_gateway("/folder")
    environment = options["init"]["runtime_env"]
    assert environment["env_vars"].items() >= {"MUJOCO_GL": "egl", "NAME": "value"}.items()
    assert (environment["working_dir"], environment["pip"]) == ("/folder", ["x"])


def test_a_task_reserves_what_the_options_say():
    options = RayOptions(num_cpus=2, memory_gb=1.5, resources={"a100": 1}).for_gateway("/folder")
    assert options["task"] == {"num_cpus": 2, "num_gpus": 0, "memory": 1_500_000_000, "resources": {"a100": 1}}
    assert options["needs"] == {"CPU": 2, "GPU": 0, "memory": 1_500_000_000, "a100": 1}
