"""The end of a sweep: its exit code and the reasons of failures."""

import pytest

from brittlestar.commands import sweep_end
from brittlestar.commands.sweep_end import SHOWN_REASONS, failure_lines


def test_a_broken_aggregate_step_ends_non_zero(monkeypatch, capsys):
    def broken(config):
        raise ImportError("cannot import name")

    monkeypatch.setattr(sweep_end, "_report", broken)
    with pytest.raises(SystemExit) as end:
        sweep_end.AggregateSweep().on_multirun_end(None)
    assert end.value.code == 1
    assert "cannot import name" in capsys.readouterr().err


def test_many_reasons_are_cut_short():
    lines = failure_lines([{"error": f"reason {i}", "overrides": f"seed={i}"} for i in range(SHOWN_REASONS + 5)])
    assert len(lines.splitlines()) == SHOWN_REASONS + 2
    assert lines.splitlines()[1] == "  1 cell: reason 0 (seed=0)"
    assert lines.endswith("  5 more reasons in failures.csv")
