import math

import pytest

from brittlestar.studies.offline.agreement import Level, agreement_rows, agreement_verdict, levels_of


def rows(*values, name="action_mse"):
    return [{"policy": f"p{i}", name: value} for i, value in enumerate(values)]


def level(*rates, name="clean"):
    return Level(name, {f"p{i}": (rate, rate - 0.1, rate + 0.1) for i, rate in enumerate(rates)})


def test_one_means_that_the_measure_ranks_policies_as_success_does():
    (row,) = agreement_rows(rows(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), [level(0.9, 0.8, 0.7, 0.6, 0.5, 0.4)])
    assert (row["correlation"], row["policies"]) == (1.0, 6)
    assert row["correlation_low"] > 0.5 and row["p"] == pytest.approx(2 / math.factorial(6))
    likelihoods = rows(5, 4, 3, 2, name="log_likelihood")
    assert agreement_rows(likelihoods, [level(0.9, 0.8, 0.7, 0.6)])[0]["correlation"] == 1.0


def test_p_values_are_adjusted_over_measures_and_levels():
    table = agreement_rows(rows(1, 2, 3, 4, 5), [level(5, 4, 3, 2, 1), level(1, 2, 3, 5, 4, name="noise")])
    assert [row["p_holm"] for row in table] == pytest.approx([2 * table[0]["p"], max(2 * table[0]["p"], table[1]["p"])])


def test_missing_policies_and_equal_success_leave_no_wrong_number():
    policies = [*rows(0.1, 0.2, 0.3), {"policy": "p3"}]
    (row,) = agreement_rows(policies, [level(1.0, 1.0, 1.0, 0.0)])
    assert row["policies"] == 3 and math.isnan(row["correlation"]) and math.isnan(row["p_holm"])
    assert (row["correlation_low"], row["correlation_high"]) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("values", "rates", "parts"),
    [
        ((1, 2), (1, 0), ["2 policies: a rank correlation needs 3"]),
        ((1, 2, 3), (0.9, 0.8, 0.7), ["3 policies: not decided at clean (1.00 [-0.", "p0, is the best at clean (0.9)"]),
        ((1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1), ["a lower action_mse goes with more success at clean (1.00 [0."]),
        ((1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6), ["less success at clean (-1.00", "It chooses p0 (1 at clean)"]),
        ((1, 2, 3), (1, 1, 1), ["all policies succeed alike at clean"]),
    ],
)  # fmt: skip
def test_the_verdict_says_what_is_shown(values, rates, parts):
    policies, levels = rows(*values), [level(*rates)]
    text = agreement_verdict(policies, levels, agreement_rows(policies, levels))
    for part in parts:
        assert part in text
    assert "\n" not in text


def test_without_success_the_verdict_says_what_to_add():
    assert (
        agreement_verdict(rows(1, 2, 3), [], [])
        == "no success to compare with: measure in closed loop, or add `--sweep`"
    )


def test_levels_come_from_the_sweep_or_else_from_the_closed_loops():
    policies = [{"policy": "p0", "success_any": 0.5, "success_any_low": 0.4, "success_any_high": 0.6}]
    (closed,) = levels_of(policies, {"p0": {}}, None, "success_any")
    assert closed == Level("closed loop", {"p0": (0.5, 0.4, 0.6)})
    curves = {"p0": {"clean": {"return": 1.0}}, "p1": {"clean": {"return": 2.0}, "noise": {"return": 0.0}}}
    clean, noise = levels_of(policies, curves, "return", "success_any")
    assert (clean.name, list(clean.success), list(noise.success)) == ("clean", ["p0", "p1"], ["p1"])
    assert levels_of(policies, {}, None, None) == []
