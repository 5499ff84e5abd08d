from __future__ import annotations

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.results.curve import Curve


def test_a_curve_is_an_array_with_holes(make_cell):
    ragged = [make_cell([1, 0], seed=4), make_cell([1], seed=7), make_cell([0, 0, 1], strength=0.2, seed=7)]
    curve = Curve({}, ragged)
    assert (curve.strengths, curve.seeds, curve.measures) == ([0, 0.2], [4, 7], ["success_any", "success_final"])
    assert curve.episodes.tolist() == [[2, 1], [0, 3]]
    np.testing.assert_array_equal(curve.of(curve.mean, "success_any"), [[0.5, 1], [np.nan, 1 / 3]])
    np.testing.assert_array_equal(curve.scores[0], [[[1, 0, np.nan], [1, np.nan, np.nan]], [[np.nan] * 3, [0, 0, 1]]])
    assert np.isnan(curve.of(curve.std, "success_any")[0, 1])
    assert curve.of(curve.std, "success_any")[0, 0] == pytest.approx(np.std([1, 0], ddof=1))


def test_two_cells_at_one_place_are_refused(make_cell):
    with pytest.raises(UserError, match="two different cells have the same strength and seed"):
        Curve({}, [make_cell(), make_cell()])


def test_success_without_steps_is_one_measure(make_cell):
    assert Curve({}, [make_cell(dwell=np.nan)]).measures == ["success_any"]
    assert Curve({}, [make_cell(measure="return")]).measures == ["return"]
