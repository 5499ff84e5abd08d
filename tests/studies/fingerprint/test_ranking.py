"""What breaks a policy first is decided by intervals, and levels are written in units."""

import math

import pytest

from brittlestar.studies.fingerprint.axes import FingerprintAxis
from brittlestar.studies.fingerprint.ranking import in_units, sentence, shares

AXES = [FingerprintAxis(name, name, 1.0) for name in "abcdef"]
STEPS, FRICTION = FingerprintAxis("delay", "d", 8, "steps"), FingerprintAxis("friction", "f", -0.8, "% friction")


@pytest.fixture
def say(curve):
    """Writes the sentence on axes a, b, ... with these levels and intervals."""

    def run(*levels, **others):
        own = {name: curve(*level) for name, level in zip("abcdef", levels, strict=False)}
        return sentence(own | others, AXES)

    return run


def test_an_axis_below_all_others_breaks_it_first(say):
    text = say((0.5, 0.4, 0.6), (0.1, 0.05, 0.2), (0.9, 0.8, 1.0), (2, 1.9, 2.1))
    assert text == "breaks first under b (0.1 [0.05, 0.2]); then under a (0.5 [0.4, 0.6]); minds least: d"


def test_axes_whose_intervals_overlap_have_no_order(say):
    text = say((0.3, 0.2, 0.4), (0.35, 0.3, 0.5), (0.9, 0.8, 1.0), (1.1, 0.9, 1.3), (2, 1, 3), (2.1, 1.4, 3))
    assert text.startswith(
        "breaks first under a (0.3 [0.2, 0.4]) or b (0.35 [0.3, 0.5]) (their order is not decided); "
    )
    assert "then under c (0.9 [0.8, 1]), d (1.1 [0.9, 1.3]) or e (2 [1, 3]) (their order is not decided)" in text
    assert "then under f" not in text


def test_an_axis_without_a_result_may_be_the_first(say, curve):
    text = say((0.3, 0.2, 0.4), f=curve(low=0.1, status="budget"))
    assert text == ("breaks first under a (0.3 [0.2, 0.4]) or f (not decided up to 4) (their order is not decided)")
    assert (
        say((0.3, 0.2, 0.4), f=curve(low=0.5, status="budget"))
        == "breaks first under a (0.3 [0.2, 0.4]); not decided: f"
    )


def test_what_it_does_not_mind_is_what_holds_up_to_the_largest_level(say, curve):
    robust = curve(status="robust")
    assert (
        say((0.3, 0.2, 0.4), f=robust)
        == "breaks first under a (0.3 [0.2, 0.4]); does not mind f up to 4 times a large level"
    )
    assert say(f=robust, e=curve(status="budget")) == "does not mind f up to 4 times a large level; not decided: e"
    assert say(f=curve(status="incapable")).startswith("fails without any perturbation (0.1 [0.05, 0.2])")


def test_levels_have_units(curve):
    assert in_units(curve(2.4, 2, 3, whole=True), STEPS) == "3 steps (holds at 2)"
    assert in_units(curve(2.4, 1, 3, whole=True), STEPS) == "2.4 [1, 3] steps"
    assert in_units(curve(0.4, 0.3, 0.5, sign=-1), FRICTION) == "-40 [-50, -30] % friction"
    assert in_units(curve(status="robust", most=0.8, sign=-1), FRICTION) == "none up to -80 % friction"


def test_shares_are_relative_to_the_large_level(curve):
    assert shares(curve(0.4, 0.2, 0.8, sign=-1), FRICTION) == (0.5, (0.25, 1.0))
    assert shares(curve(status="robust", most=32.0), STEPS) == (math.inf, (4.0, math.inf))
    assert shares(curve(status="budget", low=4.0), STEPS) == (math.inf, (0.5, math.inf))
