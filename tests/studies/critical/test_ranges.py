"""The key and the range of a critical search, from the config of a cell."""

import math

import pytest

from brittlestar.cells.job import Job
from brittlestar.config import plain_config
from brittlestar.config.yaml_files import read_option
from brittlestar.errors import UserError
from brittlestar.statistics.intervals import Interval
from brittlestar.studies.critical.ranges import cut_to_bound, knob_of


def cell(perturbation, **fields):
    return Job(
        {"perturbation": plain_config(read_option("perturbation", perturbation)) | fields},
        {"perturbation": perturbation},
    )


@pytest.mark.parametrize(
    ("perturbation", "key", "start", "most", "value"),
    [
        ("gaussian_observation", "perturbation.sigma", 0.05, 3.2, 0.1),
        ("random_action", "perturbation.p", 0.2, 1.0, 0.1),
        ("delayed_action", "perturbation.delay_steps", 2, 128, 3),
    ],
)
def test_the_strength_is_doubled_up_to_64_times_or_to_its_bound(perturbation, key, start, most, value):
    knob = knob_of(cell(perturbation), None, None)
    assert (knob.key, knob.reach.start, knob.reach.most) == (key, start, pytest.approx(most))
    assert knob.value(value) == value and type(knob.value(value)) is type(value)


def test_a_strength_below_0_is_searched_downwards_to_its_bound():
    knob = knob_of(cell("friction"), None, None)
    assert knob.sign == -1 and 0.9 < knob.reach.most <= 1 and knob.value(0.2) == -0.2


def test_a_range_replaces_the_doubling():
    knob = knob_of(cell("gaussian_observation"), None, [0, 0.4])
    assert (knob.reach.start, knob.reach.most) == (0.1, 0.4)
    assert knob_of(cell("friction"), None, [0, -0.5]).value(0.25) == -0.25


@pytest.mark.parametrize(
    ("perturbation", "key", "limits", "message"),
    [
        ("none", None, None, "`perturbation=none` has no strength to vary"),
        ("gaussian_observation", "perturbation.keys", None, "must name a number"),
        ("gaussian_observation", "perturbation.sgima", None, "did you mean `sigma`?"),
        ("gaussian_observation", None, [0.2, 0.1], "`study.range` must go from 0"),
        ("gaussian_observation", None, [0.2, 0.2], "`study.range` must go from 0"),
        ("gaussian_observation", None, [-1, 1], "`study.range` must go from 0"),
        ("gaussian_observation", None, [0.1, 0.4], "`study.range` must go from 0"),
        ("gaussian_observation", None, [0, 0], "`study.range` must go from 0"),
        ("gaussian_observation", None, [0, -1], "`sigma` must be at least 0, got -1"),
        ("gaussian_observation", "episodes", None, "`study.key=episodes` changes no cell, or is chosen by the search"),
        ("gaussian_observation", "study.width", None, "`study.key=study.width` changes no cell"),
        ("delayed_action", None, [0, 2.5], "`perturbation.delay_steps` takes whole numbers"),
        ("gaussian_observation", None, [1], "`study.range` must be two numbers"),
        ("random_action", None, [0, 2], r"`p` must be in \[0, 1\]"),
    ],
)
def test_what_cannot_be_searched_is_refused(perturbation, key, limits, message):
    with pytest.raises(UserError, match=message):
        knob_of(cell(perturbation), key, limits)


def test_a_strength_of_0_has_no_first_value_to_try():
    with pytest.raises(UserError, match=r"`perturbation.sigma` is 0: set a first value"):
        knob_of(cell("gaussian_observation", sigma=0.0), None, None)


@pytest.mark.parametrize("high", [math.inf, math.nan])
def test_an_interval_without_an_upper_end_is_not_cut(high):
    interval = Interval(2.0, high)
    assert cut_to_bound(cell("delayed_action", delay_steps=4), "perturbation.delay_steps", 1, interval, 16) is interval
