import pytest

from brittlestar.commands.sweep_end import MOST_REASONS, AggregateSweep, failure_lines


def test_a_broken_aggregate_step_ends_non_zero(monkeypatch, capsys):
    def aggregate(config):
        raise ImportError("cannot import name")

    monkeypatch.setattr("brittlestar.commands.sweep_end._aggregate", aggregate)
    with pytest.raises(SystemExit) as end:
        AggregateSweep().on_multirun_end(None)
    assert end.value.code == 1
    assert "cannot import name" in capsys.readouterr().err


def test_many_reasons_are_cut_short():
    failures = [{"error": f"reason {i}", "overrides": f"seed={i}"} for i in range(MOST_REASONS + 5)]
    lines = failure_lines(failures).splitlines()
    assert len(lines) == MOST_REASONS + 2
    assert lines[1] == "  1 cell: reason 0 (seed=0)"
    assert lines[-1] == "  5 more reasons in failures.csv"
