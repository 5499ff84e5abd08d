"""A whole hardening: killed in every stage it resumes, and its tables are those of its cells."""

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
from scipy.stats import binomtest

from brittlestar.config import config_folder
from brittlestar.results.load import load_cells

ROOT = Path(__file__).parents[3]
SCRIPT = "scripts/harden.py"
POLICY = "def balance(seen):\n    return int(seen[2] + 0.3 * seen[3] + 0.02 * seen[0] + 0.05 * seen[1] > 0)\n"
SHORT = ["env=cartpole", "env.max_steps=30", "env.success.threshold=30", "env.lanes=8"]
BASE = [*SHORT, "policy=callable", "policy.path=mine:balance", "perturbation=gaussian_observation", "folder=out"]
ARC = [*BASE, "levels=[0,0.1,0.3,1]", "episodes=20", "seeds=[0,1]", "algo=ppo", "steps=1024", "save_every=256"]
LEVELS, STEPS = [0, 0.1, 0.3, 1], 1024
CELLS = 8
ALL_CACHED = f"{CELLS}/{CELLS} cells: 0 done, 0 failed, {CELLS} cached, 0 running"


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
    return len(list((folder / where).glob("**/*.cell")))


def saved_steps(folder: Path) -> list[int]:
    curves = list((folder / "outputs" / "training").glob("*/curve.jsonl"))
    return [json.loads(line)["steps"] for line in curves[0].read_text().splitlines()] if curves else []


@pytest.mark.slow
def test_stopped_in_every_stage_it_goes_on(arc, folder, tmp_path, one_core):
    code, _, error = stop_when(tmp_path, lambda: cells(tmp_path, "outputs/store") > 0, signal.SIGINT)
    assert code == 130 and "the same command continues" in error
    stored = cells(tmp_path, "outputs/store")
    assert 1 <= stored < CELLS

    code, out, error = stop_when(tmp_path, lambda: len(saved_steps(tmp_path)) >= 2)
    assert code == -signal.SIGKILL and "3/4" in out and "4/4" not in out
    assert f"{CELLS}/{CELLS} cells: {CELLS - stored} done, 0 failed, {stored} cached" in error
    chosen, steps = (tmp_path / "out" / "choice.json").read_bytes(), saved_steps(tmp_path)
    assert not (tmp_path / "out" / "result.json").exists()

    code, out, error = stop_when(tmp_path, lambda: cells(tmp_path, "out/after") > 0)
    assert code == -signal.SIGKILL and "4/4" in out
    assert ALL_CACHED in error
    # The first ones were not learnt again.
    assert saved_steps(tmp_path)[: len(steps)] == steps
    assert saved_steps(tmp_path) == sorted(saved_steps(tmp_path)) and saved_steps(tmp_path)[-1] == STEPS
    stored = cells(tmp_path, "outputs/store")

    done = finish(tmp_path)
    assert "done before" in done["out"] and ALL_CACHED in done["err"]
    assert f"{CELLS}/{CELLS} cells: {2 * CELLS - stored} done, 0 failed, {stored - CELLS} cached" in done["err"]
    assert (tmp_path / "out" / "choice.json").read_bytes() == chosen == (folder / "out" / "choice.json").read_bytes()
    for level, rows in values(tmp_path, "before", "return").items():
        assert np.array_equal(rows, values(folder, "before", "return")[level])


def test_a_second_time_nothing_is_computed_and_the_same_is_said(arc, folder):
    again = finish(folder)
    assert again["err"].splitlines() == [ALL_CACHED, ALL_CACHED]
    assert again["out"].partition("4/4")[2] == arc["out"].partition("4/4")[2]


def values(folder: Path, side: str, column: str) -> dict[float, np.ndarray]:
    """The episodes of both seeds at each level, read from the cells."""
    rows_by_level = {}
    for cell in sorted(load_cells([folder / "out" / side]), key=lambda cell: (cell.strength, cell.seed)):
        rows_by_level.setdefault(cell.strength, []).append(cell.rows()[:, list(cell.manifest["columns"]).index(column)])
    return {level: np.concatenate(rows) for level, rows in rows_by_level.items()}


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
        words = [f"{level}", f"{b.mean():.4g}", f"{a.mean():.4g}"]
        gain = re.escape(f"{a.mean() - b.mean():+.4g} [")
        assert re.search(r"\| success_final \|\s+" + r" \|\s+".join(map(re.escape, words)) + rf" \| {gain}", arc["out"])
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


@pytest.mark.slow
def test_a_study_of_returns_says_that_there_is_no_success(shell, one_core):
    done = shell(
        "env=pendulum", "env.max_steps=20", "env.lanes=4", "policy=constant", "perturbation=gaussian_action",
        "levels=[0,0.1]", "episodes=5", "seeds=[0]", "steps=40", "folder=out", script=SCRIPT,
    )  # fmt: skip
    assert "1/4 diagnose: 2 levels of sigma x 1 seed x 5 episodes, in out" in done.stdout
    assert "3/4 retrain: sac (suits the environment)" in done.stdout
    assert "no success is defined, so 90 % of the clean return count" in done.stdout
    assert json.loads((shell.folder / "out" / "result.json").read_text())["measure"] == "normalised_return"


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
