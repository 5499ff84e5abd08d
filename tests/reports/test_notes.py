"""Notes on curves."""

import numpy as np

from brittlestar.reports.notes import remarks
from brittlestar.results.aggregate import aggregate


def curve(make_cell, successes=((1, 1), (1, 0)), **options):
    return [make_cell(row, strength=s, **options) for s, row in zip((0, 0.1), successes, strict=True)]


def test_parting_of_any_and_final_step_is_noted(make_cell):
    cells = curve(make_cell, ((1, 1), (1, 1)), success_final=[1, 0])
    assert remarks(aggregate(cells)) == [
        "note: any-step and final-step success part, most at sigma = 0: 100% any, 50% final"
    ]
    varied = [c for k in (1.0, 2.0) for c in curve(make_cell, success_final=[k == 1, 0], config={"policy": {"kp": k}})]
    assert "most at policy.kp = 2, sigma = 0: 100% any, 0% final" in remarks(aggregate(varied))[-1]


def test_incapable_policies_are_noted(make_cell):
    (note, _) = remarks(aggregate(curve(make_cell, ((0, 0), (0, 0)))))
    assert note == (
        "note: success_any is 0 at sigma = 0, already below 0.5: incapable, so its critical strength does not measure "
        "robustness"
    )


def test_many_incapable_policies_are_counted(make_cell):
    cells = [c for kp in range(9) for c in curve(make_cell, ((0, 0), (0, 0)), config={"policy": {"kp": kp}})]
    notes = remarks(aggregate(cells))
    assert "policy.kp = 0, success_any is 0" in notes[0]
    assert notes[-1] == "note: 13 more are incapable, see summary.csv"


def test_solved_at_reset_is_noted(make_cell):
    notes = remarks(aggregate(curve(make_cell, solved_at_reset=[1, 0])))
    assert notes == ["note: up to 50.0% of the episodes are solved at reset: a floor under any-step success"]


def test_a_good_curve_needs_no_notes(make_cell):
    assert remarks(aggregate(curve(make_cell))) == []
    assert remarks(aggregate([make_cell([np.nan], measure="return", solved_at_reset=np.nan)])) == []
