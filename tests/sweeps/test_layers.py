"""Manifests as differences: whatever the dicts, merging gives them back."""

import copy
import json

import pytest

from brittlestar.sweeps.layers import GONE, Base, ChangePool, difference, flatten, merge

BASE = {"a": 1, "b": {"c": [1, 2], "d": {}, "e": None}, "f": "x"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {}),
        ({"a": 2}, {"a": 2}),
        ({"a": 1.0}, {"a": 1.0}),
        ({"a": True}, {"a": True}),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"g": 1}, {"g": 1}),
        ({"b": {"c": [1, 2.0], "d": {}, "e": None}}, {"b": {"c": [1, 2.0]}}),
        ({"b": {"c": [1, 2], "d": {"new": 1}, "e": None}}, {"b": {"d": {"new": 1}}}),
        ({"b": None}, {"b": None}),
        ({"b": {"c": [1, 2], "e": None}}, None),
        ({"b": {}}, None),
    ],
)
def test_differences_are_merged_back(change, expected):
    node = BASE | change
    before = copy.deepcopy(BASE)
    assert difference(BASE, node) == expected
    if expected is not None:
        assert json.dumps(merge(BASE, expected), sort_keys=True) == json.dumps(node, sort_keys=True)
    assert before == BASE, "nothing was changed in place"


def test_a_base_that_lacks_no_key_is_needed():
    assert difference({"a": 1}, {"b": 1}) is None


def test_a_layered_manifest_is_the_manifest():
    config = {"env": {"kwargs": {}, "id": "A"}, "seed": 0}
    base = Base({"config": config, "status": "done", "cell": "x"})
    new = {"config": {"env": {"kwargs": {"a": 1}, "id": "A"}, "seed": 2}, "status": "done", "cell": "y", "number": 3}
    manifest = ChangePool().manifest(base, difference(base.manifest, new))
    assert dict(manifest) == new and len(manifest) == len(new)
    assert manifest.shared.flat_config == {"env.kwargs": GONE, "env.kwargs.a": 1}
    assert (manifest.setting("seed"), manifest["number"], "number" in manifest) == (2, 3, True)
    assert base.flat == flatten(config)
    assert manifest.get("error") is None


def test_cells_of_one_curve_and_strength_share_their_changes():
    policy = {"path": "a", "training": 0}
    config = {"seed": 0, "policy": policy, "perturbation": {"sigma": 0.0}}
    base, pool = Base({"config": config, "cell": "x", "number": 0}), ChangePool()

    def manifest(number, seed, sigma):
        own = config | {"seed": seed, "policy": policy | {"training": seed}, "perturbation": {"sigma": sigma}}
        new = {"config": own, "cell": f"{number}", "number": number}
        layered = pool.manifest(base, difference(base.manifest, new))
        assert json.dumps(dict(layered)) == json.dumps(new)
        assert layered.setting("policy") == own["policy"] and layered.setting("seed") == seed
        return layered

    manifests = [manifest(i, *values) for i, values in enumerate([(0, 0.1), (1, 0.1), (2, 0.2), (3, 0.1)])]
    assert len({id(one.shared) for one in manifests}) == 2
    # They are equal, and yet not the same config.
    assert manifest(5, 1, 1).shared is not manifest(6, 1, 1.0).shared
