"""Two policies, axis by axis: paired differences, adjusted for the number of axes."""

import math

import pytest

from brittlestar.studies.fingerprint import differences
from brittlestar.studies.fingerprint.axes import FingerprintAxis

AXES = [FingerprintAxis(name, name, 1.0) for name in "abcd"]


@pytest.fixture
def compare(curve, monkeypatch):
    """Compares two policies; the paired difference of an axis is that of its levels, with this half width."""

    def run(half, first, second):
        def paired(pair):
            a, b = (one.estimate for one in pair)
            value = a.value - b.value if a and b else 0
            ends = {"difference_low": value - half, "difference_high": value + half}
            return [{"difference": value} | ends] if a and b else []

        monkeypatch.setattr(differences, "crossing_difference_rows", paired)
        prints = {
            name: {axis: curve(value, (value or half) - half, (value or math.inf) + half, status=status)
                   for axis, (value, status) in zip("abcd", levels, strict=False)}
            for name, levels in (("one", first), ("two", second))
        }  # fmt: skip
        return [row["tolerates_more"] for row in differences.axis_difference_rows(prints, AXES)]

    return run


def level(value):
    return value, "reached"


def test_a_difference_counts_only_after_the_adjustment_for_all_axes(compare):
    alone = compare(0.1, [level(1.11)], [level(1.0)])
    assert alone == ["one"]
    among = compare(0.1, [level(1.11)] * 4, [level(1.0)] * 4)
    assert among == ["not decided"] * 4
    assert compare(0.1, [level(1.0), level(1.0)], [level(1.3), level(1.02)]) == ["two", "not decided"]


def test_a_policy_that_holds_tolerates_more_than_one_whose_interval_ends_below(compare):
    robust, undecided = (None, "robust"), (None, "budget")
    assert compare(0.1, [robust, robust, robust], [level(1.0), robust, undecided]) == [
        "one", "neither breaks", "not decided",
    ]  # fmt: skip
