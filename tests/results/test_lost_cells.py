from brittlestar.results.aggregate import aggregate
from brittlestar.results.gate import NOT_MEASURED, gate_status
from brittlestar.results.lost_cells import COMPLETE, judge_completeness


def test_lost_cells_are_a_requirement_that_is_not_measured(make_cell, fail_cell):
    cells = [make_cell([1.0] * 5), make_cell([1.0] * 5, strength=0.1)]
    assert judge_completeness(aggregate(cells)) == []
    results = judge_completeness(aggregate([cells[0], fail_cell(cells[1])]), missing=2)
    assert [result.requirement.text for result in results] == [COMPLETE] and gate_status(results) == NOT_MEASURED
    assert results[0].checks[0].message == "1 cell failed and 2 cells without a record"
