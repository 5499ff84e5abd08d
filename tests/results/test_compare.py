from __future__ import annotations

import json

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.results.compare import Comparison, compare, verdict
from brittlestar.statistics.hypothesis_tests import boschloo, holm, mcnemar_exact, two_proportion_z

STRENGTHS = (0, 0.1, 0.2)


def binary(k: int, n: int = 10) -> list[float]:
    return [1.0] * k + [0.0] * (n - k)


@pytest.fixture
def sweep(make_cell, save_cells, tmp_path):
    """Saves a curve with `successes[i]` at strength i, the same for all seeds."""

    def save(folder, successes, seeds=(0, 1, 2), strengths=STRENGTHS, **options):
        cells = [
            make_cell(binary(k), strength=strength, seed=seed, **options)
            for strength, k in zip(strengths, successes, strict=True)
            for seed in seeds
        ]
        return str(save_cells(tmp_path / folder, cells))

    return save


def test_shared_episodes_are_paired(sweep):
    comparison = compare(sweep("a", [10, 9, 8]), sweep("b", [10, 6, 1]), [], [], None)
    assert (comparison.measure, comparison.paired) == ("success_any", True)
    row = comparison.levels[1]
    assert (row["strength"], row["n_a"], row["n_b"], row["a"], row["b"]) == (0.1, 30, 30, 0.9, pytest.approx(0.6))
    assert row["difference"] == pytest.approx(0.3)
    assert row["p"] == mcnemar_exact(9, 0).p_value
    assert row["method"] == (
        "exact McNemar; paired t over 3 seeds, at least paired plus-four bootstrap over 30 episodes, 2000 draws, 95 %"
    )
    assert row["low"] < 0.3 < row["high"]
    assert comparison.levels[0]["p"] == 1
    assert comparison.curve["difference"] == pytest.approx(np.trapezoid([0, 0.3, 0.7], STRENGTHS) / 0.2)
    assert comparison.curve["method"].startswith("normalised auc over 3 strengths, paired t over 3 seeds, at least")
    assert verdict(comparison).endswith("/a is more robust than " + comparison.names[1] + " over the curve")


def test_other_backends_are_unpaired_and_named(sweep):
    env = {"_target_": "EnvSpec", "id": "FetchReach-v4", "kwargs": {}, "lanes": 4}
    sides = [sweep(name, [10, 9, 8], config={"env": env | {"backend": name}}) for name in ("envpool", "gymnasium")]
    comparison = compare(*sides, [], [], None)
    assert comparison.paired is False and comparison.levels[0]["method"].startswith("Boschloo; unpaired")
    assert comparison.note.startswith("A ran on envpool, B on gymnasium, which have other start states")
    assert compare(sides[0], sides[0], [], [], None).note == ""


def test_other_episodes_are_unpaired(sweep):
    comparison = compare(sweep("a", [10, 9, 8]), sweep("b", [10, 6, 1], seeds=(3, 4)), [], [], None)
    assert comparison.paired is False
    row = comparison.levels[1]
    assert (row["n_a"], row["n_b"]) == (30, 20)
    assert row["p"] == boschloo(27, 30, 12, 20).p_value
    assert row["method"] == (
        "Boschloo; unpaired t over 3 + 2 seeds, at least unpaired plus-four bootstrap over 30 + 20 episodes, "
        "2000 draws, 95 %"
    )


def test_other_start_states_are_unpaired(sweep):
    a = sweep("a", [10, 9, 8])
    assert not compare(a, sweep("b", [10, 9, 8], reset_seed=np.arange(10)), [], [], None).paired


def test_many_unpaired_episodes_use_the_z_test(make_cell, save_cells, tmp_path):
    a, b = ([make_cell(binary(k, 301), seed=seed)] for k, seed in ((280, 0), (250, 1)))
    row = compare(str(save_cells(tmp_path / "a", a)), str(save_cells(tmp_path / "b", b)), [], [], None).levels[0]
    assert row["method"].startswith("two-proportion z; unpaired plus-four bootstrap over 301 + 301 episodes")
    assert row["p"] == two_proportion_z(280, 301, 250, 301).p_value


def test_p_values_are_adjusted(sweep):
    comparison = compare(sweep("a", [10, 9, 8]), sweep("b", [9, 6, 1]), [], [], None)
    assert [row["p_holm"] for row in comparison.levels] == pytest.approx(holm([row["p"] for row in comparison.levels]))
    assert comparison.levels[2]["p_holm"] == pytest.approx(3 * comparison.levels[2]["p"])


@pytest.mark.parametrize(
    ("bounds", "measure", "expected"),
    [
        ((0.1, 0.3), "success_any", "A is more robust than B over the curve"),
        ((-0.3, -0.1), "success_any", "B is more robust than A over the curve"),
        ((-0.1, 0.3), "success_any", "no difference between A and B over the curve can be shown"),
        ((0.0, 0.0), "success_any", "no difference between A and B over the curve can be shown"),
        # A longer time is no robustness.
        ((1.0, 2.0), "time_to_success", "A has more time_to_success than B over the curve"),
        ((-2.0, -1.0), "final_distance", "B has more final_distance than A over the curve"),
    ],
)
def test_the_verdict_names_a_winner_only_outside_the_interval(bounds, measure, expected):
    curve = dict(zip(("low", "high"), bounds, strict=True))
    assert verdict(Comparison(("A", "B"), measure, True, [], curve)) == expected


def test_swapped_sides_turn_the_sign(sweep):
    a, b = sweep("a", [10, 9, 8]), sweep("b", [10, 6, 1])
    there, back = compare(a, b, [], [], None), compare(b, a, [], [], None)
    assert there.curve["difference"] == pytest.approx(-back.curve["difference"])
    assert there.curve["low"] == pytest.approx(-back.curve["high"], abs=0.02)
    assert verdict(there) == verdict(back)


def test_a_policy_equals_itself(sweep):
    a = sweep("a", [10, 9, 8])
    comparison = compare(a, a, [], [], None)
    assert (comparison.curve["difference"], [row["p"] for row in comparison.levels]) == (0, [1, 1, 1])
    assert verdict(comparison).startswith("no difference")


def test_the_interval_of_one_seed_is_over_its_episodes(sweep):
    comparison = compare(sweep("a", [10, 9, 8], seeds=[0]), sweep("b", [10, 6, 1], seeds=[0]), [], [], None)
    assert comparison.curve["method"] == (
        "normalised auc over 3 strengths, paired plus-four bootstrap over 10 episodes, 2000 draws, 95 %, 1 seed"
    )
    assert comparison.curve["low"] < comparison.curve["difference"] < comparison.curve["high"]


def test_conditions_choose_a_curve(make_cell, save_cells, tmp_path):
    def curve(kp, successes):
        config = {"policy": {"kp": kp}}
        return [make_cell(binary(k), strength=s, config=config) for s, k in zip(STRENGTHS, successes, strict=True)]

    folder = str(save_cells(tmp_path, curve(1.0, [10, 9, 8]) + curve(2.0, [10, 2, 1])))
    comparison = compare(folder, folder, ["policy.kp=1"], ["policy.kp=2.0"], None)
    assert comparison.names == (f"{folder} policy.kp=1", f"{folder} policy.kp=2.0")
    assert [row["a"] - row["b"] for row in comparison.levels] == pytest.approx([0, 0.7, 0.7])
    with pytest.raises(UserError, match=r"has 2 matching curves, choose one with .*: policy.kp=1.0; policy.kp=2.0$"):
        compare(folder, folder, [], ["policy.kp=2"], None)
    with pytest.raises(UserError, match="has 0 matching curves"):
        compare(folder, folder, ["policy.kp=fast"], ["policy.kp=2"], None)
    with pytest.raises(UserError, match=r"`policy.kd` did not vary in .*; did you mean `policy.kp`\?"):
        compare(folder, folder, ["policy.kd=1"], [], None)


def test_a_condition_without_a_match_lists_the_curves(sweep):
    a = sweep("a", [10, 9, 8])
    with pytest.raises(UserError, match="has 0 matching curves.*env=fetch_reach, policy=p_controller"):
        compare(a, a, ["policy=other"], [], None)


def test_many_curves_are_not_all_listed(make_cell, save_cells, tmp_path):
    folder = str(save_cells(tmp_path, [make_cell(config={"policy": {"kp": kp}}) for kp in range(12)]))
    with pytest.raises(UserError, match=r"policy.kp=9; and 2 more$"):
        compare(folder, folder, [], [], None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"config": {"env": {"id": "CartPole-v1"}}},
            "environment FetchReach-v4, B CartPole-v1: compare curves over one env",
        ),
        ({"name": "scale"}, "A has the strength sigma, B scale: compare curves over one strength"),
        ({"strengths": (0.5, 0.6, 0.7)}, "A and B share no strength"),
    ],
)
def test_curves_that_cannot_be_compared(sweep, options, message):
    with pytest.raises(UserError, match=message):
        compare(sweep("a", [10, 9, 8]), sweep("b", [10, 9, 8], **options), [], [], None)


def test_unknown_measures(sweep):
    a = sweep("a", [10, 9, 8])
    with pytest.raises(UserError, match=r"`measure` 'succes_final' is not a metric; did you mean `success_final`\?"):
        compare(a, a, [], [], "succes_final")
    with pytest.raises(UserError, match="`measure` 'episode' is not a metric"):
        compare(a, a, [], [], "episode")
    with pytest.raises(UserError, match="no value in A or in B"):
        compare(a, a, [], [], "collision_rate")


def test_nothing_finished(make_cell, fail_cell, save_cells, tmp_path):
    folder = str(save_cells(tmp_path, [fail_cell(make_cell())]))
    with pytest.raises(UserError, match="holds no finished cell"):
        compare(folder, folder, [], [], None)


def test_a_failed_cell_leaves_its_seed_out(make_cell, fail_cell, save_cells, tmp_path, sweep):
    cells = [make_cell(binary(k), strength=s, seed=n) for n in (0, 1, 2) for s, k in ((0, 10), (0.1, 5), (0.2, 1))]
    holes = str(save_cells(tmp_path / "holes", [*cells[:-1], fail_cell(cells[-1])]))
    comparison = compare(sweep("a", [10, 9, 8]), holes, [], [], None)
    assert comparison.paired
    assert {(row["n_a"], row["n_b"]) for row in comparison.levels} == {(20, 20)}
    few = str(save_cells(tmp_path / "few", [cells[0], cells[4], cells[8]]))
    with pytest.raises(UserError, match=r"no seed of B has all of the strengths \[0.0, 0.1, 0.2\]: rerun the missing"):
        compare(sweep("a", [10, 9, 8]), few, [], [], None)


def test_cells_of_unequal_length_are_paired_over_the_shorter(make_cell, save_cells, tmp_path):
    long, short = ([make_cell(binary(3, n), strength=s, seed=1) for s in STRENGTHS] for n in (9, 5))
    comparison = compare(*(str(save_cells(tmp_path / n, c)) for n, c in (("a", long), ("b", short))), [], [], None)
    assert comparison.paired
    assert [(row["n_a"], row["difference"]) for row in comparison.levels] == [(5, 0)] * 3


def test_returns_are_compared_by_bootstrap(make_cell, save_cells, tmp_path):
    random = np.random.default_rng(0)

    def save(name, shift, seeds):
        cells = [
            make_cell(binary(5), strength=s, seed=seed, **{"return": random.normal(shift, 1, 10)})
            for s in STRENGTHS
            for seed in seeds
        ]
        return str(save_cells(tmp_path / name, cells))

    a, b, c = save("a", 0, (0, 1, 2)), save("b", -5, (0, 1, 2)), save("c", -5, (7, 8, 9))
    paired, unpaired = compare(a, b, [], [], "return"), compare(a, c, [], [], "return")
    assert (paired.paired, unpaired.paired) == (True, False)
    for comparison, kind in ((paired, "paired"), (unpaired, "unpaired")):
        assert comparison.levels[0]["method"].startswith(f"{kind} bootstrap; {kind} t over")
        assert comparison.levels[0]["p"] < 0.01
        assert verdict(comparison).startswith(f"{a} is more robust")


def test_missing_values_are_left_out(make_cell, save_cells, tmp_path):
    # No episode succeeds at the last strength. At the others, only episodes that both sides solve are compared.
    def save(name, times):
        cells = [make_cell(binary(2, 4), strength=s, time_to_success=t) for s, t in zip(STRENGTHS, times, strict=True)]
        return str(save_cells(tmp_path / name, cells))

    none = [np.nan] * 4
    a = save("a", [[5, 7, 9, np.nan], [5, 7, 9, 11], none])
    b = save("b", [[4, 6, np.nan, 1], [4, 6, 8, 10], none])
    comparison = compare(a, b, [], [], "time_to_success")
    assert [row["n_a"] for row in comparison.levels] == [2, 4, 0]
    assert [row["difference"] for row in comparison.levels] == [1, 1, None]
    assert comparison.levels[2]["p"] is comparison.levels[2]["p_holm"] is None
    assert comparison.curve["difference"] == pytest.approx(1)
    assert comparison.curve["method"].startswith("normalised auc over 2 strengths")
    assert json.loads(json.dumps(vars(comparison), allow_nan=False))["levels"][2]["method"] == "no values"


def test_reference_passes_are_no_curves(make_cell, save_cells, sweep, tmp_path):
    cells = [make_cell(binary(9), strength=strength) for strength in STRENGTHS]
    cells.append(make_cell(binary(10), config={"role": "reference", "policy": {"_target_": "Other"}}))
    folder = str(save_cells(tmp_path / "a", cells))
    assert [row["n_a"] for row in compare(folder, sweep("b", [9, 9, 9], seeds=(0,)), [], [], None).levels] == [10] * 3


def test_a_condition_without_a_value_is_refused(sweep):
    with pytest.raises(UserError, match="a condition is COLUMN=VALUE, got `policy`"):
        compare(sweep("a", [9, 9, 9]), sweep("b", [9, 9, 9]), ["policy"], [], None)
