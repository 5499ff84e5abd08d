"""Charts of studies in a real browser."""

from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import write_page
from brittlestar.reports.sections import Chart, Section
from brittlestar.results.aggregate import aggregate


def test_bars_show_every_value_with_its_interval_and_leave_out_missing_ones(make_cell, open_page, tmp_path):
    bars = [
        {"name": "total", "values": [0.6, -0.1], "low": [0.4, -0.3], "high": [0.9, 0.1]},
        {"name": "first", "values": [0.3, None], "low": [0.1, None], "high": [0.5, None]},
    ]
    data = {"panels": [{"title": "random", "names": ["sigma", "delay"], "bars": bars}], "x": "share of the variance"}
    section = Section("Sensitivity", "text", charts=[Chart("bars", "What drives it", data)])
    page = write_page(sweep_page(aggregate([make_cell([1, 0])]), SweepFindings([section]), tmp_path, "Bars"), tmp_path)
    visit = open_page(page)
    assert visit.errors == []
    groups = visit.tab.locator("svg.chart g.series:has(rect)")
    assert groups.count() == 3 and visit.tab.locator("svg.chart g.series:has(rect) path").count() == 3
    widths = [groups.nth(i).locator("rect").bounding_box()["width"] for i in range(3)]
    assert widths[0] > 1.9 * widths[1] > 1.9 * widths[2]
    visit.tab.get_by_role("button", name="first").click()
    assert visit.tab.locator("svg.chart g.series:has(rect)").count() == 2
