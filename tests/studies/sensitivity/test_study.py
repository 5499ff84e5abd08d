"""Which factor drives failure, by one command."""

import json

import pytest

from brittlestar.commands import aggregate
from brittlestar.commands.run import main

COMMON = ["hydra/sweeper=sensitivity", "env=cartpole", "perturbation=[gaussian_observation,delayed_action]"]
SIGMA = "perturbation.parts.gaussian_observation.sigma"
DELAY = "perturbation.parts.delayed_action.delay_steps"
RANGES = [f"{SIGMA}=interval(0,0.2)", f"{DELAY}=interval(0,1)"]
SMALL = [*COMMON, *RANGES, "policy=zoo/cartpole_ppo", "episodes=3", "study.samples=2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "add `KEY=interval(LOW,HIGH)` for each of them"),
        ([f"{SIGMA}=interval(0.2,0)"], "the range is empty"),
        ([f"{SIGMA}=interval(0,0)"], "the range is empty"),
        ([f"{SIGMA}x=interval(0,1)"], f"did you mean `{SIGMA}`?"),
        (["env.id=interval(0,1)"], "`env.id` is not a number, but 'CartPole-v1'"),
        (["deterministic=interval(0,1)"], "`deterministic` is not a number, but True"),
        (["episodes=interval(1,9)"], "`episodes` is no factor"),
        ([f"{DELAY}=interval(0.5,2)"], "takes whole numbers"),
        ([f"{SIGMA}=interval(-1,1)"], "`sigma` must be at least 0, got -1"),
        ([f"{SIGMA}=interval(0,1),interval(2,3)"], "a key takes one range, as `interval(0,1)`"),
        ([f"study.ranges=[[{SIGMA},0]]"], "a row is [KEY, LOW, HIGH] with two numbers, got "),
        (["perturbation.parts.0.sigma=interval(-1,1)"], "`sigma` must be at least 0, got -1"),
        (["perturbation.parts.2.sigma=interval(0,1)"], f"did you mean `{SIGMA}`?"),
        ([f"{SIGMA}=interval(0,1)", "study.metric=retrun"], "did you mean `return`?"),
        ([f"{SIGMA}=interval(0,1)", "study.samples=0"], "`samples` must be at least 1, got 0"),
        ([f"{SIGMA}=interval(0,1)", "study.samples=6"], "`samples` must be a power of 2 from 2 on, got 6"),
        ([f"{SIGMA}=interval(0,1)", "study.method=sobl"], "did you mean `sobol`?"),
        ([f"{SIGMA}=interval(0,1)", "study.threshold=1"], "`threshold` must be above 0 and below 1, got 1"),
    ],
)
def test_mistakes_are_one_line_before_anything_runs(call, words, message):
    code, output, error = call(main, "-m", *COMMON, "policy=constant", *words)
    assert code != 0 and message in error and error.count("\n") == 1 and output == ""


def test_one_command_ranks_the_factors_on_shared_episodes(shell, call):
    done, folder = shell.sweep(*SMALL)
    result = json.loads((folder / "sensitivity.json").read_text())
    (policy,) = result["policies"]
    factors = {row["factor"]: row for row in policy["factors"]}
    assert set(factors) == {"gaussian_observation.sigma", "delayed_action.delay_steps"}
    points = shell.table("sweep", "sensitivity_points")
    assert len(points) == 2 * (2 + 2)
    assert {row[DELAY] for row in points} == {0, 1} and all(0 <= row[SIGMA] <= 0.2 for row in points)
    assert policy["verdict"] in done.stdout and policy["clean"] == 0.0
    before = (folder / "sensitivity.json").read_bytes()
    assert call(aggregate.main, str(folder))[0] == 0
    assert (folder / "sensitivity.json").read_bytes() == before
    assert "sensitivity.png" in (folder / "report.md").read_text()
    # Another metric needs no new episodes.
    call(aggregate.main, str(folder), "study.metric=return")
    assert json.loads((folder / "sensitivity.json").read_text())["policies"][0]["clean"] == 500.0
    code, _, error = call(aggregate.main, str(folder), "study.metric=retrun")
    assert code != 0 and "did you mean `return`?" in error


@pytest.mark.slow
def test_keys_of_environment_and_mitigation_are_factors_too(shell):
    ranges = ["env.max_steps=interval(50,200)", "mitigation.alpha=interval(0.2,1)"]
    words = ["env=pendulum", "policy=zoo/pendulum_sac", "mitigation=low_pass", *ranges, "study.method=morris"]
    _, folder = shell.sweep("hydra/sweeper=sensitivity", *words, "episodes=3", "study.samples=3", "study.metric=return")
    (policy,) = json.loads((folder / "sensitivity.json").read_text())["policies"]
    assert {row["factor"] for row in policy["factors"]} == {"env.max_steps", "mitigation.alpha"}
    assert policy["factors"][0]["effect"] > 0
