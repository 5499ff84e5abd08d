import math

from brittlestar.reports.trackers.sweep_log import sweep_log
from brittlestar.results.aggregate import aggregate


def test_cells_are_steps_with_the_numbers_of_the_table(sweep, cells):
    table = list(aggregate(cells).cells)
    assert len(sweep.cells) == len(table) == 12
    for numbers, row in zip(sweep.cells, table, strict=True):
        assert (numbers["strength"], numbers["seed"], numbers["success_any"]) == (
            row["strength"], row["seed"], row["success_any"]
        )  # fmt: skip
    steps = list(sweep.steps())
    assert [numbers["cell/number"] for _, numbers in steps[:12]] == [step for step, _ in steps[:12]] == list(range(12))


def test_curves_have_every_level_with_its_interval(sweep, cells):
    assert list(sweep.curves) == ["_b_", "runs.a.zip"]
    rows = [row for row in aggregate(cells).curve if row["policy"] == "<b>"]
    for numbers, row in zip(sweep.curves["_b_"], rows, strict=True):
        for name in ("strength", "success_final", "success_final_low", "success_final_high", "return"):
            assert numbers[name] == row[name]
    assert [step for step, _ in list(sweep.steps())[12:]] == [0, 1, 2, 0, 1, 2]


def test_numbers_are_finite_and_the_summary_names_curve_and_measure(sweep, cells):
    every = [*sweep.cells, *(point for points in sweep.curves.values() for point in points), sweep.summary]
    assert all(math.isfinite(value) for numbers in every for value in numbers.values())
    row = next(row for row in aggregate(cells).summary if row["policy"] == "<b>" and row["measure"] == "success_final")
    assert sweep.summary["_b_/success_final/auc"] == row["auc"]
    assert sweep.summary["cells"] == 12 and sweep.summary["failed_cells"] == 0


def test_the_config_lists_what_was_swept(sweep):
    assert sweep.config["perturbation.sigma"] == [0, 0.1, 0.2]
    assert sweep.config["seed"] == [0, 1]
    assert sweep.config["policy"] == ["<b>", "runs/a.zip"]
    assert (sweep.config["policy.kp"], sweep.config["overrides"]) == (10.0, "seed=0,1")


def test_files_are_those_of_the_report_that_exist(sweep):
    names = [path.relative_to(sweep.folder).as_posix() for path in sweep.files]
    assert names == ["report.html", "report.md", "summary.csv", "gate.json", "films/worst.mp4"]
    assert [path.name for path in sweep.pictures] == ["curve.png"]


def test_a_sweep_without_a_result_has_counts_only(make_cell, fail_cell, tmp_path):
    log = sweep_log(tmp_path, aggregate([fail_cell(make_cell())]), [])
    assert (log.cells, log.curves, log.summary) == ([], {}, {"cells": 0.0, "failed_cells": 1.0})
