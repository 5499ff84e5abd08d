"""Tables, report and terminal of a sweep."""

from __future__ import annotations

import gc

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.errors import UserError
from brittlestar.reports import overview, pictures
from brittlestar.reports.sections import Section
from brittlestar.reports.summary import summarise


@pytest.fixture
def plain(monkeypatch):
    """Reports without a picture, which takes longest."""
    monkeypatch.setattr(pictures, "plot_curves", lambda *_: [])


def curve(make_cell, successes=((1, 1), (1, 0)), **options):
    return [make_cell(row, strength=s, **options) for s, row in zip((0, 0.1), successes, strict=True)]


def test_every_file_is_written_and_named(make_cell, save_cells, tmp_path):
    sweep = save_cells(tmp_path / "sweep", curve(make_cell))
    tables, output, _ = summarise([str(sweep)], tmp_path / "out")
    assert len(tables.curve) == 2
    for name in (
        "episodes.csv",
        "cells.json",
        "curve.parquet",
        "summary.md",
        "failures.csv",
        "curve.png",
        "protocol.md",
    ):
        assert (tmp_path / "out" / name).stat().st_size > 0
    for line in (
        f"plot    {tmp_path}/out/curve.png",
        f"report  {tmp_path}/out/report.md, {tmp_path}/out/protocol.md",
        f"cells   {sweep}/cells.jsonl",
    ):
        assert line in output
    assert "| sigma | n_seeds | n_episodes | success_any " in output
    assert "critical_interpolated" in output


def test_the_report_names_methods_and_what_stayed_the_same(make_cell, save_cells, tmp_path, plain):
    sweep = save_cells(tmp_path, curve(make_cell))
    summarise([str(sweep)], sweep)
    text = (sweep / "report.md").read_text()
    assert "![curve](curve.png)" in text
    assert "- env: fetch_reach\n- policy: p_controller\n- perturbation: gaussian_observation" in text
    assert "Intervals: Wilson, n = 2, 95 %." in text
    assert "Summary intervals: plus-four bootstrap over 2 episodes, 2000 draws, 95 %." in text


def test_numbers_carry_their_intervals(make_cell, save_cells, tmp_path, plain):
    _, output, _ = summarise([str(save_cells(tmp_path, curve(make_cell)))], tmp_path)
    assert "| 1 [0.3424, 1] " in output
    assert "none [" in output  # no critical strength, but one may lie beyond


def test_notes_are_in_the_report(make_cell, save_cells, tmp_path, plain):
    _, output, _ = summarise([str(save_cells(tmp_path, curve(make_cell, solved_at_reset=[1, 0])))], tmp_path)
    for text in (output, (tmp_path / "report.md").read_text()):
        assert "note: up to 50.0% of the episodes are solved at reset" in text


def test_a_sweep_without_strength_0_has_no_column_of_the_baseline(make_cell, save_cells, tmp_path, plain):
    cells = [make_cell(row, strength=s) for s, row in ((0.1, (0, 0)), (0.2, (0, 0)))]
    _, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    assert "| measure       | critical |" in output and "| baseline" not in output and "| incapable" not in output
    assert "note: the sweep has no strength 0" in output
    (header, *_) = (tmp_path / "summary.csv").read_text().splitlines()
    assert not {"baseline", "incapable"} & {*header.split(",")}


def test_notes_of_cells_are_in_terminal_and_report(make_cell, save_cells, tmp_path, plain):
    cells = curve(make_cell)
    cells[0].manifest["notes"] = ["the environment is known"]
    _, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    assert "note: the environment is known (1 of 2 cells)" in output
    assert "- note: the environment is known (1 of 2 cells)" in (tmp_path / "report.md").read_text()


def test_a_missed_baseline_is_at_the_top_of_the_report(make_cell, save_cells, tmp_path, plain):
    for mean, missed in ((-1.0, False), (500.0, True)):
        cells = curve(make_cell)
        for cell in cells:
            cell.manifest["record"] = {"mean": mean, "std": 0.0, "episodes": 9}
        _, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
        text = (tmp_path / "report.md").read_text()
        assert text.startswith("# Degradation curve\n\n**Warning: baseline mismatch.**") == missed
        line = "baseline mismatch: recorded 500 [500, 500] (9 episodes), found -1"
        assert (text.count(line), output.count(line)) == (missed, missed)


@pytest.mark.parametrize(
    ("mean", "env", "line"),
    [
        (-500.0, {}, "above its record: recorded -500"),
        (500.0, {"max_steps": 20}, "time limit differs (`env.max_steps` = 20): no return is compared with its record"),
    ],
)
def test_a_better_policy_and_another_time_limit_are_one_note(mean, env, line, make_cell, save_cells, tmp_path):
    cells = []
    for kind in ("channel", "random"):
        node = {"perturbation": {"_target_": "M", "kind": kind}, "env": {"_target_": "E", "id": "FetchReach-v4"} | env}
        cells += curve(make_cell, config=node)
    for cell in cells:
        cell.manifest["record"] = {"mean": mean, "std": 0.0, "episodes": 9}
    _, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "**Warning" not in text
    assert (text.count(f"note: {line}"), output.count(f"note: {line}")) == (1, 1)


def test_failures_of_one_reason_are_one_row(make_cell, fail_cell, save_cells, tmp_path, plain):
    broken = [fail_cell(make_cell(strength=0.2, seed=seed), "the arm fell off") for seed in range(3)]
    summarise([str(save_cells(tmp_path, [*curve(make_cell), *broken]))], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert text.count("the arm fell off") == 1
    assert "|     3 | the arm fell off | perturbation.sigma=0.2 | seed=0 |" in text


def test_failures_are_in_the_report(make_cell, fail_cell, save_cells, tmp_path, plain):
    cells = [*curve(make_cell), fail_cell(make_cell(strength=0.2), "the arm fell off")]
    tables, _, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    assert len(tables.failures) == 1
    text = (tmp_path / "report.md").read_text()
    assert "## Failed cells" in text
    assert "the arm fell off" in text and "perturbation.sigma=0.2 seed=0" in text


def test_nothing_finished(make_cell, fail_cell, save_cells, tmp_path, plain):
    summarise([str(save_cells(tmp_path, curve(make_cell)))], tmp_path)
    tables, output, _ = summarise([str(save_cells(tmp_path, [fail_cell(make_cell())]))], tmp_path)
    assert tables.curve == []
    assert output.startswith("no cell has a result") and "plot" not in output
    assert not (tmp_path / "curve.png").exists()
    assert "curve.png" not in (tmp_path / "report.md").read_text()


def test_long_tables_are_cut_in_the_terminal(make_cell, save_cells, tmp_path, monkeypatch, plain):
    monkeypatch.setattr(overview, "MOST_ROWS", 3)
    cells = [c for kp in range(3) for c in curve(make_cell, config={"policy": {"kp": kp}})]
    _, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    assert "3 more rows in curve.csv" in output and "3 more rows in summary.csv" in output
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 7


def test_several_strengths_have_a_column_for_their_names(make_cell, save_cells, tmp_path, plain):
    scaled = curve(make_cell, choices={"perturbation": "pair"}, name="scale")
    _, output, _ = summarise([str(save_cells(tmp_path, curve(make_cell) + scaled))], tmp_path)
    assert "| perturbation         | strength_name | strength |" in output


def test_environments_with_and_without_success_share_a_table(make_cell, save_cells, tmp_path, plain):
    returns = curve(make_cell, choices={"env": "pendulum"}, measure="return", **{"return": [-5, -7]})
    _, output, _ = summarise([str(save_cells(tmp_path, curve(make_cell) + returns))], tmp_path)
    assert "| -6 [" in output and "| 1 [0.3424, 1] " in output


class Two:
    """A study with two sections, one of which shows the curve of the sweep."""

    def analyse(self, cells, out):
        (out / "mine.csv").write_text("a\n")
        first = Section("My study", f"{len(cells)} cells", pictures=["curve"], tables=["mine"])
        return [first, Section("More", "and more")]


def test_a_report_begins_with_the_sections_of_its_study(make_cell, save_cells, tmp_path, plain):
    cells = [*curve(make_cell), make_cell(seed=7, config={"role": "extra"})]
    tables, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path, study=Two())
    text = (tmp_path / "report.md").read_text()
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads[:4] == ["# My study", "## More", "## Degradation curve", "## Evaluation protocol"]
    assert text.count("![curve](curve.png)") == 1 and "3 cells" in text
    assert output.startswith("3 cells\n\nand more\n\n") and f"        {tmp_path}/mine.csv\n" in output
    assert len(tables.cells) == 2, "a cell with a role is in no table of the sweep"


def test_a_study_at_one_strength_has_no_curve(make_cell, save_cells, tmp_path):
    _, output, _ = summarise([str(save_cells(tmp_path, [make_cell()]))], tmp_path, study=Two())
    assert "## Degradation curve" not in (tmp_path / "report.md").read_text()
    assert not (tmp_path / "curve.png").exists() and "n_episodes" not in output


def test_an_extra_cell_that_failed_is_a_failure_of_the_sweep(make_cell, fail_cell, save_cells, tmp_path, plain):
    broken = fail_cell(make_cell(seed=7, config={"role": "extra"}))
    tables, _, _ = summarise([str(save_cells(tmp_path, [*curve(make_cell), broken]))], tmp_path)
    assert len(tables.failures) == 1 and "role" not in tables.failures[0]


def test_a_file_in_the_way_is_one_line(make_cell, save_cells, tmp_path):
    (tmp_path / "out" / "cells.csv").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write to .*/out: Is a directory"):
        summarise([str(save_cells(tmp_path / "sweep", curve(make_cell)))], tmp_path / "out")


def test_the_garbage_collector_comes_back(tmp_path):
    assert gc.isenabled()
    with pytest.raises(UserError):
        summarise([str(tmp_path / "nowhere")], tmp_path)
    assert gc.isenabled()


@pytest.fixture
def axes(monkeypatch):
    """The panels of the figure, which is not saved."""
    panels: list[Axes] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: panels.__setitem__(slice(None), figure.axes))
    return panels


def test_the_report_names_what_the_picture_leaves_out(make_cell, save_cells, tmp_path, axes):
    cells = [make_cell([1, 0], strength=s, config={"policy": {"kp": kp}}) for kp in range(14) for s in (0, 1)]
    _, output, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    note = "note: curve leaves 2 out, the tables hold them: kp 12; kp 13\n"
    assert note in output and note in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(("kind", "name"), [(UserError, ""), (ValueError, "ValueError: ")])
def test_an_error_of_a_study_is_a_line_of_the_report(make_cell, fail_cell, save_cells, tmp_path, plain, kind, name):
    class Broken:
        def analyse(self, cells, out):
            raise kind("a clean cell is missing")

    sweep = save_cells(tmp_path, [*curve(make_cell), fail_cell(make_cell(strength=9.0))])
    tables, _, errors = summarise([str(sweep)], tmp_path, study=Broken())
    assert errors == [f"{name}a clean cell is missing"] and len(tables.failures) == 1
    report = (tmp_path / "report.md").read_text()
    assert f"- the study failed: {name}a clean cell is missing" in report and "## Failed cells" in report


def test_a_wrong_setting_of_a_study_writes_nothing(make_cell, save_cells, tmp_path):
    sweep = save_cells(tmp_path / "sweep", curve(make_cell))
    with pytest.raises(UserError, match="these sweeps have no study"):
        summarise([str(sweep)], tmp_path / "out", settings={"metric": "return"})
    assert not (tmp_path / "out").exists()
