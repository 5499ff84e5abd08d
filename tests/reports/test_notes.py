"""Notes on curves."""

import numpy as np
import pytest

from brittlestar.reports.notes import of_cells, on_servers, remarks, varied_columns
from brittlestar.reports.overview import sweep_overview
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


def test_a_sweep_without_strength_0_calls_no_level_a_baseline(make_cell):
    cells = [make_cell(row, strength=s) for s, row in ((0.1, (0, 0)), (0.2, (0, 0)))]
    (note,) = [note for note in remarks(aggregate(cells)) if "strength 0" in note]
    assert note.startswith("note: the sweep has no strength 0, so `baseline` and `incapable` are missing there")
    assert not any("already below" in note for note in remarks(aggregate(cells)))
    both = [*cells, *curve(make_cell, config={"policy": {"kp": 2.0}})]
    assert remarks(aggregate(both))[0].startswith("note: 1 of 2 curves have no strength 0")


def test_notes_of_cells_are_printed_once(make_cell):
    cells = curve(make_cell)
    for cell in cells:
        cell.manifest["notes"] = ["all of them"]
    cells[1].manifest["notes"].append("one of them")
    assert of_cells(aggregate(cells)) == ["note: all of them", "note: one of them (1 of 2 cells)"]
    cells[0].manifest["notes"] = [f"number {n}" for n in range(30)]
    assert of_cells(aggregate(cells[:1]))[-1] == "note: 10 more, see `notes` in the manifests of the cells"
    assert of_cells(aggregate(curve(make_cell))) == []


def test_a_cell_of_several_phases_counts_once(make_cell):
    cells = [make_cell((1, 1, 1), strength=s, phase=[0, 1, 1]) for s in (0, 0.1)]
    for cell in cells:
        cell.manifest |= {"phases": ["pre", "shock"], "notes": ["all of them"]}
    cells[0].manifest["notes"] = []
    assert of_cells(aggregate(cells)) == ["note: all of them (1 of 2 cells)"]


@pytest.mark.parametrize(
    ("configs", "column"),
    [
        ([{"model": "mine"}, {"model": "broken"}], "model"),
        ([{"policy": {"path": "a.zip"}}, {"policy": {"path": "b.zip"}}], "policy.path"),
    ],
)
def test_a_model_that_alone_has_a_result_keeps_its_column(make_cell, fail_cell, configs, column):
    finished, failed = (curve(make_cell, config=config) for config in configs)
    tables = aggregate([*finished, *map(fail_cell, failed)])
    assert varied_columns(tables) == [column]
    lines = [line for line in sweep_overview(tables).splitlines() if line.startswith("| ")]
    assert sum(column in line for line in lines) == 2
    assert sum(("mine" if column == "model" else "a.zip") in line for line in lines) == 4
    assert varied_columns(aggregate(finished)) == []


def test_the_latency_of_servers_and_what_they_do_not_promise_are_in_the_tables(make_cell):
    cells = curve(make_cell)
    for cell, median in zip(cells, (1.5, 4.0), strict=True):
        latency = {"requests": 600, "median_ms": median, "p95_ms": 2 * median, "max_ms": 90.0}
        cell.manifest["server"] = {"url": "ws://127.0.0.1:8000", "repeatable": False, "latency": latency}
    tables = aggregate(cells)
    assert on_servers(tables) == [
        "note: ws://127.0.0.1:8000 answered 1,200 requests in 2 cells, median 1.5 to 4 ms, slowest 90 ms; "
        "the simulation waited for each"
    ]
    assert [row["repeatable"] for row in (*tables.curve, *tables.summary[:1])] == [False] * 3
    assert tables.cells.columns()["latency_median_ms"] == [1.5, 4.0]
    assert "| repeatable" in sweep_overview(tables)
    assert "repeatable" not in sweep_overview(aggregate(curve(make_cell)))
