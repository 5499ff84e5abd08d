"""The page of a comparison: both curves, whatever their labels, and the comparison that was asked for."""

import pytest

from brittlestar.reports.page.comparison import comparison_page
from brittlestar.results.compare import compare_cells
from brittlestar.results.load import load_cells


@pytest.fixture
def side(make_cell, save_cells, tmp_path):
    """A function that records a curve: successes of ten at two levels, with three seeds."""

    def make(name: str, last: int, seeds=range(3), **options):
        counts = ((0.0, 10), (1.0, last))
        cells = [
            make_cell([1.0] * k + [0.0] * (10 - k), strength=level, seed=seed, **options)
            for level, k in counts
            for seed in seeds
        ]
        return load_cells([save_cells(tmp_path / name, cells)])

    return make


def page_of(a, b, out):
    return comparison_page(compare_cells(a, b, ("x/a", "x/b")), a, b, out)


def test_both_curves_are_shown_also_with_the_same_label(side, tmp_path):
    page = page_of(side("first", 9), side("second", 2), tmp_path)
    assert [curve["name"] for curve in page.data["curves"]["curves"]] == ["A: first", "B: second"]
    assert page.sections[0].findings == [("A minus B", "success_any: x/a is more robust than x/b over the curve")]
    assert [verdict.curve for verdict in page.verdicts] == ["A: first", "B: second"]
    assert page.data["pairs"]["pairs"][0]["levels"]["difference"] == [0.0, pytest.approx(0.7)]
    assert page.data["episodes"]["folders"] == [str(tmp_path / "first"), str(tmp_path / "second")]
    assert page.folders == ["first", "second"]


def test_policies_name_the_sides(side, tmp_path):
    a, b = side("first", 9, choices={"policy": "ppo"}), side("second", 2, choices={"policy": "sac"})
    assert [curve["name"] for curve in page_of(a, b, tmp_path).data["curves"]["curves"]] == ["A: ppo", "B: sac"]


def test_an_unpaired_comparison_is_shown_too(side, tmp_path):
    page = page_of(side("first", 9), side("second", 2, seeds=range(3, 6)), tmp_path)
    (pair,) = page.data["pairs"]["pairs"]
    assert pair["measure"] == "success_any"
    assert "unpaired" in pair["methods"][0]
