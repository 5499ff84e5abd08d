"""The page of results: its numbers are those of the cells, and published figures stand beside them or not at all."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from brittlestar.cells import store as records
from brittlestar.config import config_folder
from brittlestar.engine.metrics import COLUMNS
from brittlestar.errors import UserError
from brittlestar.reports.summary import summarise
from brittlestar.results.compare import compare
from brittlestar.results.load import load_cells
from brittlestar.statistics import intervals
from brittlestar.studies.results_page import page, parts, published, robust
from brittlestar.studies.results_page import plan as plans
from brittlestar.studies.results_page.page import results_page, write_readme
from brittlestar.studies.results_page.published import read_published

ROOT = Path(__file__).parents[3]
SCRIPT = "scripts/results.py"
NO_POLICIES = [f"--policy={part}=" for part in plans.POLICIES]
SIGMAS = {"observation": (0.0, 0.02, 0.05, 0.1, 0.2), "action": (0.0, 0.5), "low_pass": (0.5,)}
ALPHAS = (0.3, 1.0)
EPISODES = 20
STAND_INS = {
    "fetch_reach.sac": ["p_controller", "constant"],
    "fetch_reach.robust": ["random", "callable"],
    "fetch_reach.p_controller": ["p_controller"],
    "fetch_push.sac": ["push_controller"],
    "fetch_push.robust": ["random"],
    "fetch_push.p_controller": ["p_controller"],
}


def table(text: str, heading: str, number: int = 0) -> list[dict]:
    """Reads the table that comes so many tables after a line."""
    lines = text[text.index(heading) :].split("\n\n")
    table_lines = [block for block in lines if block.startswith("|")][number].splitlines()
    names, _, *rows = [[word.strip() for word in line.strip("|").split("|")] for line in table_lines]
    return [dict(zip(names, row, strict=True)) for row in rows]


def policy_table(text: str, env: str, heading: str, title: str, number: int = 0) -> list[dict]:
    part = text[text.index(f"## {env}\n\n### Observation") :]
    part = part[part.index(f"### {heading}") :]
    return table(part, f"**{title}**", number)


def solved(rate: float, seed: int) -> np.ndarray:
    """Success of every episode; other seeds succeed in other episodes."""
    return np.roll(np.arange(EPISODES) < round(rate * EPISODES), seed).astype(float)


def fill(plan, make_cell, save_cells, rates) -> None:
    """Writes finished cells of every sweep; `rates(task, name, sigma)` says how often they succeed."""
    for task, env in plans.TASKS.items():
        for noise, roles in plans.NOISES.items():
            names = dict.fromkeys(name for role in roles for name in plan.names(task, role))
            cells = [
                make_cell(
                    solved(rates(task, name, sigma), seed),
                    strength=sigma,
                    seed=seed,
                    success_final=solved(rates(task, name, sigma) / 2, seed),
                    choices={"env": task, "policy": name, "perturbation": f"gaussian_{noise}"},
                    config={"env": {"id": env}, "policy": {"kp": name}, "mitigation": {"alpha": alpha}},
                    time_to_success=3,
                    smoothness=0.25 + sigma,
                )
                for name in names
                for sigma in SIGMAS[noise]
                for alpha in (ALPHAS if noise == "low_pass" else (None,))
                for seed in plan.seeds
            ]
            save_cells(plan.sweep(task, noise), cells)


def falling(task: str, name: str, sigma: float) -> float:
    if name == "random":
        return 0.9 if sigma < 0.1 else 0.2
    return {0.0: 0.95, 0.02: 0.9}.get(sigma, 0.5 if name == "constant" else 0.1)


@pytest.fixture
def plan(tmp_path):
    return plans.ResultsPlan(tmp_path / "sweeps", tmp_path / "store", EPISODES, [0, 1, 2], STAND_INS)


@pytest.fixture
def filled(plan, make_cell, save_cells):
    fill(plan, make_cell, save_cells, falling)
    return plan


def figures(**changes) -> dict:
    """Invented figures in the form of published ones."""
    levels = {"observation": "sigma", "action": "sigma", "low_pass_at_sigma_act_0.5": "alpha"}
    xs = {"low_pass_at_sigma_act_0.5": ALPHAS, "action": SIGMAS["action"], "observation": SIGMAS["observation"]}
    tables = {
        f"{role}_{noise}": [{key: x, "success_rate": 0.93, "smoothness": 0.125} for x in xs[noise]]
        for role in ("sac", "p_controller")
        for noise, key in levels.items()
    }
    both = {"clean_success_rate": 0.31, "robust_success_rate": 0.62, "delta": 0.31}
    tables[published.PAIRS] = [{"sigma": x} | both for x in SIGMAS["observation"]]
    shape = {
        "policy": "sac",
        "env": "FetchPush-v4",
        "noise": "obs",
        "critical_sigma": 0.07,
        "slope": -5.31,
        "auc": 0.043,
    }
    return {"FetchReach-v4": tables, "FetchPush-v4": tables, "summary": [shape]} | changes


def write_figures(path: Path, content) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


# The page


def test_rates_and_metrics_are_those_of_the_cells(filled, tmp_path):
    text = results_page(filled, tmp_path)
    rows = policy_table(text, "FetchPush-v4", "Observation", "SAC")
    assert [float(row["sigma"]) for row in rows] == list(SIGMAS["observation"])
    for row, sigma in zip(rows, SIGMAS["observation"], strict=True):
        any_step, final_step = (
            np.mean([solved(falling("", "push_controller", sigma) / part, seed) for seed in range(3)])
            for part in (1, 2)
        )
        assert row["any step"].startswith(f"{any_step:.3g} [") and row["final step"].startswith(f"{final_step:.3g} [")
        assert row["episodes"] == str(3 * EPISODES)
    # All seeds agree, so the interval is Wilson's.
    wilson = intervals.wilson(3 * 2, 3 * EPISODES)
    assert rows[-1]["any step"] == f"0.1 [{wilson.low:.3g}, {wilson.high:.3g}]"
    metrics = policy_table(text, "FetchPush-v4", "Action", "SAC", 1)
    assert [row["smoothness"] for row in metrics] == ["0.25 [0.25, 0.25]", "0.75 [0.75, 0.75]"]
    assert [row["alpha"] for row in policy_table(text, "FetchPush-v4", "Low-pass", "SAC")] == ["0.3", "1"]
    cells = len(records.find_cells(filled.folder))
    assert f"`brittlestar results --episodes 20` from {cells} cells: seeds 0, 1, 2 with 20 episodes each" in text


def test_trainings_are_averaged_and_their_spread_is_shown(filled, tmp_path):
    text = results_page(filled, tmp_path)
    last = policy_table(text, "FetchReach-v4", "Observation", "SAC")[-1]
    assert last["any step"].startswith("0.3 [")
    each = policy_table(text, "FetchReach-v4", "Observation", "SAC", 2)[-1]
    assert each["p_controller, any step"].startswith("0.1 [") and each["constant, any step"].startswith("0.5 [")
    assert each["spread, any"] == "40.0"
    # Two trainings that agree on the same 60 episodes are no 120 episodes.
    first = policy_table(text, "FetchReach-v4", "Observation", "SAC")[0]
    wilson = intervals.wilson(57, 60)
    assert first["any step"] == f"0.95 [{wilson.low:.3g}, {wilson.high:.3g}]"
    part = parts.find_part(filled, "fetch_reach", "observation", "sac")
    assert part.rows()[0.2]["success_any_method"] == "t over 2 trainings, at least Wilson, n = 60, 95 %"


def test_paired_differences_are_those_of_the_comparison(filled, tmp_path):
    text = results_page(filled, tmp_path)
    folder = str(filled.sweep("fetch_push", "observation"))
    part = text[text.index("### FetchPush-v4") :]
    for name, measure in (("any", "success_any"), ("final", "success_final")):
        pair = compare(folder, folder, ["policy=random"], ["policy=push_controller"], measure)
        for row, level in zip(table(part, "Paired differences"), pair.levels, strict=True):
            assert float(row["sigma"]) == level["strength"]
            assert row[f"difference, {name}"].startswith(f"{100 * level['difference']:+.1f} [")
            assert row[f"p, {name}"] == f"{level['p']:.2g}"
    assert (tmp_path / robust.PICTURE).stat().st_size > 1000
    assert "`random` is more robust than `push_controller`" in part


def test_where_both_measures_part_the_page_says_so(filled, tmp_path):
    text = results_page(filled, tmp_path)
    assert "part by more than 10.0 points at 0 (95.0 % any, 50.0 % final)" in text


# Bars


def bars(plan) -> dict[str, str]:
    return {row["bar"]: row["met"] for row in table(robust.bars(plan), "| bar")}


@pytest.mark.parametrize(
    ("clean", "robust", "met"),
    [
        ((1.0, 0.2), (0.95, 0.6), ("yes", "yes", "yes")),
        ((0.95, 0.2), (0.85, 0.55), ("yes", "**NO**", "**NO**")),
        ((0.9, 0.5), (0.9, 0.9), ("**NO**", "yes", "yes")),
    ],
)
def test_bars_are_met_or_not(plan, make_cell, save_cells, clean, robust, met):
    def rates(task, name, sigma):
        if task == "fetch_push" and name in ("push_controller", "random"):
            return (robust if name == "random" else clean)[sigma > 0]
        return 1.0

    fill(plan, make_cell, save_cells, rates)
    marks = bars(plan)
    assert marks["FetchPush-v4, `push_controller`, no noise, any step"] == met[0]
    assert marks["FetchPush-v4, gain at sigma = 0.05, any step"] == met[1]
    assert marks["FetchPush-v4, cost without noise, any step"] == met[2]
    # Half of the successes do not last.
    assert marks["FetchReach-v4, `p_controller`, no noise, final step"] == "**NO**"


def test_a_gain_that_chance_explains_does_not_meet_the_bar(plan, make_cell, save_cells, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "EPISODES", 2)
    plan.seeds = [0]
    fill(plan, make_cell, save_cells, lambda task, name, sigma: float(name == "random"))
    assert bars(plan)["FetchPush-v4, gain at sigma = 0.05, any step"] == "**NO**"


# Published figures


def test_published_figures_stand_beside_ours(filled, tmp_path):
    filled.published = read_published(write_figures(tmp_path / "theirs.json", figures()))
    text = results_page(filled, tmp_path)
    rows = policy_table(text, "FetchPush-v4", "Observation", "SAC")
    assert {row["published (any step)"] for row in rows} == {"0.93"}
    # 95 against 93 of 100 can be chance, 10 against 93 cannot.
    assert rows[0]["difference, points"] == "+2.0" and rows[-1]["difference, points"] == "**-83.0**"
    metrics = policy_table(text, "FetchPush-v4", "Observation", "SAC", 1)
    assert {row["smoothness, published"] for row in metrics} == {"0.125"}
    assert "Largest differences, ours minus published: smoothness +0.325 at 0.2." in text
    gaps = {(row["task"], row["sweep"], row["policy"]): row for row in table(text, "## Where we differ")}
    worst = gaps["fetch_push", "observation", "SAC"]
    assert (worst["largest difference, points"], worst["at"], worst["ours"]) == ("-83.0", "0.05", "0.1")
    assert worst["apart at"] == "3 of 5: 0.05, 0.1, 0.2"
    assert gaps["fetch_push", "observation", "SAC, trained under noise"]["published"] == "0.62"
    twins = table(text[text.index("### FetchPush-v4") :], "### FetchPush-v4")
    assert {row["difference, published"] for row in twins} == {"+31.0"}
    shape = next(row for row in table(text, "## All curves") if row["task"] == "fetch_push" and row["policy"] == "SAC")
    assert (shape["published"], shape["slope, published"], shape["auc, published"]) == ("0.07", "-5.31", "0.043")
    ours = summarise([str(filled.sweep("fetch_push", "observation"))], tmp_path / "tables")[0].summary
    ours = next(r for r in ours if r["policy"] == "push_controller" and r["measure"] == "success_any")
    assert shape["critical sigma"] == f"{ours['critical']:.3g}" and shape["auc"].startswith(f"{ours['auc']:.3g} [")


def test_without_them_there_are_no_such_columns(filled, tmp_path):
    text = results_page(filled, tmp_path)
    assert not [line for line in text.splitlines() if line.startswith("|") and "published" in line]
    assert "Written without the published figures" in text


def without(env: str, name: str) -> dict:
    content = figures()
    return content | {env: {key: value for key, value in content[env].items() if key != name}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "the file must be a table of names"),
        ({"FetchReach-v4": {}}, "FetchReach-v4 has no `sac_observation`"),
        (without("FetchPush-v4", "sac_action"), "FetchPush-v4 has no `sac_action`; did you mean"),
        (figures(summary=3), "`summary` must be a list of rows"),
        (figures(summary=[{"policy": "sac"}]), "a row of `summary` has no `env`"),
        (
            figures(**{"FetchPush-v4": {"sac_observation": [{"sigma": "a", "success_rate": 1}]}}),
            "must be a number, got 'a'",
        ),
    ],
)
def test_a_broken_file_of_figures_is_refused(tmp_path, content, message):
    path = write_figures(tmp_path / "theirs.json", content)
    with pytest.raises(UserError, match=re.escape(message)) as error:
        read_published(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_real_figures_are_understood(published_fetch, tmp_path):
    theirs = read_published(write_figures(tmp_path / "theirs.json", published_fetch))
    rows = published_fetch["FetchPush-v4"]["sac_observation"]
    assert [theirs.row("fetch_push", "sac_observation", row["sigma"]) for row in rows] == rows


# Policies


def test_missing_policies_are_named_with_the_command(plan, tmp_path, monkeypatch, make_cell, save_cells):
    plan.policies = plans.choose_policies([])
    monkeypatch.setattr(plans.zoo, "is_shipped", lambda name: name == "fetch_reach_sac_1")
    fill(plan, make_cell, save_cells, falling)
    text = results_page(plan, tmp_path)
    assert "SAC: not measured, not trained yet: `brittlestar zoo train fetch_push_sac_0`." in text
    assert policy_table(text, "FetchReach-v4", "Observation", "SAC")[0]["episodes"] == "60"
    met = bars(plan)
    assert met["FetchPush-v4, gain at sigma = 0.05, any step"] == "-"
    assert met["FetchReach-v4, `zoo/fetch_reach_sac_0`, no noise, final step"] == "-"
    assert robust.PICTURE not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy=fetch_push.sca=random"], "has no part `fetch_push.sca`; did you mean `fetch_push.sac`?"),
        (["--policy=fetch_push.sac=randm"], "there is no policy `randm`; did you mean `random`?"),
        (["--seeds=0,0"], "`--seeds` must be different whole numbers"),
        (["--seeds=a"], "`--seeds` must be different whole numbers"),
        (["--episodes=0"], "`--episodes` must be at least 1, got 0"),
        (["--published=none.json"], "cannot read the published figures in none.json: No such file"),
    ],
)
def test_mistakes_end_in_one_line(shell, arguments, message):
    done = shell(*NO_POLICIES, *arguments, "--out=page/results.md", script=SCRIPT, check=False)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert not (shell.folder / "page").exists()


# Experiments


@pytest.mark.parametrize("task", plans.TASKS)
def test_the_studies_compare_the_policies_of_the_page(task):
    name = "fetch_clean_vs_robust" if task == "fetch_push" else f"{task}_clean_vs_robust"
    mine, plain = (
        yaml.safe_load((config_folder() / "experiment" / f"{study}.yaml").read_text())["hydra"]["sweeper"]["params"]
        for study in (name, f"{task}_observation")
    )
    assert mine.pop("policy").split(",") == plans.POLICIES[f"{task}.sac"] + plans.POLICIES[f"{task}.robust"]
    assert mine == plain


def test_a_study_gives_both_curves_on_the_same_episodes(shell):
    few = ["policy=p_controller,push_controller", "perturbation.sigma=0,0.05", "episodes=2", "seed=0"]
    shell("-m", "experiment=fetch_clean_vs_robust", *few)
    folder = "multirun/fetch_clean_vs_robust"
    assert {row["policy"] for row in shell.table(folder, "curve")} == {"p_controller", "push_controller"}
    assert (shell.folder / folder / "curve.png").is_file()
    sides = ["--where-a", "policy=push_controller", "--where-b", "policy=p_controller"]
    assert "the same episodes: paired tests" in shell(folder, folder, *sides, script="scripts/compare.py").stdout


# README


def test_the_readme_gets_both_policies(filled, tmp_path):
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


# The whole


def test_real_cells_are_computed_once_and_tabulated(shell):
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
def test_the_whole_page_from_real_cells(shell, published_fetch):
    arguments = ["fetch_reach.sac=p_controller,constant", "fetch_reach.robust=random,p_controller"]
    arguments += ["fetch_push.sac=p_controller", "fetch_push.robust=push_controller"]
    policies = [f"--policy={text}" for text in arguments]
    figures_file = write_figures(shell.folder / "theirs.json", published_fetch)
    shell(*policies, "--episodes=2", "--seeds=0,1", f"--published={figures_file}", "--out=r.md", script=SCRIPT)
    text = (shell.folder / "r.md").read_text()
    for env in plans.TASKS.values():
        rows = policy_table(text, env, "Action", "SAC")
        assert [float(row["published (any step)"]) for row in rows] == [
            row["success_rate"] for row in published_fetch[env]["sac_action"]
        ]
    assert len([row for row in table(text, "## All curves") if row["auc, published"]]) == len(
        published_fetch["summary"]
    )
    assert len(records.find_cells(shell.folder / "outputs/results")) == 158
