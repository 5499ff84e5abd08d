"""Compositions with the ranges of public suites."""

import numpy as np
import pytest

from brittlestar.config.build import load
from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import UserError
from brittlestar.perturbations import Step
from brittlestar.randomness import LaneDraws

LANES = 300


def edited(name, **values):
    """The edits of many episodes."""
    draws = LaneDraws(0, "perturbation", LANES)
    draws.at(np.arange(LANES), np.zeros(LANES, dtype=np.int64))
    scenes = [SceneEdits() for _ in range(LANES)]
    load("perturbation", name, **values).perturb_scene(scenes, Step(np.ones(LANES), np.ones(LANES, bool), draws))
    return scenes


RANGES = [
    ("distracting_control", {"scale": 0.1}, "azimuth", -9, 9),
    ("distracting_control", {"scale": 0.3}, "elevation", -27, 27),
    ("distracting_control", {"scale": 0.3}, "roll", -27, 27),
    ("distracting_control", {"scale": 0.2}, "distance", 0.9, 1.3),
    ("colosseum", {"only": "camera_position"}, "shift", -0.1, 0.1),
    ("colosseum", {"only": "camera_angle"}, "pan", -np.degrees(0.05), np.degrees(0.05)),
    ("factor_world", {}, "azimuth", -22.5, 22.5),
    ("factor_world", {}, "elevation", -7.5, 7.5),
    ("factor_world", {}, "distance", 1.25 / 1.5, 1.75 / 1.5),
    ("robosuite", {}, "shift", -0.01, 0.01),
    ("robosuite", {}, "tilt", -np.degrees(0.087), np.degrees(0.087)),
    ("robosuite", {}, "field_of_view", -5, 5),
    ("robosuite", {}, "light_azimuth", -np.degrees(0.35), np.degrees(0.35)),
    ("robosuite", {}, "brightness", 8 / 9, 9 / 8),
]


@pytest.mark.parametrize(("name", "values", "field", "low", "high"), RANGES)
def test_a_range_is_that_of_the_suite(name, values, field, low, high):
    drawn = np.array([getattr(scene, field) for scene in edited(name, **values)])
    margin = 0.05 * (high - low)
    assert low - margin < drawn.min() < low + margin and high - margin < drawn.max() < high + margin


def test_lights_and_colours_are_those_of_the_suites():
    lights = {name: np.array([s.light_paints[0].rgb for s in edited(name)]) for name in ("colosseum", "factor_world")}
    assert 0 <= lights["colosseum"].min() < 0.01 and 0.49 < lights["colosseum"].max() <= 0.5
    assert 0.3 <= lights["factor_world"].min() < 0.31 and 0.79 < lights["factor_world"].max() <= 0.8
    table = np.array([scene.paints[0].rgb for scene in edited("colosseum")])
    assert 0.25 <= table.min() < 0.26 and 0.99 < table.max() <= 1
    assert {len(scene.ornaments) for scene in edited("colosseum")} == {2}
    before = np.full(3, 0.5)
    after = np.array([s.paints[0].colour(before, 0) for s in edited("distracting_control", scale=0.2)])
    assert 0.3 <= after.min() < 0.31 and 0.69 < after.max() <= 0.7


def test_a_scale_beyond_the_suite_is_an_error():
    with pytest.raises(UserError, match="`scale` 1.5 is too much for `parts.light`: `amount` must be in"):
        load("perturbation", "colosseum", scale=1.5)
