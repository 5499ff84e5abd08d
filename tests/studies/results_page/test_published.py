"""Published figures: read and checked from a file, and shown next to ours or not at all."""

import json
import re
from pathlib import Path

import pytest

from brittlestar.errors import UserError
from brittlestar.reports.summary import summarise
from brittlestar.studies.results_page.page import results_page
from brittlestar.studies.results_page.published import PAIRS, read_published

SIGMAS = (0.0, 0.02, 0.05, 0.1, 0.2)


def figures(**changes) -> dict:
    """Invented figures in the form of published ones."""
    levels = {"observation": "sigma", "action": "sigma", "low_pass_at_sigma_act_0.5": "alpha"}
    xs = {"low_pass_at_sigma_act_0.5": (0.3, 1.0), "action": (0.0, 0.5), "observation": SIGMAS}
    tables = {
        f"{role}_{noise}": [{key: x, "success_rate": 0.93, "smoothness": 0.125} for x in xs[noise]]
        for role in ("sac", "p_controller")
        for noise, key in levels.items()
    }
    both = {"clean_success_rate": 0.31, "robust_success_rate": 0.62, "delta": 0.31}
    tables[PAIRS] = [{"sigma": x} | both for x in SIGMAS]
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


def test_published_figures_are_next_to_ours(filled, tmp_path, table, policy_table):
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
    worst = gaps["fetch_push", "observation", "`push_controller`"]
    assert (worst["largest difference, points"], worst["at"], worst["ours"]) == ("-83.0", "0.05", "0.1")
    assert worst["apart at"] == "3 of 5: 0.05, 0.1, 0.2"
    assert gaps["fetch_push", "observation", "`random`"]["published"] == "0.62"
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
