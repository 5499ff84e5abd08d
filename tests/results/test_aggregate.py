from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from brittlestar.errors import UserError
from brittlestar.results import curve_intervals
from brittlestar.results.aggregate import aggregate
from brittlestar.statistics import intervals
from brittlestar.statistics.resampling import cluster_means


def rates(make_cell, successes, strengths, seeds=(0,), n=10, **options):
    """Cells of `n` episodes with `successes[i]` successes at strength i, the same for all seeds."""
    return [
        make_cell([1.0] * k + [0.0] * (n - k), strength=strength, seed=seed, **options)
        for k, strength in zip(successes, strengths, strict=True)
        for seed in seeds
    ]


def worked(make_cell, **options):
    return rates(make_cell, [10, 8, 4], [0, 0.05, 0.1], **options)


def test_worked_example(make_cell):
    row, final = aggregate(worked(make_cell)).summary
    assert (row["measure"], final["measure"]) == ("success_any", "success_final")
    assert row["critical"] == 0.1
    assert row["critical_interpolated"] == pytest.approx(0.0875)
    assert row["slope"] == pytest.approx(-6.0)
    assert row["auc"] == pytest.approx(0.075)
    assert row["normalised_auc"] == pytest.approx(0.75)
    assert (row["baseline_strength"], row["baseline"], row["incapable"]) == (0, 1, False)
    assert (row["worst_strength"], row["worst"]) == (0.1, 0.4)
    assert (row["strength_name"], row["threshold"], row["solved_at_reset"]) == ("sigma", 0.5, 0)
    for name in ("critical_interpolated", "slope", "auc", "normalised_auc"):
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]


def test_a_curve_that_never_breaks_has_its_critical_strength_beyond(make_cell):
    row = aggregate(rates(make_cell, [10, 10], [0, 0.1])).summary[0]
    assert math.isnan(row["critical"]) and math.isnan(row["critical_interpolated"])
    assert (row["critical_interpolated_low"], row["critical_interpolated_high"]) == (0.1, math.inf)
    almost = aggregate(rates(make_cell, [10, 6], [0, 0.1])).summary[0]
    assert math.isnan(almost["critical_interpolated"])
    assert almost["critical_interpolated_low"] < 0.1 and almost["critical_interpolated_high"] == math.inf


def test_the_interval_of_a_crossing_has_levels_as_its_ends(make_cell):
    row = aggregate(rates(make_cell, [10, 10, 6, 0, 0], [0, 0.1, 0.2, 0.4, 0.6])).summary[0]
    assert 0.2 < row["critical_interpolated"] < 0.4
    assert (row["critical_interpolated_low"], row["critical_interpolated_high"]) == (0.1, 0.4)
    assert row["auc_between"] == pytest.approx(0.5 * (0.4 * 0.1 + 0.6 * 0.2))


def test_a_policy_that_fails_undisturbed_is_incapable(make_cell):
    row = aggregate(rates(make_cell, [4, 1], [0, 0.1])).summary[0]
    assert row["incapable"] is True
    assert row["critical"] == row["critical_interpolated"] == 0


def test_a_curve_without_strength_0_has_no_baseline(make_cell):
    cells = rates(make_cell, [4, 1], [0.1, 0.2])
    row = aggregate(cells).summary[0]
    assert not {"baseline", "baseline_strength", "incapable"} & row.keys()
    assert (row["critical"], row["worst"]) == (0.1, 0.1)
    # It may cross anywhere below the first strength.
    assert (row["critical_interpolated_low"], row["critical_interpolated"]) == (0, 0.1)
    clean = rates(make_cell, [10, 1], [0, 0.2], config={"policy": {"kp": 2.0}})
    rows = {row["policy.kp"]: row for row in aggregate(cells + clean).summary if row["measure"] == "success_any"}
    assert "baseline" not in rows[10.0] and (rows[2.0]["baseline"], rows[2.0]["incapable"]) == (1, False)


def test_one_strength_has_no_shape(make_cell):
    row = aggregate(rates(make_cell, [4], [0.1])).summary[0]
    assert row["critical"] == 0.1
    assert all(math.isnan(row[name]) for name in ("slope", "auc", "auc_low", "critical_interpolated_high"))


def test_one_seed_wilson_over_episodes(make_cell):
    row = aggregate(worked(make_cell)).curve[1]
    wilson = intervals.wilson(8, 10)
    assert (row["n_seeds"], row["n_episodes"], row["success_any"]) == (1, 10, 0.8)
    assert (row["success_any_low"], row["success_any_high"]) == (wilson.low, wilson.high)
    assert row["success_any_method"] == "Wilson, n = 10, 95 %"
    assert math.isnan(row["success_any_std"])
    assert 0.4 <= row["success_any_bootstrap_low"] < 0.8 < row["success_any_bootstrap_high"] <= 1


def test_several_seeds_t_over_seeds(make_cell):
    cells = [make_cell([1.0] * k + [0.0] * (10 - k), seed=seed) for seed, k in enumerate((2, 5, 8))]
    row = aggregate(cells).curve[0]
    half = scipy_stats.t.ppf(0.975, 2) * np.std([0.2, 0.5, 0.8], ddof=1) / math.sqrt(3)
    assert row["success_any"] == pytest.approx(0.5)
    assert row["success_any_std"] == pytest.approx(0.3)
    # The rate cannot leave [0, 1].
    assert half > 0.5 and (row["success_any_t_low"], row["success_any_t_high"]) == (0, 1)
    assert (row["success_any_low"], row["success_any_high"]) == (0, 1)
    assert row["success_any_method"] == "t over 3 seeds, at least Wilson, n = 30, 95 %"
    assert row["success_any_wilson_low"] == pytest.approx(intervals.wilson(15, 30).low)


def test_seeds_that_agree_are_never_narrower_than_wilson(make_cell):
    row = aggregate(rates(make_cell, [8], [0], seeds=(0, 1, 2))).curve[0]
    wilson = intervals.wilson(24, 30)
    assert row["success_any_t_low"] == pytest.approx(row["success_any_t_high"])
    assert (row["success_any_low"], row["success_any_high"]) == pytest.approx((wilson.low, wilson.high))


def test_the_cluster_bootstrap_is_that_of_the_statistics(make_cell):
    random = np.random.default_rng(0)
    cells = [make_cell((random.random(40) < p).astype(float), seed=s) for s, p in enumerate((0.3, 0.6, 0.5, 0.8))]
    row = aggregate(cells).curve[0]
    means = cluster_means(np.array([cell.column("success_any") for cell in cells]))
    expected = intervals.percentile_interval(means)
    assert (row["success_any_bootstrap_low"], row["success_any_bootstrap_high"]) == (expected.low, expected.high)


def test_metrics_of_one_seed_have_a_t_interval_over_episodes(make_cell):
    returns = [-1.0, -2.0, -6.0]
    row = aggregate([make_cell([1, 1, 0], **{"return": returns})]).curve[0]
    interval = intervals.t_interval(returns)
    assert (row["return"], row["metric_interval"]) == (-3, "t over 3 episodes (rates: Wilson), 95 %")
    assert (row["return_low"], row["return_high"]) == pytest.approx((interval.low, interval.high))


def test_metrics_of_several_seeds_have_a_t_interval_over_seeds(make_cell):
    cells = [make_cell([1, 1], seed=s, **{"return": [r - 1, r + 1]}) for s, r in enumerate((-3, -5, -10))]
    row = aggregate(cells).curve[0]
    interval = intervals.t_interval([-3, -5, -10])
    assert (row["return"], row["metric_interval"]) == (-6, "t over 3 seeds (rates: at least Wilson, n = 6), 95 %")
    assert (row["return_low"], row["return_high"]) == pytest.approx((interval.low, interval.high))


def test_time_to_success_comes_with_its_count(make_cell):
    times = [[3, np.nan, 5], [np.nan, np.nan, 7]]
    cells = [make_cell(np.isfinite(t), seed=s, time_to_success=t) for s, t in enumerate(times)]
    row = aggregate(cells).curve[0]
    assert row["time_to_success"] == pytest.approx((4 + 7) / 2)
    assert (row["time_to_success_n"], row["n_episodes"]) == (3, 6)
    never = aggregate([make_cell([0, 0])]).curve[0]
    assert math.isnan(never["time_to_success"]) and never["time_to_success_n"] == 0


def test_missing_is_missing_not_zero(make_cell):
    tables = aggregate(worked(make_cell, seeds=(0, 1)))
    assert all(math.isnan(row["normalised_return"]) for row in tables.cells)
    assert all(math.isnan(row["collision_rate_low"]) for row in tables.curve)
    unknown = aggregate([make_cell(solved_at_reset=np.nan)]).summary[0]
    assert math.isnan(unknown["solved_at_reset"])


def test_solved_at_reset_is_a_share_of_all_episodes(make_cell):
    cells = [make_cell([1, 1], solved_at_reset=[1, 0]), make_cell([1] * 6, seed=1, config={"episodes": 2})]
    assert aggregate(cells).summary[0]["solved_at_reset"] == pytest.approx(1 / 8)


def test_normalised_return_where_there_is_no_success(make_cell):
    cells = [
        make_cell([np.nan] * 3, strength=s, measure="normalised_return", dwell=np.nan, normalised_return=value)
        for s, value in ((0, [0.9, 1.1, 1.0]), (0.5, [0.1, 0.3, 0.2]))
    ]
    tables = aggregate(cells)
    (row,) = tables.summary
    assert (row["measure"], row["baseline"], row["critical"]) == ("normalised_return", 1, 0.5)
    assert row["critical_interpolated"] == pytest.approx(0.5 * 0.5 / 0.8)
    point = tables.curve[0]
    assert point["normalised_return_method"] == "t over 3 episodes, 95 %"
    assert point["normalised_return_bootstrap_low"] <= 1 <= point["normalised_return_bootstrap_high"]
    assert "success_any_method" not in point and math.isnan(point["success_any"])


def test_a_raw_return_has_no_threshold(make_cell):
    cells = [make_cell([np.nan] * 2, strength=s, measure="return", dwell=np.nan, **{"return": r})
             for s, r in ((0, -1), (1, -9))]  # fmt: skip
    (row,) = aggregate(cells).summary
    assert (row["measure"], row["baseline"], row["worst"], row["slope"]) == ("return", -1, -9, -8)
    for name in ("threshold", "critical", "critical_interpolated", "critical_interpolated_low"):
        assert math.isnan(row[name]), name
    assert "incapable" not in row
    assert row["auc"] == pytest.approx(-5)
    assert row["auc_low"] == pytest.approx(-5)


def test_success_of_whole_episodes_is_one_measure(make_cell):
    tables = aggregate([make_cell([1, 0], dwell=np.nan)])
    assert [row["measure"] for row in tables.summary] == ["success_any"]
    assert "success_final_method" not in tables.curve[0]


def test_holes_and_ragged_seeds(make_cell):
    cells = [make_cell([1, 1, 1, 0]), make_cell([1, 0], seed=1), make_cell([0, 0, 0, 1], strength=0.1)]
    cells[1].config["episodes"] = 4
    tables = aggregate(cells)
    first, second = tables.curve
    assert (first["n_seeds"], first["n_episodes"], first["success_any"]) == (2, 6, 0.625)
    assert first["success_any_wilson_low"] == pytest.approx(intervals.wilson(4, 6).low)
    assert (second["n_seeds"], second["n_episodes"]) == (1, 4)
    assert second["success_any_low"] == pytest.approx(intervals.wilson(1, 4).low)
    assert [row["episodes"] for row in tables.cells] == [4, 2, 4]
    summary = tables.summary[0]
    assert summary["auc"] == pytest.approx(0.1 * (0.625 + 0.25) / 2)
    assert summary["auc_low"] < summary["auc"] < summary["auc_high"]
    assert "over 4 to 6 episodes" in summary["interval_method"]


def test_failed_cells_leave_holes_and_nothing_else(make_cell, fail_cell):
    cells = worked(make_cell, seeds=(0, 1))
    whole = aggregate(cells)
    broken = fail_cell(cells[3], "the policy returned nan")
    tables = aggregate([*cells[:3], broken, *cells[4:]])
    assert [(row["strength"], row["n_seeds"]) for row in tables.curve] == [(0, 2), (0.05, 1), (0.1, 2)]
    assert repr([tables.curve[i] for i in (0, 2)]) == repr([whole.curve[i] for i in (0, 2)])
    assert tables.summary[0]["auc"] == pytest.approx(0.075)
    (failure,) = tables.failures
    assert failure == {
        "env": "fetch_reach", "policy": "p_controller", "perturbation": "gaussian_observation",
        "strength_name": "sigma", "strength": 0.05, "seed": 1, "error": "the policy returned nan",
        "overrides": "perturbation.sigma=0.05 seed=1",
    }  # fmt: skip


def test_a_strength_that_failed_everywhere_is_no_point(make_cell, fail_cell):
    cells = worked(make_cell)
    tables = aggregate([cells[0], fail_cell(cells[1]), cells[2]])
    assert [row["strength"] for row in tables.curve] == [0, 0.1]


def test_a_strength_that_cannot_be_built_is_missing(make_cell, fail_cell):
    tables = aggregate([make_cell(), fail_cell(make_cell(strength=-1), known_strength=False)])
    assert tables.failures[0]["strength"] is None
    assert tables.failures[0]["overrides"] == "perturbation.sigma=-1 seed=0"


def test_nothing_finished(make_cell, fail_cell):
    tables = aggregate([fail_cell(make_cell(seed=seed)) for seed in (1, 0)])
    assert tables.cells == tables.curve == tables.summary == list(tables.episodes()) == []
    assert [row["seed"] for row in tables.failures] == [0, 1]
    assert aggregate([]).curve == []


def test_curves_do_not_depend_on_their_neighbours(make_cell, monkeypatch):
    grid = [c for k in (1.0, 2.0, 3.0) for c in worked(make_cell, seeds=(0, 1), config={"policy": {"kp": k}})]
    # Other grids among them end a batch.
    grid += worked(make_cell, n=20, config={"policy": {"kp": 2.5}, "episodes": 10})
    grid += worked(make_cell, config={"policy": {"kp": 4.0}}, measure="return")
    together = aggregate(grid)
    monkeypatch.setattr(curve_intervals, "_BATCH_SIZE", 0)
    alone = aggregate(grid)
    for row, other in zip(together.curve + together.summary, alone.curve + alone.summary, strict=True):
        assert row == pytest.approx(other, nan_ok=True)
    assert [row["policy.kp"] for row in together.curve[::3]] == [1, 2, 2.5, 3, 4]


def test_order_of_cells_does_not_matter(make_cell, fail_cell):
    cells = worked(make_cell, seeds=(0, 1)) + worked(make_cell, choices={"mitigation": "low_pass"})
    cells += [fail_cell(make_cell(strength=s, seed=9), known_strength=False) for s in (-1, -2)]
    straight = aggregate(cells)
    for seed in range(3):
        shuffled = aggregate([cells[i] for i in np.random.default_rng(seed).permutation(len(cells))])
        for name in ("cells", "curve", "summary", "failures"):
            assert repr(getattr(shuffled, name)) == repr(getattr(straight, name))


def test_cells_of_other_versions_are_refused(make_cell):
    old = make_cell(seed=1)
    old.manifest["columns"] = old.manifest["columns"][:-1]
    with pytest.raises(UserError, match="different columns: aggregate them apart"):
        aggregate([make_cell(), old])


def test_strength_zero_counts_in_both_curves(make_cell):
    cells = [c for name in ("a", "b") for c in worked(make_cell, choices={"perturbation": name})]
    tables = aggregate(cells)
    assert [row["baseline"] for row in tables.summary] == [1, 1, 1, 1]
    assert [(row["perturbation"], row["strength"]) for row in tables.curve] == [
        ("a", 0), ("a", 0.05), ("a", 0.1), ("b", 0), ("b", 0.05), ("b", 0.1),
    ]  # fmt: skip


def test_methods_name_seeds_and_episodes(make_cell):
    assert aggregate(worked(make_cell)).summary[0]["interval_method"] == (
        "plus-four bootstrap over 10 episodes, 2000 draws, 95 %"
    )
    assert aggregate(worked(make_cell, seeds=(0, 1, 2))).summary[0]["interval_method"] == (
        "t-scaled bootstrap over 3 seeds, at least plus-four bootstrap over 30 episodes, 2000 draws, 95 %"
    )


def test_one_episode_is_named_in_the_singular(make_cell):
    tables = aggregate(rates(make_cell, [1], [0], n=1))
    assert tables.summary[0]["interval_method"].startswith("plus-four bootstrap over 1 episode,")
    assert tables.curve[0]["metric_interval"] == "t over 1 episode (rates: Wilson), 95 %"


def test_a_few_episodes_that_all_agree_are_no_certainty(make_cell):
    row = aggregate(rates(make_cell, [10, 10, 0], [0, 0.1, 0.2])).summary[0]
    assert row["critical_interpolated_low"] < 0.145 < 0.155 < row["critical_interpolated_high"]
    assert row["slope"] + 0.2 < row["slope_high"]
    assert row["slope_low"] == pytest.approx(row["slope"]), "no curve is steeper"
    assert row["normalised_auc_low"] < 0.7 < 0.8 < row["normalised_auc_high"]
    unbroken = aggregate(rates(make_cell, [10, 10], [0, 0.1])).summary[0]
    assert unbroken["normalised_auc_low"] < 0.85 < unbroken["normalised_auc_high"] == 1
    assert unbroken["slope_low"] < -1 < 1 < unbroken["slope_high"]


def test_the_interval_of_the_area_is_a_t_interval_over_seeds(make_cell):
    by_seed = np.array([[10, 9, 7], [8, 7, 3], [10, 4, 1], [9, 8, 2]])
    cells = [c for seed, row in enumerate(by_seed) for c in rates(make_cell, row, [0, 0.05, 0.1], seeds=[seed])]
    row = aggregate(cells).summary[0]
    areas = np.trapezoid(by_seed / 10, [0, 0.05, 0.1], axis=1)
    interval = intervals.t_interval(areas)
    assert row["auc"] == pytest.approx(areas.mean())
    assert row["auc_low"] == pytest.approx(interval.low, abs=0.05 * (interval.high - interval.low))
    assert row["auc_high"] == pytest.approx(min(0.1, interval.high), abs=0.05 * (interval.high - interval.low))


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_summary_intervals_cover_with_three_seeds(make_cell, spread):
    """95 % when seeds differ, where the plain cluster bootstrap covers 80 to 84 %, and 98 % when they do not."""
    levels, curves, random = np.array([0, 0.1, 0.2, 0.3]), 100, np.random.default_rng(5)

    def chances(seeds):
        return 1 / (1 + np.exp(20 * (levels - 0.15) + spread * random.standard_normal((seeds, 1))))

    true = chances(200_000).mean(axis=0)
    cells = []
    for number in range(curves):
        for seed, row in enumerate(chances(3)):
            start = random.random(20)
            cells += [
                make_cell((start < p).astype(float), strength=s, seed=seed, config={"policy": {"kp": number}})
                for s, p in zip(levels, row, strict=True)
            ]
    rows = [row for row in aggregate(cells).summary if row["measure"] == "success_any"]
    truth = {
        "auc": np.trapezoid(true, levels),
        "slope": np.polyfit(levels, true, 1)[0],
        "critical_interpolated": np.interp(0.5, true[::-1], levels[::-1]),
    }
    for name, value in truth.items():
        covered = np.mean([row[f"{name}_low"] <= value <= row[f"{name}_high"] for row in rows])
        assert covered >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / curves), (name, covered)


def test_phases_are_curves_of_their_own_in_the_order_of_time(make_cell):
    cells = [make_cell([1, 1, 0, 0, 1, 0], strength=s, phase=[0, 0, 1, 1, 2, 2]) for s in (0.0, 0.1)]
    for cell in cells:
        cell.manifest["phases"] = ["pre", "shock", "post"]
    tables = aggregate(cells)
    rows = [(row["phase"], row["strength"], row["success_any"], row["n_episodes"]) for row in tables.curve]
    rates = {"pre": 1.0, "shock": 0.0, "post": 0.5}
    assert rows == [(phase, s, rate, 2) for phase, rate in rates.items() for s in (0.0, 0.1)]
    assert [row["phase"] for row in tables.summary if row["measure"] == "success_any"] == list(rates)


def test_a_sweep_through_zero_has_a_curve_in_either_direction(make_cell):
    rates = {-0.4: [0, 0], -0.2: [1, 0], 0.0: [1, 1], 0.3: [1, 1], 0.6: [0, 1]}
    tables = aggregate([make_cell(success, strength=strength, name="change") for strength, success in rates.items()])
    sides = {row["direction"]: row for row in tables.summary if row["measure"] == "success_any"}
    assert {side: (row["baseline"], row["baseline_strength"]) for side, row in sides.items()} == {
        "down": (1.0, 0.0),
        "up": (1.0, 0.0),
    }
    assert sides["down"]["critical"] == 0.4
    assert sides["down"]["worst_strength"] == -0.4
    assert np.isnan(sides["up"]["critical"])
    assert [(row["direction"], row["strength"]) for row in tables.curve] == [
        ("down", 0.0), ("down", -0.2), ("down", -0.4), ("up", 0.0), ("up", 0.3), ("up", 0.6),
    ]  # fmt: skip


def recorded_cells(make_cell, mean, kinds=("channel", "random"), model=None, **options):
    """Clean cells and masked ones of one policy with a record, under several kinds of mask."""
    cells = []
    for kind in kinds:
        for strength in (0, 1):
            node = {"_target_": "MaskObservation", "p": strength, "kind": kind}
            cell = make_cell(strength=strength, name="p", config={"perturbation": node, "model": model}, **options)
            cell.manifest["record"] = {"mean": mean, "std": 0.0, "episodes": 9}
            cells.append(cell)
    return cells


def test_a_policy_has_one_baseline_check(make_cell):
    tables = aggregate(recorded_cells(make_cell, 500.0, model="a") + recorded_cells(make_cell, -9.0, model="b"))
    statuses = {label["model"]: (label["perturbation.kind"], check.status) for label, check in tables.baseline_checks}
    assert len(tables.baseline_checks) == 2
    assert statuses == {"a": (None, "baseline mismatch"), "b": (None, "above its record")}
    assert {(row["model"], row["baseline_check"]) for row in tables.summary} == {(m, statuses[m][1]) for m in statuses}
    alone = aggregate(recorded_cells(make_cell, 500.0, kinds=["channel"]))
    assert [label["perturbation"] for label, _ in alone.baseline_checks] == ["gaussian_observation"]


def test_a_mitigation_that_changes_the_clean_return_has_its_own_check(make_cell):
    filtered = {"choices": {"mitigation": "low_pass"}, "return": 500.0}
    tables = aggregate(recorded_cells(make_cell, 500.0) + recorded_cells(make_cell, 500.0, **filtered))
    assert {label["mitigation"]: check.status for label, check in tables.baseline_checks} == {
        "none": "baseline mismatch",
        "low_pass": "ok",
    }


def test_another_time_limit_is_no_mismatch(make_cell):
    for steps, status in ((40, "time limit differs"), (50, "baseline mismatch"), (None, "baseline mismatch")):
        env = {"_target_": "EnvSpec", "id": "FetchReach-v4", "max_steps": steps}
        cell = make_cell(config={"env": env})
        cell.manifest["record"] = {"mean": 500.0, "std": 0.0, "episodes": 9}
        assert [row["baseline_check"] for row in aggregate([cell]).curve] == [status]
