from __future__ import annotations

import pytest

from brittlestar.reports.curve_names import curve_names


@pytest.mark.parametrize(
    ("columns", "keys", "names"),
    [
        # The name of a model replaces its policy and its environment.
        (["env", "policy", "model"], [("a", "x", "m"), ("b", "y", "n")], ["m", "n"]),
        (["env", "policy", "model"], [("a", "x", "m")], ["m"]),
        (["env", "policy", "policy.path"], [("a", "x", "b/m.zip")], ["b/m.zip"]),
        (["env", "policy"], [("a", "x"), ("b", "y")], ["x", "y"]),
        (["env", "policy"], [("a", "x"), ("b", "x")], ["a", "b"]),
        (["env", "policy"], [("a", "x"), ("b", "x"), ("a", "y")], ["a, x", "b, x", "a, y"]),
        (["model", "perturbation.kind"], [("m", "k"), ("n", "k")], ["m", "n"]),
        # What an option has no value for does not name it.
        (
            ["mitigation", "mitigation.alpha"],
            [("low_pass", 0.1), ("low_pass", 0.2), ("none", None)],
            ["mitigation low_pass, alpha 0.1", "mitigation low_pass, alpha 0.2", "mitigation none"],
        ),
        (["model"], [("/home/me/ppo/a_1",), ("/home/me/a2c/a_1",), ("zoo/a",)], ["ppo/a_1", "a2c/a_1", "zoo/a"]),
        (["model"], [("/x/ppo/a_1/a.zip",), ("/x/a2c/a_1/a.zip",)], ["ppo/a_1/a.zip", "a2c/a_1/a.zip"]),
        (["model"], [("a/b",), ("b",), ("c/a/b",)], ["a/b", "b", "c/a/b"]),
    ],
)
def test_names_are_short_and_tell_curves_apart(columns, keys, names):
    assert list(curve_names(columns, keys).values()) == names


def test_long_names_are_cut_in_the_middle_and_remain_different():
    keys = [(f"a{'x' * 300}{c}{'y' * 300}",) for c in "bcb"] + [(f"a{'x' * 300}",), ("short",)]
    names = list(curve_names(["policy"], keys, most=21).values())
    assert names == ["axxxxxxxxx…yyyyyyyyyy (1)", "axxxxxxxxx…yyyyyyyyyy (2)", "axxxxxxxxx…xxxxxxxxxx", "short"]
