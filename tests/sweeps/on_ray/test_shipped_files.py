import json
import sys

import pytest

from brittlestar.sweeps.on_ray.shipped_files import join, luggage_of, renamed

SB3 = "brittlestar.policies.sb3.Sb3Policy"


def luggage(node):
    return luggage_of(json.dumps(node))


def test_a_checkpoint_travels_with_the_files_next_to_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("agent.zip", "agent/vecnormalize.pkl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    parts = luggage({"_target_": SB3, "path": "agent.zip", "model": "agent.zip"})
    assert set(parts.files) == {f"{tmp_path}/agent.zip", f"{tmp_path}/agent/vecnormalize.pkl"}
    assert parts.places == {"agent.zip": f"{tmp_path}/agent.zip"}


def test_a_config_names_the_copies_and_nothing_else_changes(tmp_path):
    file = tmp_path / "agent.zip"
    file.write_text("content")
    node = {"policy": {"_target_": SB3, "path": str(file)}, "check": str(file), "list": [{"path": str(file)}]}
    copy = f"/root{file}"
    assert renamed(node, luggage(node).places, "/root") == {
        "policy": {"_target_": SB3, "path": copy},
        "check": str(file),
        "list": [{"path": copy}],
    }


def test_a_module_is_code_and_not_a_file(tmp_path, monkeypatch):
    (tmp_path / "my_travelling_policy.py").write_text("def act(observation): return 0")
    monkeypatch.syspath_prepend(tmp_path)
    node = {"_target_": "brittlestar.policies.CallablePolicy", "path": "my_travelling_policy:act"}
    parts = luggage(node)
    assert (parts.files, parts.places) == ({}, {})
    assert parts.sources == {str(tmp_path / "my_travelling_policy.py")}


def test_a_class_that_reports_its_files_gets_the_copies(tmp_path, monkeypatch):
    (tmp_path / "my_travelling_noise.py").write_text(
        "class Noise:\n    @staticmethod\n    def config_files(node): return [node['table']]\n"
    )
    (tmp_path / "table.csv").write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    node = {"_target_": "my_travelling_noise.Noise", "table": str(tmp_path / "table.csv"), "name": "table.csv"}
    parts = luggage(node)
    assert set(parts.files) == {str(tmp_path / "table.csv")}
    assert renamed(node, parts.places, "/root") == node | {"table": f"/root{tmp_path}/table.csv"}
    sys.modules.pop("my_travelling_noise")


def test_policies_of_the_package_travel_with_the_package():
    parts = luggage({"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "cartpole_ppo", "adapter": None})
    assert (parts.files, parts.places) == ({}, {})


@pytest.mark.parametrize("key", ["expert", "data"])
def test_what_behaviour_cloning_learns_from_travels(tmp_path, key):
    (tmp_path / "agent.zip").write_text("content")
    (tmp_path / "set-v0" / "data").mkdir(parents=True)
    for name in ("metadata.json", "main_data.hdf5"):
        (tmp_path / "set-v0" / "data" / name).write_text(name)
    value = str(tmp_path / {"expert": "agent.zip", "data": "set-v0"}[key])
    node = {"_target_": "brittlestar.training.cloning.Cloning", key: value, "name": "bc"}
    names = {"expert": {"agent.zip"}, "data": {"metadata.json", "main_data.hdf5"}}
    assert {path.rpartition("/")[2] for path in luggage(node).files} == names[key]
    assert renamed(node, luggage(node).places, "/root") == node | {key: f"/root{value}"}


def test_files_of_several_configs_are_joined(tmp_path):
    files = [tmp_path / name for name in ("a.zip", "b.zip")]
    for file in files:
        file.write_text(file.name)
    both = join(luggage({"path": str(file)}) for file in files)
    assert list(both.files) == [str(file) for file in files]
