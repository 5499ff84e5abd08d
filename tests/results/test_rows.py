from __future__ import annotations

from brittlestar.results.aggregate import aggregate
from brittlestar.results.rows import measures


def curve(make_cell, **options):
    return [make_cell([1, k], strength=s, seed=seed, **options) for s, k in ((0, 1), (0.1, 0)) for seed in (0, 1)]


def test_measures_of_a_row(make_cell):
    assert measures(aggregate(curve(make_cell)).curve[0]) == ["success_any", "success_final"]
    assert measures(aggregate([make_cell(measure="return")]).curve[0]) == ["return"]
