"""The bars: judged by intervals, each training by itself."""

import json

import pytest

from brittlestar.studies.results_page import plan as plans
from brittlestar.studies.results_page import robust
from brittlestar.studies.results_page.bars import bars
from brittlestar.studies.results_page.page import results_page
from brittlestar.studies.results_page.published import read_published


@pytest.fixture
def verdicts(table):
    return lambda plan: {row["bar"]: row["verdict"] for row in table(bars(plan), "| bar")}


@pytest.mark.parametrize(
    ("clean", "robust", "marks"),
    [
        ((1.0, 0.2), (1.0, 0.95), ("met", "met", "met")),
        ((0.95, 0.2), (0.93, 0.86), ("not decided", "not decided", "not decided")),
        ((0.9, 0.5), (0.75, 0.6), ("**missed**", "**missed**", "**missed**")),
    ],
)
def test_the_interval_decides_on_a_bar(plan, fill, verdicts, clean, robust, marks):
    """An estimate on the bar, or above it by less than chance explains, decides nothing."""
    plan.episodes = 100

    def rates(task, name, sigma):
        if task == "fetch_push" and name in ("push_controller", "random"):
            return (robust if name == "random" else clean)[sigma > 0]
        return 1.0

    fill(plan, rates)
    by_bar = verdicts(plan)
    assert by_bar["FetchPush-v4, `push_controller`, no noise, any step"] == marks[0]
    assert by_bar["FetchPush-v4, `random`, sigma = 0.05, any step"] == marks[1]
    assert by_bar["FetchPush-v4, cost without noise, any step"] == marks[2]
    # Half of the successes do not last.
    assert by_bar["FetchReach-v4, `p_controller`, no noise, final step"] == "**missed**"


@pytest.mark.parametrize(("weak", "mark", "where"), [(0.9, "met", "0 of"), (0.5, "**missed**", "1 of")])
def test_every_training_is_held_to_the_published_levels(
    plan, fill, table, published_fetch, tmp_path, weak, mark, where
):
    """A training that is weak at one level is not saved by another one that is strong."""
    plan.episodes, plan.policies = 50, plan.policies | {"fetch_push.sac": ["push_controller", "constant"]}
    (tmp_path / "theirs.json").write_text(json.dumps(published_fetch))
    plan.published = read_published(tmp_path / "theirs.json")
    fill(plan, lambda task, name, sigma: weak if name == "constant" and sigma == 0.02 else 1.0)
    rows = {row["bar"]: row for row in table(bars(plan), "| bar")}
    assert rows["FetchPush-v4, `push_controller`, all published levels, any step"]["verdict"] == "met"
    row = rows["FetchPush-v4, `constant`, all published levels, any step"]
    assert row["verdict"] == mark and row["measured"].startswith(f"below at {where}")
    assert ("observation 0.02 (50.0 %, published 94.0 %)" in row["measured"]) == (mark != "met")


def test_missing_policies_are_named_with_the_command(plan, tmp_path, monkeypatch, fill, verdicts, policy_table):
    plan.policies = plans.choose_policies([])
    monkeypatch.setattr(plans.zoo, "is_shipped", lambda name: name == "fetch_reach_sac_1")
    fill(plan)
    text = results_page(plan, tmp_path)
    assert "SAC: not measured, not trained yet: `brittlestar zoo train fetch_push_sac" in text
    assert policy_table(text, "FetchReach-v4", "Observation", "SAC")[0]["episodes"] == "60"
    by_bar = verdicts(plan)
    assert by_bar["FetchPush-v4, cost without noise, any step"] == "-"
    assert by_bar["FetchReach-v4, `zoo/fetch_reach_sac_0`, no noise, final step"] == "-"
    assert robust.PICTURE not in text
