import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BiasAction,
    BiasObservation,
    BodyMass,
    ComposedPerturbation,
    ContrastImage,
    DelayedAction,
    DelayedObservation,
    DelayedReward,
    GaussianAction,
    GaussianObservation,
    Gravity,
    InvertedReward,
    MaskObservation,
    Perturbation,
    SaturatedAction,
    ScaledAction,
    ScaleObservation,
    Scheduled,
    SwappedAction,
)
from brittlestar.schedules import Constant

BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)


def test_parts_act_in_order_on_their_channels(make_step):
    pair = ComposedPerturbation({"sensor": GaussianObservation(sigma=0.1), "motor": GaussianAction(sigma=0.2)})
    pair.bind(BOX, BOX, lanes=3)
    clean = np.zeros((3, 4))
    seen, sent = pair.perturb_observation(clean, make_step()), pair.perturb_action(clean, make_step())
    assert seen.any()
    assert sent.any()
    assert not np.allclose(seen * 2, sent)


def test_parts_of_one_channel_act_from_first_to_last(make_step):
    half, shift = ScaledAction(loss=0.5), BiasAction(bias=0.25, draw="fixed")
    double, add = ScaleObservation(gain_error=1.0, draw="fixed"), BiasObservation(bias=0.25, draw="fixed")
    for parts, expected in (([half, shift], 0.45), ([shift, half], 0.325)):
        whole = ComposedPerturbation(parts)
        whole.bind(BOX, BOX, lanes=1)
        np.testing.assert_allclose(whole.perturb_action(np.full((1, 4), 0.4), make_step(1)), expected)
    for parts, expected in (([double, add], 1.05), ([add, double], 1.3)):
        whole = ComposedPerturbation(parts)
        whole.bind(BOX, BOX, lanes=1)
        np.testing.assert_allclose(whole.perturb_observation(np.full((1, 4), 0.4), make_step(1)), expected)


@pytest.mark.parametrize(("only", "acting"), [("all", "ab"), ("a", "a"), (["b"], "b"), (["b", "a"], "ab"), ([], "")])
def test_only_the_chosen_parts_act(only, acting, make_step):
    parts = {"a": GaussianObservation(sigma=0.1), "b": GaussianAction(sigma=0.3)}
    whole, chosen = ComposedPerturbation(parts), ComposedPerturbation(parts, only=only)
    assert "".join(chosen.acting) == acting and chosen.is_identity == (not acting)
    clean = np.zeros((3, 4))
    seen, all_seen = (part.perturb_observation(clean, make_step()) for part in (chosen, whole))
    assert np.array_equal(seen, all_seen if "a" in acting else clean), "a part draws the same, whatever the others"


def test_a_part_that_does_not_exist_cannot_act():
    with pytest.raises(UserError, match="`only` cannot be 'sensr'; did you mean `sensor`"):
        ComposedPerturbation({"sensor": GaussianObservation(sigma=0.1)}, only=["sensr"])


def test_scale_multiplies_every_part(make_step):
    parts = {"a": GaussianObservation(sigma=0.1), "b": GaussianObservation(sigma=0.3)}
    full, half = (
        ComposedPerturbation(parts, scale=s).perturb_observation(np.zeros((3, 4)), make_step()) for s in (1.0, 0.5)
    )
    np.testing.assert_allclose(half, full / 2)


def test_equal_parts_draw_different_noise(make_step):
    twice = ComposedPerturbation([GaussianObservation(sigma=1.0), GaussianObservation(sigma=1.0)])
    once = ComposedPerturbation([GaussianObservation(sigma=1.0)])
    assert not np.allclose(
        twice.perturb_observation(np.zeros((3, 4)), make_step()),
        2 * once.perturb_observation(np.zeros((3, 4)), make_step()),
    )


@pytest.mark.parametrize(
    ("compose", "identity"),
    [
        (ComposedPerturbation([GaussianObservation(sigma=1.0)], scale=0.0), True),
        (ComposedPerturbation([GaussianObservation(sigma=0.0), Perturbation()]), True),
        (ComposedPerturbation([GaussianObservation(sigma=0.0), GaussianAction(sigma=0.1)]), False),
    ],
)
def test_identity(compose, identity):
    assert compose.is_identity == identity


def test_bad_scale():
    with pytest.raises(ValueError, match="`scale` must be at least 0, got -1"):
        ComposedPerturbation([], scale=-1)


def outputs(part, make_step, channel, steps=12):
    """Returns what is shown, sent or paid in place of 0, 1, 2, ..."""
    part.bind(spaces.Box(-99, 99, (1,)), spaces.Box(-99, 99, (1,)), lanes=1)
    change = getattr(part, f"perturb_{channel}")
    shape = (1,) if channel == "reward" else (1, 1)
    return [change(np.full(shape, float(t)), make_step(1, step=t)).item() for t in range(steps)]


@pytest.mark.parametrize(("scale", "steps"), [(0.5, 1), (1.0, 2), (1.5, 3), (2.0, 4), (3.0, 6)])
@pytest.mark.parametrize(
    ("kind", "channel"), [(DelayedObservation, "observation"), (DelayedAction, "action"), (DelayedReward, "reward")]
)
def test_a_scaled_delay_is_that_delay(kind, channel, scale, steps, make_step):
    whole = ComposedPerturbation([kind(delay_steps=2)], scale=scale)
    assert outputs(whole, make_step, channel) == outputs(kind(delay_steps=steps), make_step, channel)


def test_scale_reaches_parts_on_a_schedule_and_compositions_of_compositions():
    late = Scheduled(DelayedObservation(delay_steps=2), Constant(0.5))
    whole = ComposedPerturbation(
        {"late": late, "both": ComposedPerturbation([GaussianObservation(sigma=0.1)], scale=0.5)}, scale=3.0
    )
    assert whole.acting["late"].perturbation.delay_steps == 6
    assert whole.acting["both"].acting["0"].sigma == pytest.approx(0.15)
    assert late.perturbation.delay_steps == 2


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (ScaledAction(loss=0.8), r"`loss` must be in \[0, 1\], got 1.6"),
        (SaturatedAction(loss=0.8), r"`loss` must be in \[0, 1\], got 1.6"),
        (SwappedAction(swap=0.8, actuators=[0, 1]), r"`swap` must be in \[0, 1\], got 1.6"),
        (InvertedReward(1.0), r"in \[0, 1\], got 2"),
        (ContrastImage(loss=0.8), r"`loss` must be in \[0, 1\], got 1.6"),
        (MaskObservation(p=0.6), r"`p` must be in \[0, 1\], got 1.2"),
        (BodyMass(-0.5), "`change` must be above -1, got -1"),
        (Gravity(0.75, to=[1, 2]), r"`change` must be in \[0, 1\] with `to`, got 1.5"),
        (Scheduled(ScaledAction(loss=0.8), Constant(0.1)), r"`loss` must be in \[0, 1\], got 1.6"),
    ],
)
def test_a_scale_that_takes_a_part_out_of_its_range_is_refused(part, message):
    with pytest.raises(UserError, match=rf"`scale` 2 is too much for `parts.weak`: .*{message}"):
        ComposedPerturbation({"weak": part}, scale=2.0)


def test_parts_must_be_perturbations():
    with pytest.raises(UserError, match=r"`parts.x` must be a perturbation, with a `_target_`, got {'sigma': 0.1}"):
        ComposedPerturbation({"x": {"sigma": 0.1}})


def test_a_schedule_of_a_part_names_its_own_key():
    with pytest.raises(UserError, match="^`schedule.parameter`: GaussianObservation has no number 'sgima'"):
        Scheduled(GaussianObservation(sigma=0.1), Constant(parameter="sgima"))
