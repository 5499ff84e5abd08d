"""Trained with noise against trained without it, and the bars."""

import pytest

from brittlestar.results.compare import compare
from brittlestar.studies.results_page import plan as plans
from brittlestar.studies.results_page import robust
from brittlestar.studies.results_page.page import results_page


def test_paired_differences_are_those_of_the_comparison(filled, tmp_path, table):
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


@pytest.fixture
def bars(table):
    return lambda plan: {row["bar"]: row["verdict"] for row in table(robust.bars(plan), "| bar")}


@pytest.mark.parametrize(
    ("clean", "robust", "verdicts"),
    [
        ((1.0, 0.2), (1.0, 0.8), ("met", "met", "met")),
        ((0.95, 0.2), (0.9, 0.6), ("not decided", "not decided", "not decided")),
        ((0.9, 0.5), (0.75, 0.6), ("**missed**", "**missed**", "**missed**")),
    ],
)
def test_the_interval_decides_on_a_bar(plan, fill, bars, clean, robust, verdicts):
    """An estimate on the bar, or above it by less than chance explains, decides nothing."""
    plan.episodes = 100

    def rates(task, name, sigma):
        if task == "fetch_push" and name in ("push_controller", "random"):
            return (robust if name == "random" else clean)[sigma > 0]
        return 1.0

    fill(plan, rates)
    marks = bars(plan)
    assert marks["FetchPush-v4, `push_controller`, no noise, any step"] == verdicts[0]
    assert marks["FetchPush-v4, gain at sigma = 0.05, any step"] == verdicts[1]
    assert marks["FetchPush-v4, cost without noise, any step"] == verdicts[2]
    # Half of the successes do not last.
    assert marks["FetchReach-v4, `p_controller`, no noise, final step"] == "**missed**"


def test_a_gain_that_chance_explains_does_not_meet_the_bar(plan, fill, bars):
    plan.seeds, plan.episodes = [0], 2
    fill(plan, lambda task, name, sigma: float(name == "random"))
    assert bars(plan)["FetchPush-v4, gain at sigma = 0.05, any step"] == "not decided"


def test_missing_policies_are_named_with_the_command(plan, tmp_path, monkeypatch, fill, bars, policy_table):
    plan.policies = plans.choose_policies([])
    monkeypatch.setattr(plans.zoo, "is_shipped", lambda name: name == "fetch_reach_sac_1")
    fill(plan)
    text = results_page(plan, tmp_path)
    assert "SAC: not measured, not trained yet: `brittlestar zoo train fetch_push_sac_2`." in text
    assert policy_table(text, "FetchReach-v4", "Observation", "SAC")[0]["episodes"] == "60"
    verdicts = bars(plan)
    assert verdicts["FetchPush-v4, gain at sigma = 0.05, any step"] == "-"
    assert verdicts["FetchReach-v4, `zoo/fetch_reach_sac_0`, no noise, final step"] == "-"
    assert robust.PICTURE not in text
