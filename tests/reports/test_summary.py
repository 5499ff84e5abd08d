from __future__ import annotations

import gc

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.reports import summary as report
from brittlestar.reports.summary import remarks, summarise
from brittlestar.results.aggregate import aggregate


@pytest.fixture
def plain(monkeypatch):
    """Reports without a picture, which takes longest."""
    monkeypatch.setattr(report, "plot_curves", lambda *_: [])


def curve(make_cell, successes=((1, 1), (1, 0)), **options):
    return [make_cell(row, strength=s, **options) for s, row in zip((0, 0.1), successes, strict=True)]


def test_everything_is_written_and_told(make_cell, save_cells, tmp_path):
    sweep = save_cells(tmp_path / "sweep", curve(make_cell))
    tables, shown = summarise([str(sweep)], tmp_path / "out")
    assert len(tables.curve) == 2
    for name in ("episodes.csv", "cells.json", "curve.parquet", "summary.md", "failures.csv", "curve.png", "curve.pdf"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    for line in (f"plot    {tmp_path}/out/curve.png", f"report  {tmp_path}/out/report.md", f"cells   {sweep}/*/"):
        assert line in shown
    assert "| sigma | n_seeds | n_episodes | success_any " in shown
    assert "critical_interpolated" in shown


def test_the_report_names_methods_and_what_stayed_the_same(make_cell, save_cells, tmp_path, plain):
    sweep = save_cells(tmp_path, curve(make_cell))
    summarise([str(sweep)], sweep)
    text = (sweep / "report.md").read_text()
    assert "![curve](curve.png)" in text
    assert "- env: fetch_reach\n- policy: p_controller\n- perturbation: gaussian_observation" in text
    assert "Intervals: Wilson, n = 2, 95 %." in text
    assert "Summary intervals: plus-four bootstrap over 2 episodes, 2000 draws, 95 %." in text


def test_numbers_carry_their_intervals(make_cell, save_cells, tmp_path, plain):
    _, shown = summarise([str(save_cells(tmp_path, curve(make_cell)))], tmp_path)
    assert "| 1 [0.3424, 1] " in shown
    assert "none [" in shown  # no critical strength, but one may lie beyond


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
        "note: success_any is 0 at sigma = 0, already below 0.5: incapable, so its critical strength says nothing "
        "about robustness"
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


def test_notes_are_in_the_report(make_cell, save_cells, tmp_path, plain):
    _, shown = summarise([str(save_cells(tmp_path, curve(make_cell, solved_at_reset=[1, 0])))], tmp_path)
    for text in (shown, (tmp_path / "report.md").read_text()):
        assert "note: up to 50.0% of the episodes are solved at reset" in text


def test_a_missed_baseline_stands_at_the_top_of_the_report(make_cell, save_cells, tmp_path, plain):
    for mean, missed in ((-1.0, False), (500.0, True)):
        cells = curve(make_cell)
        for cell in cells:
            cell.manifest["record"] = {"mean": mean, "std": 0.0, "episodes": 9}
        _, shown = summarise([str(save_cells(tmp_path, cells))], tmp_path)
        text = (tmp_path / "report.md").read_text()
        assert text.startswith("# Degradation curve\n\n**Warning: baseline mismatch.**") == missed
        line = "baseline mismatch: recorded 500 [500, 500] (9 episodes), found -1"
        assert (text.count(line), shown.count(line)) == (missed, missed)


@pytest.mark.parametrize(
    ("mean", "env", "line"),
    [
        (-500.0, {}, "above its record: recorded -500"),
        (500.0, {"max_steps": 20}, "time limit differs (`env.max_steps` = 20): no return is compared with its record"),
    ],
)
def test_a_better_policy_and_another_time_limit_are_notes_told_once(mean, env, line, make_cell, save_cells, tmp_path):
    cells = []
    for kind in ("channel", "random"):
        node = {"perturbation": {"_target_": "M", "kind": kind}, "env": {"_target_": "E", "id": "FetchReach-v4"} | env}
        cells += curve(make_cell, config=node)
    for cell in cells:
        cell.manifest["record"] = {"mean": mean, "std": 0.0, "episodes": 9}
    _, shown = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "**Warning" not in text
    assert (text.count(f"note: {line}"), shown.count(f"note: {line}")) == (1, 1)


def test_failures_of_one_reason_are_one_row(make_cell, fail_cell, save_cells, tmp_path):
    broken = [fail_cell(make_cell(strength=0.2, seed=seed), "the arm fell off") for seed in range(3)]
    summarise([str(save_cells(tmp_path, [*curve(make_cell), *broken]))], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert text.count("the arm fell off") == 1
    assert "|     3 | the arm fell off | perturbation.sigma=0.2 | seed=0 |" in text


def test_failures_are_in_the_report(make_cell, fail_cell, save_cells, tmp_path, plain):
    cells = [*curve(make_cell), fail_cell(make_cell(strength=0.2), "the arm fell off")]
    tables, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    assert len(tables.failures) == 1
    text = (tmp_path / "report.md").read_text()
    assert "## Failed cells" in text
    assert "the arm fell off" in text and "perturbation.sigma=0.2 seed=0" in text


def test_nothing_finished(make_cell, fail_cell, save_cells, tmp_path):
    summarise([str(save_cells(tmp_path, curve(make_cell)))], tmp_path)
    (tmp_path / "1" / "manifest.json").unlink()
    tables, shown = summarise([str(save_cells(tmp_path, [fail_cell(make_cell())]))], tmp_path)
    assert tables.curve == []
    assert shown.startswith("no cell has a result") and "plot" not in shown
    assert not (tmp_path / "curve.png").exists()
    assert "curve.png" not in (tmp_path / "report.md").read_text()


def test_long_tables_are_cut_in_the_terminal(make_cell, save_cells, tmp_path, monkeypatch, plain):
    monkeypatch.setattr(report, "SHOWN_ROWS", 3)
    cells = [c for kp in range(3) for c in curve(make_cell, config={"policy": {"kp": kp}})]
    _, shown = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    assert "3 more rows in curve.csv" in shown and "3 more rows in summary.csv" in shown
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 7


def test_several_strengths_are_told_apart(make_cell, save_cells, tmp_path, plain):
    scaled = curve(make_cell, choices={"perturbation": "pair"}, name="scale")
    _, shown = summarise([str(save_cells(tmp_path, curve(make_cell) + scaled))], tmp_path)
    assert "| perturbation         | strength_name | strength |" in shown


def test_environments_with_and_without_success_stand_together(make_cell, save_cells, tmp_path, plain):
    returns = curve(make_cell, choices={"env": "pendulum"}, measure="return", **{"return": [-5, -7]})
    _, shown = summarise([str(save_cells(tmp_path, curve(make_cell) + returns))], tmp_path)
    assert "| -6 [" in shown and "| 1 [0.3424, 1] " in shown


def test_a_file_in_the_way_is_one_line(make_cell, save_cells, tmp_path):
    (tmp_path / "out" / "cells.csv").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write to .*/out: Is a directory"):
        summarise([str(save_cells(tmp_path / "sweep", curve(make_cell)))], tmp_path / "out")


def test_the_garbage_collector_comes_back(tmp_path):
    assert gc.isenabled()
    with pytest.raises(UserError):
        summarise([str(tmp_path / "nowhere")], tmp_path)
    assert gc.isenabled()


def test_the_script_aggregates_several_sweeps(make_cell, fail_cell, save_cells, tmp_path, shell):
    save_cells(tmp_path / "a", curve(make_cell))
    save_cells(tmp_path / "b", curve(make_cell, seed=1))
    done = shell("a", "b", "--out", "both", script="scripts/aggregate.py")
    assert "both/curve.png" in done.stdout
    assert [row["n_seeds"] for row in shell.table("both", "curve")] == [2, 2]


def test_the_script_tells_mistakes_in_one_line(make_cell, fail_cell, save_cells, tmp_path, shell):
    save_cells(tmp_path / "a", [*curve(make_cell), fail_cell(make_cell(strength=0.3))])
    save_cells(tmp_path / "b", curve(make_cell, choices={"perturbation": "gaussian_action"}))
    refused = shell("a", "b", script="scripts/aggregate.py", check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("brittlestar: these are different studies: a is gaussian_observation")
    assert len(refused.stderr.splitlines()) == 1
    mixed = shell("a", "b", "--mixed", script="scripts/aggregate.py", check=False)
    assert (mixed.returncode, mixed.stderr) == (1, "brittlestar: 1 cells failed, see failures.csv\n")
    assert len(shell.table("a", "curve")) == 4
