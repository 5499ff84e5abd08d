"""Sentences on curves: the numbers of the summary, in words."""

import numpy as np

from brittlestar.reports.verdicts import curve_verdicts, open_questions
from brittlestar.results.aggregate import aggregate


def falling(make_cell, rates, final=None, policy="a", **options):
    """Cells of 40 episodes with these success rates, one for each level and seed."""
    cells = []
    for level, rate in enumerate(rates):
        any_step = np.arange(40) < 40 * rate
        last = np.arange(40) < 40 * (final or rates)[level]
        columns = {"success_final": last} | options
        cells += [
            make_cell(any_step, strength=level / 10, seed=seed, choices={"policy": policy}, **columns)
            for seed in (0, 1)
        ]
    return cells


def test_a_curve_holds_up_to_its_critical_strength(make_cell):
    tables = aggregate(falling(make_cell, [1, 1, 1], [1, 0.9, 0]))
    ((name, sentence),) = curve_verdicts(tables)
    row = next(row for row in tables.summary if row["measure"] == "success_final")
    value, low, high = (row[f"critical_interpolated{end}"] for end in ("", "_low", "_high"))
    assert name == "a"
    assert f"holds 50 % final-step success up to sigma = {value:.3g} [{low:.3g}, {high:.3g}]" in sentence
    assert "holds 50 % any-step success over all levels, up to sigma = 0.2" in sentence
    assert sentence.endswith("final-step success falls before any-step success")


def test_no_order_is_stated_where_intervals_overlap(make_cell):
    ((_, sentence),) = curve_verdicts(aggregate(falling(make_cell, [1, 0.9, 0], [1, 0.85, 0])))
    assert "falls before" not in sentence


def test_a_policy_that_fails_without_perturbation_is_not_robust(make_cell):
    ((_, sentence),) = curve_verdicts(aggregate(falling(make_cell, [0.2, 0.2, 0])))
    assert "any-step success is below 50 % without perturbation: 0.2" in sentence


def test_a_return_has_no_threshold(make_cell):
    cells = [
        make_cell([0] * 5, strength=level, measure="return", **{"return": [value] * 5, "dwell": np.nan})
        for level, value in ((0.0, 9.0), (1.0, 4.0))
    ]
    ((_, sentence),) = curve_verdicts(aggregate(cells))
    assert sentence == "return: 9 [9, 9] at sigma = 0, lowest 4 [4, 4] at sigma = 1"
    assert open_questions(aggregate(cells)) == []


def test_levels_whose_interval_holds_the_threshold_are_not_decided(make_cell):
    questions = open_questions(aggregate(falling(make_cell, [1, 0.5, 0])))
    assert len(questions) == 2
    assert "whether any-step success is above 50 % at sigma = 0.1 (0.5 [" in questions[0].sentence
    assert "sigma = 0 " not in questions[0].sentence


def test_every_curve_has_a_sentence(make_cell):
    cells = falling(make_cell, [1, 0.9, 0], policy="a") + falling(make_cell, [1, 0.1, 0], policy="b")
    assert [verdict.curve for verdict in curve_verdicts(aggregate(cells))] == ["a", "b"]


def test_a_single_level_has_no_order(make_cell):
    ((_, sentence),) = curve_verdicts(aggregate(falling(make_cell, [1], [0.2])))
    assert "any-step success is 1 [" in sentence and "falls before" not in sentence


def test_a_sweep_without_a_level_that_holds_does_not_claim_one(make_cell):
    cells = [make_cell([0] * 20, strength=level, success_final=[0] * 20) for level in (0.5, 0.8)]
    ((_, sentence),) = curve_verdicts(aggregate(cells))
    assert "is below 50 % at the lowest level: 0 [0, 0.161] at sigma = 0.5" in sentence and "holds" not in sentence


def test_negative_strengths_keep_their_sign(make_cell):
    rates = {-0.2: 0, -0.1: 20, 0: 20, 0.1: 20, 0.2: 20}
    cells = [
        make_cell([1] * n + [0] * (20 - n), strength=level, success_final=[1] * n + [0] * (20 - n))
        for level, n in rates.items()
    ]
    down = next(sentence for _, sentence in curve_verdicts(aggregate(cells)) if "-0.15" in sentence)
    assert "sigma = -0.15 [-0.2, -0.1]" in down
