import copy

import pytest

from brittlestar.cells import identity

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
    assert identity.cell_hash(changed(path, value)) == identity.cell_hash(BASE)


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
    assert identity.cell_hash(changed(path, value)) != identity.cell_hash(BASE)


def test_the_same_number_is_the_same_cell():
    one, two = (identity.cell_hash(changed("perturbation.sigma", value)) for value in (1, 1.0))
    assert one == two


def test_strength_zero_is_the_same_cell_whatever_the_perturbation():
    nodes = [
        {"_target_": NOISE, "sigma": 0},
        {"_target_": NOISE, "sigma": 0.0, "keys": ["other"]},
        {"_target_": "brittlestar.perturbations.GaussianAction", "sigma": 0},
        {"_target_": "brittlestar.perturbations.Perturbation"},
    ]
    assert len({identity.cell_hash(changed("perturbation", node)) for node in nodes}) == 1


def test_the_content_of_a_policy_file_counts(tmp_path):
    file = tmp_path / "policy.bin"
    hashes = []
    for content in (b"one", b"two"):
        file.write_bytes(content)
        hashes.append(identity.cell_hash(changed("policy", {"path": str(file)})))
    assert hashes[0] != hashes[1]


def test_the_code_of_a_class_from_elsewhere_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "from brittlestar.perturbations import GaussianObservation as Mine\n"
    hashes = []
    for text in (source, source + "# changed\n"):
        (tmp_path / "my_noise_module.py").write_text(text)
        hashes.append(identity.cell_hash(changed("perturbation", {"_target_": "my_noise_module.Mine", "sigma": 1})))
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize("name", ["versions", "engine_digest"])
def test_versions_and_engine_count(name, monkeypatch):
    before = identity.cell_hash(BASE)
    monkeypatch.setattr(identity, name, lambda: "other")
    assert identity.cell_hash(BASE) != before


def test_provenance_tells_versions_and_host():
    facts = identity.provenance()
    assert facts["versions"]["mujoco"].startswith("3.")
    assert facts["host"]["python"]
