"""The phases of a stress schedule on a page: the numbers of the table, along the episodes."""

import pytest

from brittlestar.reports.page.phases import phase_section
from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import write_page
from brittlestar.reports.sections import Chart, Section
from brittlestar.results.aggregate import aggregate

CODES = [0, 0, 1, 1, 2, 2, 1, 2]
SEGMENTS = [["calm", 2], ["storm", 2, 0.5], ["shock_0", 2, 0], ["storm", 1, 0.5], ["shock_0", 1, 0]]


@pytest.fixture
def tables(make_cell):
    cells = []
    for policy in "ab":
        for level in (0.0, 1.0):
            cell = make_cell(
                [not (level and code == 1) for code in CODES],
                strength=level,
                choices={"policy": policy},
                config={"stress_schedule": {"segments": SEGMENTS}},
                phase=CODES,
            )
            cell.manifest["phases"] = ["calm", "storm", "shock_0"]
            cells.append(cell)
    return aggregate(cells)


def test_a_timeline_has_the_mean_and_the_interval_of_each_phase(tables):
    charts = {chart.title: chart for chart in phase_section(tables, []).charts}
    assert list(charts) == [
        "Success any over episodes", "Success final over episodes", "Return over episodes",
        "Success final in each phase",
    ]  # fmt: skip
    panels = charts["Success final over episodes"].data["panels"]
    assert [panel["title"] for panel in panels] == ["a", "b"]
    assert [(s["from"], s["to"], s["name"], s["dark"]) for s in panels[0]["shade"]] == [
        (0, 1, "calm", False), (2, 3, "storm", True), (4, 5, "shock_0", False), (6, 6, "storm", True),
        (7, 7, "shock_0", False),
    ]  # fmt: skip
    line = panels[1]["lines"][1]
    assert line["x"] == [0, 1, 2, 3, 4, 5, 6, 6, 7, 7]
    assert line["mean"] == [1, 1, 0, 0, 1, 1, 0, 0, 1, 1]
    row = next(r for r in tables.curve if (r["policy"], r["phase"], r["strength"]) == ("b", "storm", 1.0))
    assert (line["low"][2], line["high"][2]) == (row["success_final_low"], row["success_final_high"])
    radar = charts["Success final in each phase"].data["panels"][1]
    assert radar["axes"] == ["calm", "storm", "shock_0"]
    assert [row["values"] for row in radar["rows"]] == [[1, 1, 1], [1, 0, 1]]


def test_a_sweep_without_phases_and_a_study_that_draws_them_have_none(tables, make_cell):
    assert phase_section(aggregate([make_cell([1, 0])]), []) is None
    assert phase_section(tables, [Section("Stress", "", charts=[Chart("radar", "Channels", {})])]) is None


def test_they_are_drawn(tables, open_page, tmp_path):
    visit = open_page(write_page(sweep_page(tables, SweepFindings(), tmp_path, "Phases"), tmp_path))
    assert visit.errors == [] and visit.tab.locator("#phases svg.chart[role=img]").count() == 4
    assert "storm" in visit.tab.locator("#phases svg.chart[role=img]").first.text_content()
    assert "Phases" in visit.tab.locator("#contents").text_content()
