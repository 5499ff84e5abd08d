from __future__ import annotations

import numpy as np
import pytest

from brittlestar.engine.metrics import COLUMNS
from brittlestar.results.aggregate import aggregate
from brittlestar.results.gate import (
    FAILED_GATE,
    NOT_DECIDED,
    NOT_MEASURED,
    PASSED,
    Measured,
    episodes_to_decide,
    gate_status,
    judge_gate,
    verdict_of,
)
from brittlestar.results.gate_curves import metrics_of
from brittlestar.results.requirements import read_requirements
from brittlestar.statistics.sample_size import clopper_pearson

STRENGTHS = (0, 0.1, 0.2)


def judge(cells, *texts):
    return judge_gate(read_requirements(None, texts, metrics_of(COLUMNS)), aggregate(cells))


def only(cells, text):
    """The single check of a requirement."""
    (check,) = judge(cells, text)[0].checks
    return check


@pytest.fixture
def curve(make_cell):
    """Cells of a curve with these shares of success, of `n` episodes each."""

    def make(rates, policy="a", n=100, seeds=(0,), choices=None, **options):
        return [
            make_cell(
                [float(i < round(rate * n)) for i in range(n)],
                strength=strength,
                seed=seed,
                choices={"policy": policy} | (choices or {}),
                **options,
            )
            for strength, rate in zip(STRENGTHS, rates, strict=True)
            for seed in seeds
        ]

    return make


@pytest.mark.parametrize(
    ("operator", "interval", "status"),
    [
        (">=", (0.5, 0.6), PASSED),
        (">", (0.5, 0.6), NOT_DECIDED),
        (">=", (0.4, 0.5), NOT_DECIDED),
        (">", (0.4, 0.5), FAILED_GATE),
        ("<=", (0.4, 0.5), PASSED),
        ("<", (0.4, 0.5), NOT_DECIDED),
        ("<", (0.5, 0.6), FAILED_GATE),
        (">=", (0.1, 0.4), FAILED_GATE),
        (">=", (0.6, np.inf), PASSED),
        ("<=", (0.4, np.inf), NOT_DECIDED),
        (">=", (0.9 - 0.4, 0.6), PASSED),
        (">=", (np.nan, np.nan), NOT_DECIDED),
    ],
)
def test_the_whole_interval_decides(operator, interval, status):
    assert verdict_of(operator, 0.5, *interval) == status


def test_a_requirement_at_a_level_passes_fails_or_is_not_decided(curve):
    cells = curve([1, 0.8, 0.2])
    assert only(cells, "success_final@0.1 >= 0.6").status == PASSED
    assert only(cells, "success_final@0.1 >= 0.9").status == FAILED_GATE
    check = only(cells, "success_final@0.1 >= 0.75")
    assert (check.status, check.value, check.episodes) == (NOT_DECIDED, 0.8, 100)
    assert check.more_episodes > 100 and check.more_seeds is None
    assert only(cells, "length@0.1 <= 50").status == PASSED


def test_rates_are_judged_by_the_wider_of_the_tables_interval_and_the_exact_one(curve):
    cells = curve([1, 0.8, 0.2])
    check, row = only(cells, "success_final@0.1 >= 0.6"), aggregate(cells).curve[1]
    low, high = (float(bound[0]) for bound in clopper_pearson(np.array([80]), np.array([100])))
    assert (check.low, check.high) == (min(low, row["success_final_low"]), max(high, row["success_final_high"]))
    assert check.method == "Wilson, n = 100, 95 %; at least Clopper-Pearson"


@pytest.mark.parametrize("name", ["critical_interpolated", "slope", "auc", "normalised_auc"])
def test_functions_have_value_and_interval_of_the_summary(curve, name):
    cells = curve([1, 0.8, 0.2])
    check, row = only(cells, f"{name}(success_final) >= 0"), aggregate(cells).summary[1]
    assert row["measure"] == "success_final"
    assert (check.value, check.low, check.high) == (row[name], row[f"{name}_low"], row[f"{name}_high"])


def test_a_curve_that_never_breaks_passes_within_the_sweep(curve):
    cells = curve([1, 1, 1])
    assert only(cells, "critical_interpolated(success_final) >= 0.2").status == PASSED
    check = only(cells, "critical_interpolated(success_final) <= 0.1")
    assert (check.status, check.value) == (FAILED_GATE, None)


def test_without_a_name_a_requirement_holds_for_every_curve(curve):
    cells = curve([1, 0.9, 0.5], "a") + curve([1, 0.2, 0], "b")
    (result,) = judge(cells, "success_final@0.1 >= 0.7")
    assert [(check.curve, check.status) for check in result.checks] == [
        ("policy=a", PASSED),
        ("policy=b", FAILED_GATE),
    ]
    assert result.status == FAILED_GATE
    assert only(cells, "success_final(a)@0.1 >= 0.7").status == PASSED
    assert only(cells, "auc(success_any, b) <= 0.15").curve == "policy=b"


def test_the_worst_requirement_decides_the_gate(curve):
    cells = curve([1, 0.8, 0.2])
    texts = {
        PASSED: "success_final@0 >= 0.5",
        NOT_DECIDED: "success_final@0.1 >= 0.8",
        FAILED_GATE: "success_final@0.2 >= 0.8",
        NOT_MEASURED: "success_final@0.3 >= 0.8",
    }
    for count, status in enumerate(texts, 1):
        assert gate_status(judge(cells, *list(texts.values())[:count])) == status


def test_two_curves_are_compared_on_their_shared_episodes(curve):
    cells = curve([1, 0.9, 0.6], "a") + curve([1, 0.7, 0.2], "b")
    check = only(cells, "auc(a) >= auc(b)")
    assert check.status == PASSED and check.method.startswith("paired plus-four bootstrap over 100 episodes")
    assert check.value == pytest.approx(np.trapezoid([0, 0.2, 0.4], STRENGTHS))
    assert check.curve == "policy=a against policy=b"
    assert only(cells, "normalised_auc(a) >= normalised_auc(b)").value == pytest.approx(check.value / 0.2)
    assert only(cells, "auc(b) >= auc(a)").status == FAILED_GATE
    assert only(cells, "success_final(b)@0.1 >= success_final(a)@0.1").status == FAILED_GATE
    assert only(cells, "success_final(b)@0.1 >= success_final(a)@0.1 - 0.4").status == PASSED
    assert only(cells, "success_final(b)@0 >= success_final(a)@0").status == NOT_DECIDED
    assert only(cells, "success_final(b)@0 >= success_final(a)@0 - 0.1").status == PASSED


def test_critical_strengths_are_compared_by_intervals_that_do_not_overlap(curve):
    cells = curve([1, 0.9, 0.1], "a") + curve([0.9, 0.2, 0], "b") + curve([1, 1, 1], "c")
    name = "critical_interpolated"
    assert only(cells, f"{name}(a) >= {name}(b)").status == PASSED
    assert only(cells, f"{name}(b) > {name}(a)").status == FAILED_GATE
    check = only(cells, f"{name}(a) > {name}(b)")
    assert (check.status, check.more_episodes) == (NOT_DECIDED, None) and "a level at the bound" in check.message
    assert only(cells, f"{name}(c) >= {name}(a)").status == PASSED
    assert only(cells, f"{name}(a) >= {name}(a, policy=c)").status == NOT_MEASURED
    assert only(cells, "slope(b) <= slope(c)").status == PASSED


def test_a_comparison_holds_under_every_other_condition(curve):
    cells = [
        cell
        for mitigation, gain in (("none", 0), ("low_pass", 0.1))
        for policy, rate in (("a", 0.3), ("runs/b.zip", 0.8))
        for cell in curve([1, rate + gain, 0.1], policy, choices={"mitigation": mitigation})
    ]
    (result,) = judge(cells, "auc(b) >= auc(a)")
    assert [check.curve for check in result.checks] == [
        "policy=runs/b.zip, mitigation=low_pass against policy=a, mitigation=low_pass",
        "policy=runs/b.zip, mitigation=none against policy=a, mitigation=none",
    ]
    assert result.status == PASSED
    assert len(judge(cells, "auc(b, low_pass) >= auc(a)")[0].checks) == 1
    assert only(cells, "auc(b, low_pass) >= auc(a, mitigation=none)").value == pytest.approx(0.06)


def test_what_was_not_measured_is_no_pass(curve, make_cell, fail_cell):
    cells = curve([1, 0.9, 0.6], "alpha") + curve([1, 0.7, 0.2], "beta")
    for text, message in {
        "success_final@0.15 >= 0": "`policy=alpha` has no level 0.15; levels: 0, 0.1, 0.2",
        "auc(alpah) >= 0": "there is no curve `alpah`; did you mean `alpha`?",
        "auc(alpha, beta) >= 0": "no curve is `alpha` and `beta`",
        "auc(alpha) >= auc(alpha)": "`policy=alpha` has no curve to be compared with",
        "auc >= auc(alpha)": "`policy=alpha` has no curve to be compared with",
        "auc(smoothness) >= 0": "the summary has no `smoothness`, only success_any, success_final",
        "smoothness@0.1 >= 0": "it has no value in this sweep",
    }.items():
        results = judge(cells, text)
        assert gate_status(results) == NOT_MEASURED
        assert message in results[0].checks[0].message
    lost = [fail_cell(cell) if cell.strength == 0.1 else cell for cell in curve([1, 0.9, 0.6])]
    assert only(lost, "success_final@0.1 >= 0").status == NOT_MEASURED
    assert only([fail_cell(make_cell())], "success_final@0 >= 0").message == "no cell has a result"
    assert only(curve([1, 1, 1])[:1], "auc(success_any) >= 0").status == NOT_MEASURED


def test_different_levels_are_no_area_to_compare(curve):
    cells = curve([1, 0.9, 0.6], "a") + curve([1, 0.7, 0.2], "b")[:2]
    assert (
        only(cells, "auc(a) >= auc(b)").message == "the two curves have different levels: sweep both over the same ones"
    )
    assert only(cells, "dwell(a)@0.1 >= dwell(b)@0.1").status == PASSED


def test_a_sweep_through_0_is_judged_on_the_side_of_the_level(make_cell):
    cells = [make_cell([1.0] * 50, strength=s) for s in (-0.1, 0, 0.1)]
    assert only(cells, "success_any@-0.1 >= 0.5").curve == "direction=down"
    assert only(cells, "success_any@0.1 >= 0.5").curve == "direction=up"
    assert only(cells, "success_any(down)@0 >= 0.5").status == PASSED


def test_the_only_success_has_both_names(curve):
    cells = curve([1, 0.8, 0.2], measure="success_final", dwell=np.nan)
    assert len({only(cells, f"auc({name}) >= 0").value for name in ("success_any", "success_final")}) == 1


def test_one_episode_decides_no_mean(curve):
    check = only(curve([1, 1, 1], n=1), "return@0.1 >= -5")
    assert (check.status, check.more_episodes) == (NOT_DECIDED, None)


def test_seeds_are_counted_where_they_make_the_interval(curve, make_cell):
    rates = {0: 0.9, 1: 0.7, 2: 0.8}
    cells = [cell for seed, rate in rates.items() for cell in curve([1, rate, 0], seeds=(seed,))]
    check = only(cells, "success_final@0.1 >= 0.75")
    assert check.status == NOT_DECIDED
    assert check.more_episodes == 100 * check.more_seeds > 300


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("episodes", [20, 100])
def test_a_policy_at_the_bound_passes_at_most_once_in_40(rate, episodes):
    """The exact probability, over all counts of successes, that a policy passes which is just not good enough."""
    from scipy.stats import binom

    from brittlestar.results.gate import _at_level
    from brittlestar.statistics.intervals import wilson

    passed = {">=": 0.0, "<=": 0.0}
    for k in range(episodes + 1):
        interval = wilson(k, episodes)
        row = {"success_any": k / episodes, "success_any_low": interval.low, "success_any_high": interval.high}
        measured = _at_level(row | {"n_seeds": 1, "n_episodes": episodes}, "success_any")
        for operator in passed:
            if verdict_of(operator, rate, measured.low, measured.high) == PASSED:
                passed[operator] += binom.pmf(k, episodes, rate)
    assert max(passed.values()) <= 0.025


@pytest.mark.slow
def test_equal_policies_seldom_pass_as_different(make_cell):
    rng, runs, passed = np.random.default_rng(1), 1000, 0
    for _ in range(runs):
        cells = [
            make_cell((rng.random(60) < rate).astype(float), strength=strength, choices={"policy": policy})
            for policy in ("a", "b")
            for strength, rate in ((0, 0.9), (0.1, 0.6))
        ]
        passed += only(cells, "auc(b) > auc(a)").status == PASSED
    # Of 1000, 36 or more at 2.5 % happen once in 50.
    assert passed <= 35


@pytest.mark.parametrize(("rate", "bound"), [(0.9, 0.8), (0.7, 0.75), (0.99, 0.95)])
def test_so_many_more_episodes_mostly_decide(rate, bound):
    rng, n = np.random.default_rng(0), 40
    low, high = (float(b[0]) for b in clopper_pearson(np.array([round(rate * n)]), np.array([n])))
    measured = Measured(rate, low, high, "", 1, n, is_rate=True)
    total = n + episodes_to_decide(measured, bound)
    low, high = clopper_pearson(rng.binomial(total, rate, 2000), np.full(2000, total))
    decided = np.mean(low >= bound) if rate > bound else np.mean(high < bound)
    assert 0.7 < decided < 0.95
    measured = Measured(rate, rate - 0.2, rate + 0.2, "", 1, n)
    total, std = n + episodes_to_decide(measured, bound), 0.2 / 2.02 * np.sqrt(n)
    means = rng.normal(rate, std / np.sqrt(total), 2000)
    assert 0.7 < np.mean(np.abs(means - bound) > 1.96 * std / np.sqrt(total)) < 0.95


@pytest.mark.parametrize("value", [0.8, 0.8001, float("nan"), float("inf")])
def test_a_value_at_the_bound_has_no_number_of_episodes(value):
    assert episodes_to_decide(Measured(value, 0.7, 0.9, "", 1, 100, is_rate=True), 0.8) is None
