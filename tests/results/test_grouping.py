from __future__ import annotations

import pytest

from brittlestar.results.grouping import ALWAYS, group, sort_key


def alpha(value: float, **others) -> dict:
    return {"choices": {"mitigation": "low_pass"}, "config": {"mitigation": {"alpha": value, **others}}}


NEVER_COLUMNS = [
    {"seed": 1},
    {"strength": 0.1},
    {"config": {"lanes": 8}},
    {"config": {"store": "elsewhere"}},
    {"config": {"study": "smoke"}},
    {"config": {"env": {"_target_": "EnvSpec", "id": "FetchReach-v4", "kwargs": {}, "lanes": 64}}},
    {"choices": {"experiment": "smoke"}},
]


@pytest.mark.parametrize("change", NEVER_COLUMNS)
def test_what_never_is_a_column(make_cell, change):
    assert group([make_cell(), make_cell(**change)]).columns == list(ALWAYS)


COLUMNS = [
    ([{"choices": {"mitigation": "low_pass"}}], ["mitigation"]),
    ([alpha(0.3), alpha(0.5)], ["mitigation", "mitigation.alpha"]),
    # Each key has one value in its option.
    ([alpha(0.3), {"choices": {"mitigation": "median"}, "config": {"mitigation": {"window": 3}}}], ["mitigation"]),
    ([{"config": {"policy": {"_target_": "PController", "kp": 5.0}}}], ["policy.kp"]),
    ([{"config": {"policy": {"_target_": "Other", "kp": 10.0}}}], ["policy._target_"]),
    ([{"config": {"perturbation": {"_target_": "GaussianObservation", "keys": ["a"]}}}], ["perturbation.keys"]),
    ([{"config": {"env": {"_target_": "EnvSpec", "id": "FetchReach-v4", "kwargs": {"a": 1}}}}],
     ["env.kwargs", "env.kwargs.a"]),
    ([{"config": {"episodes": 7}}], ["episodes"]),
    ([{"config": {"deterministic": False}}], ["deterministic"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "columns"), COLUMNS)
def test_what_varied_is_a_column(make_cell, changes, columns):
    made = [make_cell(), *(make_cell(**change) for change in changes)]
    assert group(made).columns == [*ALWAYS, *columns]
    assert group(made[::-1]).columns == [*ALWAYS, *columns]


def test_labels_hold_the_values(make_cell):
    grouping = group([make_cell(**alpha(0.3)), make_cell(**alpha(1))])
    assert [grouping.label(i)["mitigation.alpha"] for i in (0, 1)] == [0.3, 1]
    assert grouping.label(0)["policy"] == "p_controller"


def test_failed_cells_add_no_column_of_their_own(make_cell, fail_cell):
    # A perturbation that cannot be built has no strength field, so its sigma is an ordinary key.
    broken = [fail_cell(make_cell(strength=sigma), known_strength=False) for sigma in (-1, -2)]
    assert group([make_cell(), *broken]).columns == list(ALWAYS)
    assert group(broken).columns == [*ALWAYS, "perturbation.sigma"]
    assert "mitigation.alpha" in group([make_cell(**alpha(0.3)), fail_cell(make_cell(**alpha(0)))]).columns


def test_no_cells_no_labels():
    assert group([]).labels == []


def test_labels_sort_numbers_then_text_then_nothing():
    values = [None, "b", 10, 2.5, "a", True]
    assert sorted(values, key=lambda value: sort_key([value])) == [2.5, 10, True, "a", "b", None]


def backend_cell(make_cell, fail_cell, backend, failed=False):
    env = {"_target_": "EnvSpec", "id": "FetchReach-v4", "kwargs": {}, "backend": backend}
    cell = make_cell(config={"env": env})
    return fail_cell(cell) if failed else cell


def test_cells_of_two_backends_are_two_curves(make_cell, fail_cell):
    cells = [backend_cell(make_cell, fail_cell, name) for name in ("envpool", "gymnasium")]
    assert [label["env.backend"] for label in map(group(cells).label, range(2))] == ["envpool", "gymnasium"]


def test_a_cell_that_failed_before_it_had_a_backend_differs_in_none(make_cell, fail_cell):
    cells = [backend_cell(make_cell, fail_cell, "gymnasium"), backend_cell(make_cell, fail_cell, "auto", failed=True)]
    assert "env.backend" not in group(cells).columns
