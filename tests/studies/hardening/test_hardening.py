"""Hardening: levels, the choice of a strength, and a whole arc that is killed in every stage and goes on."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf
from scipy.stats import binomtest

from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.errors import UserError
from brittlestar.results.load import load_cells
from brittlestar.studies.hardening.choice import FILE, choose_level, read_choice, write_choice
from brittlestar.studies.hardening.setup import default_levels, prepare

ROOT = Path(__file__).parents[3]
SCRIPT = "scripts/harden.py"
POLICY = "def balance(seen):\n    return int(seen[2] + 0.3 * seen[3] + 0.02 * seen[0] + 0.05 * seen[1] > 0)\n"
SHORT = ["env=cartpole", "env.max_steps=30", "env.success.threshold=30", "env.lanes=8"]
BASE = [*SHORT, "policy=callable", "policy.path=mine:balance", "perturbation=gaussian_observation", "folder=out"]
ARC = [*BASE, "levels=[0,0.1,0.3,1]", "episodes=20", "seeds=[0,1]", "algo=ppo", "steps=1024", "save_every=256"]
LEVELS, STEPS = [0, 0.1, 0.3, 1], 1024
CELLS = 8
ALL_CACHED = f"{CELLS}/{CELLS} cells: 0 done, 0 failed, {CELLS} cached, 0 running"


# Levels


def test_every_perturbation_has_a_default_grid_that_it_accepts():
    for path in sorted((config_folder() / "perturbation").glob("*.yaml")):
        resolved = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
        node = {key: "length" if value == "???" else value for key, value in resolved.items()}
        given = {key: value for key, value in node.items() if key != "_target_" and key != "parts"}
        name = load("perturbation", path.stem, **given).strength_field
        if name is None:
            continue
        levels = default_levels(node, name)
        assert levels[0] == 0 and node[name] in levels and len(levels) >= 4, path.stem
        assert [abs(level) for level in levels] == sorted({abs(level) for level in levels}), path.stem


def config(**changes):
    node = {"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.05}
    env = {"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1"}
    defaults = {"share": 0.9, "checkpoint": "best", "seeds": [0], "levels": None, "train_level": None, "measure": None}
    return {"env": env, "policy": {}, "perturbation": node} | defaults | changes


def test_an_algorithm_that_cannot_learn_the_actions_is_refused_before_anything_runs():
    from brittlestar.studies.hardening.retraining import find_teacher

    sac = {"_target_": "brittlestar.training.algorithms.Algorithm", "name": "sac"}
    with pytest.raises(UserError, match=r"`algo.name: sac` cannot learn actions of Discrete\(2\)"):
        find_teacher(config(algo=sac, steps=None))


def test_levels_are_sorted_and_start_at_zero():
    assert prepare(config(levels=[0.2, 0.1, 0.1]), {}).levels == [0, 0.1, 0.2]
    with_change = {"_target_": "brittlestar.perturbations.Gravity", "change": -0.2}
    assert prepare(config(perturbation=with_change, levels=[-0.4, -0.1]), {}).levels == [0, -0.1, -0.4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": "0.1"}, "`levels` must be a list of numbers"),
        ({"levels": [0.1, float("nan")]}, "`levels` must be a list of numbers"),
        ({"levels": [-0.1, 0.1]}, "must go one way from 0"),
        ({"levels": [0]}, "needs a level other than 0"),
        ({"levels": [0, -1]}, "`sigma` must be at least 0"),
        ({"seeds": []}, "`seeds` must be different whole numbers"),
        ({"seeds": [0, 0]}, "`seeds` must be different whole numbers"),
        ({"seeds": [0.5]}, "`seeds` must be different whole numbers"),
        ({"share": 0}, "`share` must be above 0 and at most 1, got 0"),
        ({"checkpoint": "bset"}, "did you mean `best`"),
        ({"measure": "success_any"}, "`measure` cannot be 'success_any'"),
        ({"train_level": -1}, "`sigma` must be at least 0"),
        ({"perturbation": {"_target_": "brittlestar.perturbations.Perturbation"}}, "has no strength to harden against"),
        ({"perturbation": config()["perturbation"] | {"sigma": 0}}, "give `levels="),
    ],
)
def test_mistakes_are_told_before_anything_is_computed(changes, message):
    with pytest.raises(UserError, match=message):
        prepare(config(**changes), {})


# Choice


@pytest.mark.parametrize(
    ("found", "measure", "share", "level"),
    [
        ({0: 1.0, 0.1: 0.9, 0.2: 0.899}, "success_any", 0.9, 0.1),
        ({0: 1.0, 0.1: 0.89, 0.2: 0.9, 0.4: 0.0}, "success_any", 0.9, 0.2),
        ({0: 1.0, 0.1: 0.9, 0.2: 0.8}, "success_final", 0.8, 0.2),
        ({0: 1.0, -0.1: 0.95, -0.2: 0.91}, "success_final", 0.9, -0.2),
        ({0: 0.8, 0.1: 0.73, 0.2: 0.71}, "normalised_return", 0.9, 0.1),
        ({0: 200.0, 0.1: 181.0, 0.2: 179.0}, "return", 0.9, 0.1),
        ({0: -200.0, 0.1: -219.0, 0.2: -221.0}, "return", 0.9, 0.1),
    ],
)
def test_the_largest_level_that_still_copes_is_chosen(found, measure, share, level):
    chosen = choose_level(found, measure, share, "sigma")
    assert chosen.level == level
    assert ("no success is defined" in chosen.reason) == (not measure.startswith("success"))
    assert ("copes with all levels" in chosen.reason) == (level == list(found)[-1])


@pytest.mark.parametrize(
    ("found", "measure", "message"),
    [
        ({0: 0.89, 0.1: 0.95}, "success_any", "fails already at level 0: success_any is 0.89, 0.9 is wanted"),
        ({0: -0.1, 0.1: -0.1}, "normalised_return", "fails already at level 0: normalised_return is -0.1, no better"),
        ({0: 1.0, 0.1: 0.5, 0.2: 0.3}, "success_any", "reaches 90 % success: already 0.1 leaves success_any 0.5"),
        ({0: 100.0, 0.1: 50.0}, "return", "reaches 90 % of the clean return: already 0.1 leaves return 50"),
    ],
)
def test_nothing_to_choose_from_is_an_error(found, measure, message):
    with pytest.raises(UserError, match=message):
        choose_level(found, measure, 0.9, "sigma")


def test_a_choice_is_found_again_only_for_the_same_study(tmp_path):
    chosen = choose_level({0: 1.0, 0.1: 0.95}, "success_any", 0.9, "sigma")
    assert read_choice(tmp_path, "abc") is None
    write_choice(tmp_path, "abc", chosen)
    assert read_choice(tmp_path, "abc") == chosen
    assert read_choice(tmp_path, "abd") is None
    (tmp_path / FILE).write_text('{"choosing": "abc", "cho')
    assert read_choice(tmp_path, "abc") is None


# The arc


@pytest.fixture(scope="module")
def one_core():
    """Learners with two threads wait for each other longer than they learn, where the cores are shared."""
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


def start(folder: Path) -> subprocess.Popen:
    (folder / "mine.py").write_text(POLICY)
    command = [sys.executable, str(ROOT / SCRIPT), *ARC]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, start_new_session=True, **pipes)


def finish(folder: Path) -> dict[str, str]:
    process = start(folder)
    out, error = process.communicate()
    assert process.returncode == 0, error
    return {"out": out, "err": error}


def stop_when(folder: Path, there, how: int = signal.SIGKILL) -> tuple[int, str, str]:
    """Starts the arc and ends it as soon as something is there."""
    process = start(folder)
    until = time.monotonic() + 300
    while not there() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, how)
    out, error = process.communicate()
    return process.returncode, out, error


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("stable_baselines3")
    return tmp_path_factory.mktemp("arc")


@pytest.fixture(scope="module")
def arc(folder, one_core):
    return finish(folder)


def cells(folder: Path, where: str) -> int:
    return len(list((folder / where).glob("**/manifest.json")))


def saved_steps(folder: Path) -> list[int]:
    curves = list((folder / "outputs" / "training").glob("*/curve.jsonl"))
    return [json.loads(line)["steps"] for line in curves[0].read_text().splitlines()] if curves else []


@pytest.mark.slow
def test_stopped_in_every_stage_it_goes_on(arc, folder, tmp_path, one_core):
    code, _, error = stop_when(tmp_path, lambda: cells(tmp_path, "outputs/store") > 0, signal.SIGINT)
    assert code == 130 and "the same command continues" in error
    kept = cells(tmp_path, "outputs/store")
    assert 1 <= kept < CELLS

    code, out, error = stop_when(tmp_path, lambda: len(saved_steps(tmp_path)) >= 2)
    assert code == -signal.SIGKILL and "3/4" in out and "4/4" not in out
    assert f"{CELLS}/{CELLS} cells: {CELLS - kept} done, 0 failed, {kept} cached" in error
    chosen, steps = (tmp_path / "out" / "choice.json").read_bytes(), saved_steps(tmp_path)
    assert not (tmp_path / "out" / "result.json").exists()

    code, out, error = stop_when(tmp_path, lambda: cells(tmp_path, "out/after") > 0)
    assert code == -signal.SIGKILL and "4/4" in out
    assert ALL_CACHED in error
    # The first ones were not learnt again.
    assert saved_steps(tmp_path)[: len(steps)] == steps
    assert saved_steps(tmp_path) == sorted(saved_steps(tmp_path)) and saved_steps(tmp_path)[-1] == STEPS
    kept = cells(tmp_path, "outputs/store")

    done = finish(tmp_path)
    assert "done before" in done["out"] and ALL_CACHED in done["err"]
    assert f"{CELLS}/{CELLS} cells: {2 * CELLS - kept} done, 0 failed, {kept - CELLS} cached" in done["err"]
    assert (tmp_path / "out" / "choice.json").read_bytes() == chosen == (folder / "out" / "choice.json").read_bytes()
    for level, rows in values(tmp_path, "before", "return").items():
        assert np.array_equal(rows, values(folder, "before", "return")[level])


def test_a_second_time_nothing_is_computed_and_the_same_is_said(arc, folder):
    again = finish(folder)
    assert again["err"].splitlines() == [ALL_CACHED, ALL_CACHED]
    assert again["out"].partition("4/4")[2] == arc["out"].partition("4/4")[2]


def values(folder: Path, side: str, column: str) -> dict[float, np.ndarray]:
    """The episodes of both seeds at each level, read from the cells."""
    found = {}
    for cell in sorted(load_cells([folder / "out" / side]), key=lambda cell: (cell.strength, cell.seed)):
        found.setdefault(cell.strength, []).append(cell.rows()[:, list(cell.manifest["columns"]).index(column)])
    return {level: np.concatenate(rows) for level, rows in found.items()}


def test_both_sides_ran_the_same_episodes(arc, folder):
    starts = [values(folder, side, "reset_seed") for side in ("before", "after")]
    assert list(starts[0]) == LEVELS
    for level in LEVELS:
        assert len(set(starts[0][level])) == 40
        assert np.array_equal(starts[0][level], starts[1][level])


def test_it_trained_at_the_largest_level_with_ninety_percent(arc, folder):
    rates = {level: rows.mean() for level, rows in values(folder, "before", "success_final").items()}
    assert rates[1] < 0.9, "the test needs a level that breaks the policy"
    level = max(level for level in LEVELS if rates[level] >= 0.9)
    assert f"2/4 strength: sigma = {level}" in arc["out"]
    (metadata,) = (folder / "outputs" / "training").glob("*/metadata.json")
    assert json.loads(metadata.read_text())["perturbation"]["sigma"] == level


def test_the_table_holds_the_numbers_of_the_cells(arc, folder):
    before, after = (values(folder, side, "success_final") for side in ("before", "after"))
    with open(folder / "out" / "gains.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["strength"]) for row in rows] == LEVELS
    p_values = []
    for level, row in zip(LEVELS, rows, strict=True):
        a, b = after[level], before[level]
        assert float(row["before"]) == pytest.approx(b.mean(), abs=1e-12)
        assert float(row["after"]) == pytest.approx(a.mean(), abs=1e-12)
        assert float(row["gain"]) == pytest.approx(a.mean() - b.mean(), abs=1e-12)
        won, lost = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
        p_values.append(binomtest(won, won + lost).pvalue if won + lost else 1.0)
        assert float(row["p"]) == pytest.approx(p_values[-1], rel=1e-9)
        assert -1 <= float(row["low"]) <= float(row["gain"]) <= float(row["high"]) <= 1
        shown = [f"{level}", f"{b.mean():.4g}", f"{a.mean():.4g}"]
        gain = re.escape(f"{a.mean() - b.mean():+.4g} [")
        assert re.search(r"\| success_final \|\s+" + r" \|\s+".join(map(re.escape, shown)) + rf" \| {gain}", arc["out"])
    order = np.argsort(p_values)
    holm = np.maximum.accumulate([min(1.0, (4 - i) * p_values[k]) for i, k in enumerate(order)])
    assert [float(rows[k]["p_holm"]) for k in order] == pytest.approx(list(holm))


def crossing(rates: list[float]) -> float | None:
    for (x0, y0), (x1, y1) in zip(
        zip(LEVELS, rates, strict=True), zip(LEVELS[1:], rates[1:], strict=True), strict=False
    ):
        if y0 >= 0.5 > y1:
            return x0 + (x1 - x0) * (y0 - 0.5) / (y0 - y1)
    return 0.0 if rates[0] < 0.5 else None


def test_the_curves_before_and_after_are_those_of_the_cells(arc, folder):
    result = json.loads((folder / "out" / "result.json").read_text())
    sides = {row["policy"]: row for row in result["curves"]}
    areas = {}
    for side, row in sides.items():
        rates = [rows.mean() for rows in values(folder, side, "success_final").values()]
        areas[side] = np.trapezoid(rates, LEVELS)
        assert row["clean"] == pytest.approx(rates[0])
        assert row["auc"] == pytest.approx(areas[side])
        assert row["normalised_auc"] == pytest.approx(areas[side])
        assert row["auc_low"] <= row["auc"] <= row["auc_high"]
        assert row["critical_interpolated"] == (None if crossing(rates) is None else pytest.approx(crossing(rates)))
        assert f"{row['auc']:.4g} [{row['auc_low']:.4g}, {row['auc_high']:.4g}]" in arc["out"]
    gain = result["normalised_auc_gain"]["success_final"]
    assert gain["difference"] == pytest.approx(areas["after"] - areas["before"])
    cost = result["clean_cost"]["success_final"]
    assert cost["cost"] == pytest.approx(sides["before"]["clean"] - sides["after"]["clean"])
    assert cost["low"] <= cost["cost"] <= cost["high"]
    assert f"clean cost: {cost['cost']:+.4g} [{cost['low']:+.4g}, {cost['high']:+.4g}] success_final" in arc["out"]
    assert result["paired"] and f"sigma = {result['choice']['level']} (" in arc["out"]


def test_the_folder_holds_tables_plot_and_report(arc, folder):
    out = folder / "out"
    report = (out / "report.md").read_text()
    assert (out / "gains.md").read_text().strip() in report and (out / "before_after.md").read_text().strip() in report
    assert report.count("![curve](curve.png)") == 1
    assert (out / "curve.png").stat().st_size > 10_000
    with open(out / "curve.csv") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"before", "after"}


def test_a_study_of_returns_says_that_there_is_no_success(shell, one_core):
    done = shell(
        "env=pendulum", "env.max_steps=20", "env.lanes=4", "policy=constant", "perturbation=gaussian_action",
        "levels=[0,0.1]", "episodes=5", "seeds=[0]", "steps=40", "folder=out", script=SCRIPT,
    )  # fmt: skip
    assert "3/4 retrain: sac (suits the environment)" in done.stdout
    assert "no success is defined, so 90 % of the clean return count" in done.stdout
    assert json.loads((shell.folder / "out" / "result.json").read_text())["measure"] == "normalised_return"


# Teacher


def teach(env: str, **policy) -> tuple[str, bool, int | None, str]:
    from brittlestar.cells.auto_env import _option
    from brittlestar.studies.hardening.retraining import find_teacher

    target = policy or {"_target_": "brittlestar.policies.RandomPolicy"}
    teacher = find_teacher({"algo": None, "steps": None, "policy": target, "env": _option(env)})
    return teacher.algo["name"], teacher.algo["goals"], teacher.steps, teacher.why


@pytest.mark.parametrize(
    ("env", "name", "goals"),
    [("FetchReach-v4", "sac", True), ("CartPole-v1", "ppo", False), ("Pendulum-v1", "sac", False)],
)
def test_a_policy_that_never_learnt_gets_what_suits_the_environment(env, name, goals):
    assert teach(env) == (name, goals, None, "suits the environment")


def test_an_agent_learns_as_it_learnt(tmp_path):
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    file = tmp_path / "final" / "policy.zip"
    file.parent.mkdir()
    stable_baselines3.A2C("MlpPolicy", "CartPole-v1", device="cpu").save(file)
    node = {"_target_": "brittlestar.policies.sb3.Sb3Policy", "path": str(file)}
    assert teach("CartPole-v1", **node) == ("a2c", False, None, "the policy was trained with a2c")
    algo = {"_target_": "brittlestar.training.algorithms.Algorithm", "name": "trpo", "goals": False}
    noted = {"algo": algo, "steps": 77, "env": {"id": "CartPole-v1"}}
    (tmp_path / "config.json").write_text(json.dumps(noted))
    assert teach("CartPole-v1", **node) == ("trpo", False, 77, "as the policy was trained")
    (tmp_path / "config.json").write_text(json.dumps(noted | {"env": {"id": "Acrobot-v1"}}))
    assert teach("CartPole-v1", **node)[0] == "a2c"


def test_a_policy_of_the_zoo_learns_by_its_recipe():
    node = {"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "cartpole_ppo"}
    assert teach("CartPole-v1", **node) == ("ppo", False, None, "as the policy was trained")


# Mistakes on the command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["policy=random", "perturbation=gausian_observation"], "did you mean `gaussian_observation`?"),
        (["policy=random", "perturbation=none"], "`perturbation=none` has no strength to harden against"),
        (["policy=sb3", "policy.path=no.zip"], "there is no file"),
        (["policy=random", "levles=[0,1]"], "did you mean `levels`?"),
        (["policy=random", "levels=[0,0.1]", "episodes=2", "seeds=[0]"], "the policy fails already at level 0"),
    ],
)
def test_a_mistake_is_one_line_and_not_zero(shell, arguments, message):
    done = shell("env=cartpole", "folder=out", *arguments, script=SCRIPT, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("brittlestar: ") and message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_help_explains_every_key(shell):
    text = shell("--help", script=SCRIPT).stdout
    for line in (
        (config_folder() / "harden.yaml").read_text().partition("\n\n")[2].partition("\nhydra:")[0].splitlines()
    ):
        assert line.startswith("#") or not line or f"{line.partition(':')[0]}=" in text
