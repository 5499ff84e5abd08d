import copy
import json

import grimp
import pytest

from brittlestar.cells import identity
from brittlestar.cells.config_files import config_files
from brittlestar.cells.job import Job, resolve
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.config import GROUPS, options
from brittlestar.envs import backends, base
from brittlestar.policies.zoo import cards

NOISE = "brittlestar.perturbations.GaussianObservation"
BASE = {
    "env": {"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1", "lanes": 4},
    "policy": {"_target_": "brittlestar.policies.RandomPolicy"},
    "perturbation": {"_target_": NOISE, "sigma": 0.1},
    "mitigation": {"_target_": "brittlestar.mitigations.Mitigation"},
    "stress_schedule": {"_target_": "brittlestar.schedules.Constant", "level": 1.0},
    "episodes": 10,
    "seed": 0,
    "lanes": 4,
    "threads": None,
    "store": "a",
    "study": None,
}


def hash_of(config):
    return resolve(Job(config)).cell


def changed(path, value):
    config = copy.deepcopy(BASE)
    node = config
    *parents, last = path.split(".")
    for key in parents:
        node = node[key]
    node[last] = value
    return config


@pytest.mark.parametrize(
    ("path", "value"),
    [("lanes", 9), ("env.lanes", 9), ("threads", 2), ("store", "b"), ("study", {}), ("role", "x")],
)
def test_neutral_keys_do_not_count(path, value):
    assert hash_of(changed(path, value)) == hash_of(BASE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seed", 1),
        ("episodes", 11),
        ("perturbation.sigma", 0.2),
        ("env.id", "Acrobot-v1"),
        ("stress_schedule.level", 0.5),
    ],
)
def test_everything_else_counts(path, value):
    assert hash_of(changed(path, value)) != hash_of(BASE)


def test_the_same_number_is_the_same_cell():
    one, two = (hash_of(changed("perturbation.sigma", value)) for value in (1, 1.0))
    assert one == two


def test_strength_zero_is_the_same_cell_for_every_perturbation():
    nodes = [
        {"_target_": NOISE, "sigma": 0},
        {"_target_": NOISE, "sigma": 0.0, "keys": ["other"]},
        {"_target_": "brittlestar.perturbations.GaussianAction", "sigma": 0},
        {"_target_": "brittlestar.perturbations.Perturbation"},
    ]
    assert len({hash_of(changed("perturbation", node)) for node in nodes}) == 1


def test_the_content_of_a_policy_file_counts(tmp_path):
    file = tmp_path / "policy.bin"
    hashes = []
    for content in (b"one", b"two"):
        file.write_bytes(content)
        hashes.append(hash_of(changed("policy", {"path": str(file)})))
    assert hashes[0] != hashes[1]


def test_what_python_compiles_next_to_a_policy_does_not_count(tmp_path):
    (tmp_path / "agent" / "__pycache__").mkdir(parents=True)
    hashes = []
    for content in (b"one", b"two"):
        (tmp_path / "agent" / "__pycache__" / "envs.pyc").write_bytes(content)
        hashes.append(hash_of(changed("policy", {"path": str(tmp_path / "agent")})))
    assert hashes[0] == hashes[1]


def test_the_code_of_a_class_from_elsewhere_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "from brittlestar.perturbations import GaussianObservation as Mine\n"
    hashes = []
    for text in (source, source + "# changed\n"):
        (tmp_path / "my_noise_module.py").write_text(text)
        hashes.append(hash_of(changed("perturbation", {"_target_": "my_noise_module.Mine", "sigma": 1})))
    assert hashes[0] != hashes[1]


def test_the_code_that_a_module_from_elsewhere_imports_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_acting_module.py").write_text("from my_acting_helper import ACTION\n")
    hashes = []
    for text in ("ACTION = 0", "ACTION = 1"):
        (tmp_path / "my_acting_helper.py").write_text(text)
        hashes.append(hash_of(changed("policy", {"path": "my_acting_module:act"})))
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize("node", [{"weights": "FILE"}, {"parts": [{"net": "FILE"}]}])
def test_the_content_of_a_file_that_any_value_names_counts(tmp_path, node):
    file, hashes = tmp_path / "net.npz", []
    kwargs = json.loads(json.dumps(node).replace("FILE", str(file)))
    for content in (b"one", b"two"):
        file.write_bytes(content)
        hashes.append(hash_of(changed("policy", {"path": "operator:neg", "kwargs": kwargs})))
    assert hashes[0] != hashes[1]


def test_the_code_of_the_module_of_an_environment_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    hashes = []
    for text in ("", "# changed"):
        (tmp_path / "my_env_module.py").write_text(text)
        hashes += [
            hash_of(changed("env.module", "my_env_module")),
            hash_of(changed("env.id", "my_env_module:CartPole-v1")),
        ]
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]


def test_the_statistics_around_a_policy_file_count(tmp_path):
    (tmp_path / "CartPole-v1/PPO").mkdir(parents=True)
    (tmp_path / "CartPole-v1/PPO/rl_model_9_steps.zip").write_bytes(b"zip")
    hashes = []
    for name in ("a.txt", "vec_normalize.pkl", "PPO/rl_model_vecnormalize_9_steps.pkl"):
        (tmp_path / "CartPole-v1" / name).write_text(name)
        for path in ("PPO", "PPO/rl_model_9_steps.zip"):
            hashes.append(hash_of(changed("policy", {"path": str(tmp_path / "CartPole-v1" / path)})))
    assert len(set(hashes)) == 6


@pytest.mark.parametrize("name", ["versions", "engine_digest"])
def test_versions_and_engine_count(name, monkeypatch):
    before = hash_of(BASE)
    monkeypatch.setattr(identity, name, lambda: "other")
    assert hash_of(BASE) != before


def test_provenance_holds_versions_and_host():
    facts = identity.provenance()
    assert facts["versions"]["mujoco"].startswith("3.")
    assert facts["host"]["python"]


def test_the_hash_covers_every_module_that_a_rollout_can_reach():
    graph = grimp.build_graph("brittlestar")
    roots = ("engine", "envs", "policies", "perturbations", "mitigations", "schedules", "cells.run")
    names = [f"brittlestar.{root}" for root in roots]
    reached = {module for name in names for module in graph.find_upstream_modules(name, as_package=True)} | set(names)
    assert {"brittlestar.errors", "brittlestar.config.build", "brittlestar.checkpoints.hub"} <= reached
    rooms = {module.split(".")[1] if "." in module else "__init__" for module in reached}
    assert rooms <= set(identity.HASHED), rooms


def test_the_hash_covers_every_class_that_a_config_names():
    targets = [
        line.split()[-1]
        for group in GROUPS
        for file in options(group).values()
        for line in file.read_text().splitlines()
        if "_target_: " in line and not line.startswith("#")
    ]
    assert {target.split(".")[0] for target in targets} == {"brittlestar"}
    assert {target.split(".")[1] for target in targets} <= set(identity.HASHED)


def test_an_edit_of_a_hashed_room_counts_and_others_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "__file__", str(tmp_path / "cells/identity.py"))
    digests = []
    for name in (None, "engine/rollout.py", "errors.py", "reports/curves.py"):
        if name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("x = 1\n")
        digests.append(identity.engine_digest.__wrapped__())
    assert len(set(digests)) == 3
    assert digests[2] == digests[3]


def test_the_weights_of_a_zoo_policy_are_part_of_the_cell():
    node = {"_target_": cards.TARGET, "name": "cartpole_ppo"}
    assert str(cards.HOME / "cartpole_ppo" / POLICY) in set(config_files(node))


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(backends, "envpool_available", lambda: True)


CONFIG = {
    "env": {"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1", "kwargs": {}, "lanes": 2},
    "policy": {"_target_": "brittlestar.policies.RandomPolicy"},
    "perturbation": {"_target_": "brittlestar.perturbations.Perturbation"},
    "episode_seeds": "independent",
}


def config(backend, **changed):
    return CONFIG | {"env": CONFIG["env"] | {"backend": backend}} | changed


@pytest.mark.usefixtures("installed")
def test_the_chosen_backend_and_its_version_are_part_of_a_cell(monkeypatch):
    def resolved(*args, **changed):
        return resolve(Job(config(*args, **changed)))

    monkeypatch.setattr(base, "package_version", lambda name: "1.2.5")
    auto, forced, plain = (resolved(name).cell for name in ("auto", "envpool", "gymnasium"))
    assert auto == forced != plain
    assert resolve(Job(CONFIG)).cell == auto
    assert resolved("auto").simulator == {"backend": "envpool", "envpool": "1.2.5"}
    assert resolved("gymnasium").simulator == {"backend": "gymnasium"}
    published = {"episode_seeds": "consecutive"}
    assert resolved("auto", **published).cell == resolved("gymnasium", **published).cell
    monkeypatch.setattr(base, "package_version", lambda name: "1.2.6")
    assert resolved("auto").cell != auto
    assert resolved("gymnasium").cell == plain
