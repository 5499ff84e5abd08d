"""Critical curves from finished cells."""

import numpy as np
import pytest

from brittlestar.statistics.placement import Reach
from brittlestar.studies.critical.curves import critical_curves_of
from brittlestar.studies.critical.study import CriticalLevel


@pytest.fixture
def curve(make_cell):
    """Makes the curve of a policy, by its success at some levels."""

    def make(rates):
        cells = []
        for seed, (p, rate) in enumerate(rates):
            node = {"_target_": "brittlestar.perturbations.RandomAction", "p": p}
            success = np.arange(25) < 25 * rate
            cells.append(make_cell(success, strength=p, seed=seed, name="p", config={"perturbation": node}))
        for number, cell in enumerate(cells):
            cell.manifest["number"] = number
        (found,) = critical_curves_of(cells, CriticalLevel().settings(Reach(1.0, 1.0)), None, None)
        return found

    return make


def test_the_picture_of_an_incapable_policy_shows_its_outcomes(curve):
    incapable = curve([(x, 0.12) for x in (0.0, 0.1, 0.2, 0.4)])
    assert incapable.look.status == "incapable"
    levels, means, (low, high) = incapable.line(np.linspace(0, 0.4, 5))
    assert levels.tolist() == [0, 0.1, 0.2, 0.4] and means == pytest.approx([0.12] * 4)
    assert (low < means).all() and (means < high).all()


def test_the_picture_of_any_other_policy_shows_the_fit(curve):
    levels, means, _ = curve([(x, 1.0) for x in (0.0, 0.1, 0.2, 0.4)]).line(np.linspace(0, 0.4, 5))
    assert len(levels) == 5 and means[0] > 0.8


def test_an_interval_ends_where_the_perturbation_does(curve):
    rates = {0: 1, 0.1: 1, 0.2: 0.96, 0.4: 1, 0.8: 0.88, 0.8853: 0.68, 0.9127: 0.72, 0.9314: 0.64, 0.97: 0.44, 1: 0.24}
    found = curve([(float(p), rate) for p, rate in rates.items()])
    assert found.look.fit.ends()[1] > 1, "the fit itself is not bounded"
    assert found.estimate.value < found.estimate.high == 1
