import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.perturbations import QuantisedObservation, ScaleObservation
from brittlestar.perturbations.context import Calibration, Context

TRUTH = np.random.default_rng(0).normal(size=(20, 300, 5))


@pytest.mark.parametrize(
    ("size", "value", "expected"),
    [(0.5, 0.2, 0.0), (0.5, 0.3, 0.5), (0.5, -0.76, -1.0), (0.5, 0.25, 0.0), (0.5, 0.75, 1.0), (2.0, 7.1, 8.0)],
)
def test_numbers_are_rounded_to_the_nearest_step(size, value, expected, play):
    assert play(QuantisedObservation(step_size=size), np.full((1, 1, 1), value)).item() == expected


def test_the_error_of_rounding_is_uniform(play):
    error = play(QuantisedObservation(step_size=0.1), TRUTH) - TRUTH
    assert np.abs(error).max() <= 0.05 + 1e-12
    assert error.var() == pytest.approx(0.1**2 / 12, rel=0.03)


def test_steps_of_std_leave_a_number_that_never_changes(play):
    coarse = QuantisedObservation(step_size=1.0, scale="std")
    coarse.prepare(Context(calibrate=lambda: Calibration({}, {"": np.array([0.0, 2.0])})))
    assert play(coarse, np.array([[[0.3, 1.4]]])).tolist() == [[[0.3, 2.0]]]


def test_a_drawn_gain_stays_through_an_episode(play):
    gain = play(ScaleObservation(gain_error=0.2), TRUTH) / TRUTH
    np.testing.assert_allclose(gain, np.broadcast_to(gain[0], gain.shape), rtol=1e-9)
    assert (gain[0].mean(), gain[0].std()) == (pytest.approx(1.0, abs=0.03), pytest.approx(0.2, rel=0.07))


def test_a_fixed_gain(play):
    np.testing.assert_allclose(play(ScaleObservation(gain_error=-0.25, draw="fixed"), TRUTH), 0.75 * TRUTH)


def test_bad_parameters():
    with pytest.raises(ValueError, match="`step_size` must be at least 0, got -1"):
        QuantisedObservation(step_size=-1)
    with pytest.raises(ValueError, match="`gain_error` must be finite, got nan"):
        ScaleObservation(gain_error=float("nan"))
    with pytest.raises(UserError, match="`draw` cannot be 'fix'; did you mean `fixed`?"):
        ScaleObservation(gain_error=0.1, draw="fix")
