from __future__ import annotations

import math

import numpy as np
import pytest

from brittlestar.results.format import bounded, bounded_column, markdown, text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0.5, 0.25, 0.75), "0.5 [0.25, 0.75]"),
        ((0.5, 0.25, math.inf), "0.5 [0.25, inf]"),
        ((0.5, None, None), "0.5"),
        ((0.5, math.nan, 0.75), "0.5"),
        ((None, None, None), ""),
        ((math.nan, None, None, ".2f", "none"), "none"),
        ((None, 0.3, math.inf, ".2f", "none"), "none [0.30, inf]"),
        ((None, math.inf, math.inf, ".2f", "none"), "none"),
        ((0.5, -0.25, 1.0, "+.1f"), "+0.5 [-0.2, +1.0]"),
        ((2, 1, 3, str), "2 [1, 3]"),
        ((50.0, 25.0, 75.0, ".1f", "", " %"), "50.0 % [25.0, 75.0]"),
    ],
)
def test_an_interval_follows_its_value_unless_a_bound_is_missing(arguments, expected):
    assert bounded(*arguments) == expected
    value, low, high, *style = arguments
    if len(style) < 3:
        assert bounded_column({"auc": value, "auc_low": low, "auc_high": high}, "auc", *style) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456, "0.1235"),
        (1.0, "1"),
        (None, ""),
        (math.nan, ""),
        (3, "3"),
        (True, "True"),
        (math.inf, "inf"),
        ("a", "a"),
    ],
)
def test_a_value_has_four_digits_or_nothing(value, expected):
    assert text(value) == text(np.float64(value) if isinstance(value, float) else value) == expected


def test_markdown_without_rows():
    assert markdown([], ["a", "long name"]) == "| a   | long name |\n|-----|-----------|"


def test_markdown_aligns_numbers_to_the_right():
    table = markdown([{"n": 1, "flag": True, "x": None}, {"n": 100, "flag": False}], ["n", "flag", "x"])
    assert table.splitlines() == [
        "|   n | flag  |   x |",
        "|----:|-------|----:|",
        "|   1 | True  |     |",
        "| 100 | False |     |",
    ]


def test_a_bar_in_a_name_does_not_end_its_column():
    assert markdown([{"policy": "a|b", "n": 1}], ["policy", "n"]).splitlines()[-1] == "| a\\|b   |   1 |"
