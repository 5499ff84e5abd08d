"""Critical curves from finished cells."""

import numpy as np
import pytest

from brittlestar.statistics.placement import Reach
from brittlestar.studies.critical.curves import critical_curves_of
from brittlestar.studies.critical.study import CriticalLevel


@pytest.fixture
def curve(make_cell):
    """Makes the curve of a policy with the same success at every level."""

    def make(rate):
        levels = (0.0, 0.1, 0.2, 0.4)
        cells = [make_cell(np.arange(50) < 50 * rate, strength=s, seed=i) for i, s in enumerate(levels)]
        for number, cell in enumerate(cells):
            cell.manifest["number"] = number
        (found,) = critical_curves_of(cells, CriticalLevel().settings(Reach(1.0, 1.0)), None, None)
        return found

    return make


def test_the_picture_of_an_incapable_policy_shows_its_outcomes(curve):
    incapable = curve(0.1)
    assert incapable.look.status == "incapable"
    levels, means, (low, high) = incapable.line(np.linspace(0, 0.4, 5))
    assert levels.tolist() == [0, 0.1, 0.2, 0.4] and means == pytest.approx([0.1] * 4)
    assert (low < means).all() and (means < high).all()


def test_the_picture_of_any_other_policy_shows_the_fit(curve):
    levels, means, _ = curve(1.0).line(np.linspace(0, 0.4, 5))
    assert len(levels) == 5 and means[0] > 0.8
