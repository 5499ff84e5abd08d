"""The page of results: its numbers are those of the cells."""

import json
import re
from pathlib import Path

import pytest

from brittlestar.engine.metrics import COLUMNS
from brittlestar.results.load import load_cells, read_cells
from brittlestar.statistics import intervals
from brittlestar.studies.results_page import page, parts
from brittlestar.studies.results_page import plan as plans
from brittlestar.studies.results_page.page import results_page, write_readme

ROOT = Path(__file__).parents[3]
SCRIPT = "scripts/results.py"
NO_POLICIES = [f"--policy={part}=" for part in plans.POLICIES]


def test_rates_and_metrics_are_those_of_the_cells(filled, tmp_path, policy_table):
    text = results_page(filled, tmp_path)
    rows = policy_table(text, "FetchPush-v4", "Observation", "SAC")
    rates = [tuple(row[f"{step} step"].split(" [")[0] for step in ("any", "final")) for row in rows]
    assert rates == [("0.95", "0.5"), ("0.9", "0.45"), *[("0.1", "0.05")] * 3]
    assert [row["sigma"] for row in rows] == ["0", "0.02", "0.05", "0.1", "0.2"]
    assert {row["episodes"] for row in rows} == {"60"}
    # All seeds agree, so the interval is Wilson's.
    wilson = intervals.wilson(6, 60)
    assert rows[-1]["any step"] == f"0.1 [{wilson.low:.3g}, {wilson.high:.3g}]"
    metrics = policy_table(text, "FetchPush-v4", "Action", "SAC", 1)
    assert [row["smoothness"] for row in metrics] == ["0.25 [0.25, 0.25]", "0.75 [0.75, 0.75]"]
    assert [row["alpha"] for row in policy_table(text, "FetchPush-v4", "Low-pass", "SAC")] == ["0.3", "1"]
    cells = len(read_cells(filled.folder))
    assert f"`brittlestar results --episodes 20` from {cells} cells: seeds 0, 1, 2 with 20 episodes each" in text


def test_trainings_are_averaged_and_their_spread_is_shown(filled, tmp_path, policy_table):
    text = results_page(filled, tmp_path)
    last = policy_table(text, "FetchReach-v4", "Observation", "SAC")[-1]
    assert last["any step"].startswith("0.3 [")
    spread = policy_table(text, "FetchReach-v4", "Observation", "SAC", 2)[-1]
    assert spread["p_controller, any step"].startswith("0.1 [") and spread["constant, any step"].startswith("0.5 [")
    assert spread["spread, any"] == "40.0"
    # Two trainings that agree on the same 60 episodes do not count as 120 episodes.
    first = policy_table(text, "FetchReach-v4", "Observation", "SAC")[0]
    wilson = intervals.wilson(57, 60)
    assert first["any step"] == f"0.95 [{wilson.low:.3g}, {wilson.high:.3g}]"
    part = parts.find_part(filled, "fetch_reach", "observation", "sac")
    assert part.rows()[0.2]["success_any_method"] == "t over 2 trainings, at least Wilson, n = 60, 95 %"


def test_the_page_notes_where_both_measures_part(filled, tmp_path):
    text = results_page(filled, tmp_path)
    assert "part by more than 10.0 points at 0 (95.0 % any, 50.0 % final)" in text


def test_the_readme_gets_both_policies(filled, tmp_path, table):
    path = tmp_path / "README.md"
    path.write_text("# top\n\n![x](docs/curve.png)\n\n| sigma | old |\n|---|---|\n| 1 | 2 |\n\nThe rest.\n")
    (tmp_path / "docs").mkdir()
    lines = write_readme(filled, path)
    rows = table(path.read_text(), "# top")
    assert [float(row["sigma"]) for row in rows] == list(page.LEVELS)
    assert rows[0]["SAC, any step"].startswith("0.95 [") and "old" not in path.read_text()
    assert path.read_text().endswith("\n\nThe rest.\n") and (tmp_path / "docs/curve.png").is_file()
    assert any("success_any falls below half at 0.0" in line for line in lines)


def test_the_readme_of_the_project_has_its_table():
    assert len(page.TABLE.findall((ROOT / "README.md").read_text())) == 1


@pytest.mark.slow
def test_real_cells_are_computed_once_and_tabulated(shell, policy_table):
    arguments = [
        *NO_POLICIES,
        "--policy=fetch_reach.p_controller=p_controller",
        "--episodes=2",
        "--seeds=0",
        "--out=page/r.md",
    ]
    shell(*arguments, script=SCRIPT)
    text = (shell.folder / "page/r.md").read_text()
    cells = load_cells([shell.folder / "outputs/results/fetch_reach_observation"])
    place = COLUMNS.index("return")
    means = {cell.strength: cell.rows()[:, place].mean() for cell in cells}
    rows = policy_table(text, "FetchReach-v4", "Observation", "P controller", 1)
    assert [row["return"].split(" [")[0] for row in rows] == [f"{means[s]:.3g}" for s in sorted(means)]
    assert "SAC: not measured, no policy was given." in text
    again = shell(*arguments, script=SCRIPT)
    assert re.findall(r"(\d+) done, 0 failed, (\d+) cached", again.stderr) == [("0", "7"), ("0", "8")]
    assert (shell.folder / "page/r.md").read_text() == text


@pytest.mark.slow
def test_the_whole_page_from_real_cells(shell, published_fetch, table, policy_table):
    arguments = ["fetch_reach.sac=p_controller,constant", "fetch_reach.robust=random,p_controller"]
    arguments += ["fetch_push.sac=p_controller", "fetch_push.robust=push_controller"]
    policies = [f"--policy={text}" for text in arguments]
    (shell.folder / "theirs.json").write_text(json.dumps(published_fetch))
    shell(*policies, "--episodes=2", "--seeds=0,1", "--published=theirs.json", "--out=r.md", script=SCRIPT)
    text = (shell.folder / "r.md").read_text()
    for env in plans.TASKS.values():
        rows = policy_table(text, env, "Action", "SAC")
        assert [float(row["published (any step)"]) for row in rows] == [
            row["success_rate"] for row in published_fetch[env]["sac_action"]
        ]
    assert len([row for row in table(text, "## All curves") if row["auc, published"]]) == len(
        published_fetch["summary"]
    )
    assert len(read_cells(shell.folder / "outputs/results")) == 158
