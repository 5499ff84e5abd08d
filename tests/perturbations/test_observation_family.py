"""Promises of every perturbation of vectors."""

import dataclasses

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.perturbations import (
    BiasObservation,
    ComposedPerturbation,
    DelayedObservation,
    DriftObservation,
    HoldObservation,
    MaskObservation,
    QuantisedObservation,
    ScaleObservation,
    Scheduled,
    SpikeObservation,
    Step,
    StuckObservation,
    UniformObservation,
)
from brittlestar.randomness import LaneDraws
from brittlestar.schedules import StepSchedule

GROUPS = {"arm": [0, 1], "leg": [2, 3], "eye": [5]}
CASES = {
    "uniform": UniformObservation(width=0.2),
    "bias": BiasObservation(bias=0.2),
    "fixed_bias": BiasObservation(bias=0.2, draw="fixed"),
    "drift": DriftObservation(sigma=0.2),
    "spike": SpikeObservation(p=0.4, height=2.0),
    "scale": ScaleObservation(gain_error=0.2),
    "fixed_scale": ScaleObservation(gain_error=0.2, draw="fixed"),
    "quantised": QuantisedObservation(step_size=0.5),
    "delayed": DelayedObservation(delay_steps=4),
    "jittered": DelayedObservation(delay_steps=2, jitter_steps=4),
    "hold": HoldObservation(p=0.4, hold_steps=2),
    "stuck": StuckObservation(p=0.8, within_steps=8),
    "mask_channel": MaskObservation(p=0.8, r=0.8),
    "mask_random": MaskObservation(p=0.8, r=0.8, kind="random", fill="last"),
    "mask_block": MaskObservation(p=0.8, r=0.8, kind="block", fill="multiplicative"),
    "mask_group": MaskObservation(p=0.8, r=0.8, kind="group", groups=GROUPS),
}
DRAWN = [name for name in CASES if not name.startswith("fixed") and name not in ("quantised", "delayed")]
TRUTH = np.random.default_rng(0).normal(5.0, 3.0, size=(12, 4, 6))

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def with_strength(case, value):
    return dataclasses.replace(case, **{case.strength_field: value})


@every_case
def test_it_changes_the_observation(case, play):
    assert not case.is_identity
    assert not np.array_equal(play(case, TRUTH), TRUTH)


@every_case
def test_strength_zero_and_level_zero_are_exactly_the_identity(case, play):
    nothing = with_strength(case, 0)
    assert nothing.is_identity
    assert np.array_equal(play(nothing, TRUTH), TRUTH)
    assert np.array_equal(play(case, TRUTH, level=0.0), TRUTH)


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_dtype_shape_and_input_are_kept(case, dtype, play):
    truth = TRUTH.astype(dtype)
    before = truth.copy()
    seen = play(case, truth)
    assert (seen.dtype, seen.shape) == (truth.dtype, truth.shape)
    assert np.array_equal(truth, before)


@every_case
def test_only_the_named_keys_of_a_dict_are_touched(case, make_step):
    case = dataclasses.replace(case, keys=["a"])
    box = spaces.Box(-np.inf, np.inf, (6,))
    case.bind(spaces.Dict({"a": box, "b": box}), box, lanes=4)
    for t in range(len(TRUTH)):
        clean = {"a": TRUTH[t], "b": TRUTH[t]}
        seen = case.perturb_observation(clean, make_step(lanes=4, step=t))
        assert list(seen) == ["a", "b"]
        assert seen["b"] is clean["b"]
        if not np.array_equal(seen["a"], clean["a"]):
            return
    pytest.fail("nothing was touched")


@pytest.mark.parametrize("name", [name for name in CASES if name != "mask_group"])
def test_what_is_kept_of_one_key_is_not_mixed_up_with_another(name, make_step):
    both = dataclasses.replace(CASES[name], keys=["a", "b"])
    box = spaces.Box(-np.inf, np.inf, (6,))
    both.bind(spaces.Dict({"a": box, "b": box}), box, lanes=4)
    for t in range(len(TRUTH)):
        seen = both.perturb_observation({"a": TRUTH[t], "b": TRUTH[t] + 1e9}, make_step(lanes=4, step=t))
        assert np.abs(seen["a"]).max() < 1e3
        assert ((np.abs(seen["b"]) > 1e3) | (seen["b"] == 0)).all()


@pytest.mark.parametrize("case", [CASES[name] for name in DRAWN], ids=DRAWN)
def test_same_seed_same_noise_other_seed_other_noise(case, play):
    noise, repeated, other = (play(case, TRUTH, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(noise, repeated)
    assert not np.array_equal(noise, other)


@every_case
def test_a_lane_does_not_depend_on_others_nor_on_its_place(case, play):
    together = play(case, TRUTH)
    order = [2, 0, 3, 1]
    assert np.array_equal(play(case, TRUTH[:, order], episodes=order), together[:, order])
    for lane in range(4):
        assert np.array_equal(play(case, TRUTH[:, [lane]], episodes=[lane])[:, 0], together[:, lane])


@every_case
def test_an_episode_does_not_depend_on_the_previous_one_in_its_lane(case, play):
    """Lane 1 starts episode 7 in the middle of episode 0 of lane 0."""
    fresh = play(case, TRUTH[:6, [1]], episodes=[7])[:, 0]
    box = spaces.Box(-np.inf, np.inf, (6,))
    case.bind(box, box, lanes=2)
    draws, seen = LaneDraws(0, "test", 2), []
    for t in range(11):
        later = t >= 5
        steps = np.array([t, t - 5 if later else t])
        draws.at(np.array([0, 7 if later else 1]), steps)
        row = np.stack([TRUTH[t, 0], TRUTH[t - 5, 1] if later else 1e3 + TRUTH[t, 2]])
        seen.append(case.perturb_observation(row, Step(np.ones(2), steps == 0, draws))[1])
    assert np.array_equal(seen[5:], fresh)


NUMBERS = [
    (name, field.name)
    for name, case in CASES.items()
    for field in dataclasses.fields(case)
    if type(getattr(case, field.name)) in (int, float) and getattr(case, field.name)
]


@pytest.mark.parametrize(("name", "parameter"), NUMBERS)
def test_every_number_can_be_scheduled(name, parameter, play):
    case, value = CASES[name], getattr(CASES[name], parameter)
    half = dataclasses.replace(case, **{parameter: value // 2 if isinstance(value, int) else value / 2})
    seen = play(case, TRUTH, level=0.5, parameter=parameter)
    np.testing.assert_allclose(seen, play(half, TRUTH), rtol=1e-12)
    assert not np.array_equal(seen, play(case, TRUTH))


@pytest.mark.parametrize("name", ["uniform", "bias", "drift", "scale", "fixed_bias", "fixed_scale"])
def test_the_strength_scales_a_draw_that_does_not_depend_on_it(name, play):
    case = CASES[name]
    weak, strong = (play(with_strength(case, s * case.strength), TRUTH) - TRUTH for s in (1, 10))
    np.testing.assert_allclose(strong, 10 * weak, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["spike", "hold", "stuck", "mask_channel", "mask_random", "mask_block", "mask_group"])
def test_what_is_hit_at_a_low_probability_is_hit_at_a_high_one(name, play):
    few, many = (play(with_strength(CASES[name], p), TRUTH) != TRUTH for p in (0.3, 0.7))
    assert few.any()
    assert many.sum() > few.sum()
    assert not (few & ~many).any()


@every_case
def test_it_works_as_a_scheduled_part_of_a_composition(case, make_step):
    late = ComposedPerturbation({"late": Scheduled(case, StepSchedule(onset_step=6))})
    box = spaces.Box(-np.inf, np.inf, (6,))
    late.bind(box, box, lanes=4)
    seen = np.array([late.perturb_observation(TRUTH[t], make_step(lanes=4, step=t)) for t in range(len(TRUTH))])
    assert np.array_equal(seen[:6], TRUTH[:6])
    assert not np.array_equal(seen[6:], TRUTH[6:])
