"""The critical level of a part alone."""

import pytest

from brittlestar.studies.search.space import Strength
from brittlestar.studies.search.units import MOST_LEVELS, Unit, bisect


def run(strength, breaks):
    levels, steps = [], bisect(strength, 0.5)
    amount = next(steps)
    while True:
        levels.append(amount)
        try:
            amount = steps.send(float(breaks(amount)))
        except StopIteration as end:
            assert len(levels) <= MOST_LEVELS
            return end.value


@pytest.mark.parametrize("critical", [0.9, 0.37, 0.1, 0.031])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_unit_breaks_the_policy_and_is_at_most_a_tenth_too_large(critical, sign):
    unit = run(Strength("part", "key", sign * 1.0, False), lambda amount: amount >= critical)
    assert unit.breaks and critical <= unit.size <= 1.12 * critical


@pytest.mark.parametrize("critical", [1, 2, 3, 7, 33])
def test_whole_strengths_are_exact_while_they_are_few(critical):
    unit = run(Strength("part", "key", 64.0, True), lambda amount: amount >= critical)
    assert critical <= unit.size <= max(critical, 1.12 * critical) and unit.size == int(unit.size)


def test_a_part_that_breaks_nothing_has_the_end_of_its_range_as_unit():
    assert run(Strength("part", "key", 2.0, False), lambda amount: False) == Unit(2.0, False)
