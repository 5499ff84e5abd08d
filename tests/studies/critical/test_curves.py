"""Critical curves from finished cells."""

import numpy as np
import pytest

from brittlestar.statistics.placement import Reach
from brittlestar.studies.critical.curves import critical_curves_of
from brittlestar.studies.critical.plots import draw_curves
from brittlestar.studies.critical.study import CriticalLevel


@pytest.fixture
def curve(make_cell):
    """Makes the curve of a policy, by its success at some levels."""

    def make(rates, budget=3000):
        cells = []
        for seed, (p, rate) in enumerate(rates):
            node = {"_target_": "brittlestar.perturbations.RandomAction", "p": p}
            success = np.arange(25) < 25 * rate
            cells.append(make_cell(success, strength=p, seed=seed, name="p", config={"perturbation": node}))
        for number, cell in enumerate(cells):
            cell.manifest["number"] = number
        (found,) = critical_curves_of(cells, CriticalLevel(budget=budget).settings(Reach(1.0, 64.0)), None, None)
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


def test_a_policy_is_robust_only_at_the_end_of_the_range(curve):
    statement = "not decided whether it falls below a success rate of 0.5 within "
    clean = curve([(0.0, 1.0)], budget=25)
    assert clean.look.status == "budget" and clean.statement() == f"{statement}0: the budget of 25 episodes is used"
    running = curve([(0.0, 1.0), (0.01, 1.0), (0.02, 1.0)])
    assert running.look.status == "open" and running.statement() == f"{statement}0.02"
    assert curve([(0.0, 1.0), (0.001, 1.0), (0.128, 1.0)]).look.status == "robust"
    assert curve([(0.0, 1.0), (0.5, 1.0), (1.0, 1.0)]).look.status == "robust", "p has no larger value"


def test_clean_episodes_alone_have_a_picture(curve, tmp_path):
    draw_curves([curve([(0.0, 1.0)])], tmp_path / "curves")
    assert (tmp_path / "curves.png").is_file()
