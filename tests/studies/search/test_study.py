"""The smallest combination that breaks a policy, by one command."""

import json

import pytest

from brittlestar.commands import aggregate
from brittlestar.commands.run import main

COMMON = ["hydra/sweeper=search", "env=cartpole"]
PARTS = "perturbation=[gaussian_observation,delayed_action]"
SIGMA = "perturbation.parts.gaussian_observation.sigma"
RANGES = [f"{SIGMA}=interval(0,0.4)", "perturbation.parts.delayed_action.delay_steps=interval(0,4)"]
SMALL = [*COMMON, "policy=zoo/cartpole_ppo", PARTS, *RANGES, "episodes=4", "study.budget=5", "study.confirm=8"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a search varies the parts of a composition"),
        (["perturbation=none"], "a search varies the parts of a composition"),
        (["perturbation=[gaussian_observation]"], "`hydra/sweeper=critical` finds the critical level of one"),
        ([PARTS, "study.budget=0"], "`budget` must be at least 1, got 0"),
        ([PARTS, "study.confirm=0"], "`confirm` must be at least 1, got 0"),
        ([PARTS, f"{SIGMA}=interval(0.3,0)"], "the range is empty"),
        ([PARTS, f"{SIGMA}=interval(0,0)"], "the range is empty"),
        ([PARTS, f"{SIGMA}=interval(-0.1,0.3)"], "0 is the nominal strength, so one end of its range must be 0"),
        ([PARTS, f"{SIGMA}=interval(-0.1,0)"], "`sigma` must be at least 0, got -0.1"),
        ([PARTS, f"{SIGMA[:-1]}=interval(0,1)"], f"did you mean `{SIGMA}`?"),
        ([PARTS, f"{SIGMA[:-5]}scale=interval(0,1)"], "is not a number, but 'absolute'"),
        ([PARTS, "policy=interval(0,1)"], "`policy` takes the name of an option, not a number"),
        ([PARTS, "seed=interval(0,1)"], "`seed` is no factor"),
        ([PARTS, "perturbation.parts.delayed_action.delay_steps=interval(0,2.5)"], "takes whole numbers"),
        ([PARTS, "+env.kwargs.g=interval(9,10)"], "`hydra/sweeper=sensitivity` any"),
        ([PARTS, "study.units={gausian_observation:0.1}"], "did you mean `gaussian_observation`?"),
        ([PARTS, "study.units={gaussian_observation:-100}"], "must be above 0 and within the range up to 1.6"),
        ([PARTS, f"{SIGMA}=0"], "gives no range: add"),
        (["perturbation=[gaussian_observation,none]"], "has no strength that a search could vary"),
        ([PARTS, "study.budget=5,6"], "a sweep has one study"),
        ([PARTS, "episodes=0"], "`episodes` must be at least 1, got 0"),
        ([PARTS, "perturbation.parts.delayed_action.jitter_steps=interval(-3,-1)"], "`jitter_steps` must be a whole"),
    ],
)
def test_mistakes_are_one_line_before_anything_runs(call, words, message):
    policy = [] if any(word.startswith("policy=") for word in words) else ["policy=constant"]
    code, output, error = call(main, "-m", *COMMON, *policy, *words)
    assert code != 0 and message in error and error.count("\n") == 1 and output == ""


def test_ranges_need_a_study_that_takes_them(call):
    code, _, error = call(main, "-m", "env=cartpole", "policy=constant", "perturbation.sigma=interval(0,1)")
    assert code != 0 and "`hydra/sweeper=search` and `hydra/sweeper=sensitivity` take ranges" in error
    assert error.count("\n") == 1


def test_one_command_finds_confirms_and_writes_a_combination_that_runs(shell, call):
    done, folder = shell.sweep(*SMALL, "study.units={gaussian_observation:0.1}")
    (result,) = json.loads((folder / "search.json").read_text())["policies"]
    assert result["search"]["points"] == result["random"]["points"] == 5
    assert result["search"]["episodes"] == 8 and 0 <= result["search"]["failure_rate"] <= 1
    assert result["ratio"] == pytest.approx(result["search"]["distance"] / result["random"]["distance"])
    parts = {row["part"]: row for row in result["parts"]}
    delay = parts["delayed_action"]
    assert parts["gaussian_observation"]["critical_alone"] == 0.1 and isinstance(delay["search"], int)
    assert delay["critical_alone"] in (1, 2, 3, 4)
    assert result["search"]["distance"] == pytest.approx(sum(row["search_units"] ** 2 for row in parts.values()) ** 0.5)
    assert result["verdict"] in done.stdout and "5/5 points" in done.stderr
    # The yaml runs as it is, and the same episodes give the same rate.
    seed = "seed=2000000"
    again = ["--config-dir", f"{folder}/found", "perturbation=found", "policy=zoo/cartpole_ppo", "env=cartpole"]
    shell.sweep(*again, seed, "episodes=8", name="again")
    (row,) = shell.table("again", "cells")
    assert 1 - row["success_final"] == pytest.approx(result["search"]["failure_rate"])
    files = [folder / "search.json", folder / "found" / "perturbation" / "found.yaml", folder / "search_points.csv"]
    before = [file.read_bytes() for file in files]
    assert call(aggregate.main, str(folder))[0] == 0
    assert [file.read_bytes() for file in files] == before
    assert "search_front.png" in (folder / "report.md").read_text()


@pytest.mark.slow
def test_a_policy_that_fails_already_is_incapable(shell):
    done, _ = shell.sweep(*COMMON, "policy=constant", PARTS, "episodes=4", "study.budget=2")
    assert "incapable: it fails in 100% of the episodes without any perturbation" in done.stdout


@pytest.mark.slow
def test_a_policy_that_never_fails_in_the_box_is_reported(shell):
    spans = [f"{SIGMA}=interval(0,0.001)", "perturbation.parts.bias_observation.bias=interval(0,0.001)"]
    words = ["policy=zoo/cartpole_ppo", "perturbation=[gaussian_observation,bias_observation]", *spans, "episodes=4"]
    done, folder = shell.sweep(*COMMON, *words, "study.budget=6")
    assert "nothing breaks it within the ranges: no combination among 12 points" in done.stdout
    assert not (folder / "found").exists()
