"""The ranking of real sweeps: tables, pages, figures, and one line for a mistake."""

import csv
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.reports.summary import summarise
from brittlestar.studies.stress.leaderboard_report import write_leaderboard
from brittlestar.sweeps.launch import run_into

ROOT = Path(__file__).parents[3]
INVERSION = "valence_inversion"
AGENTS = {"zoo/cartpole_ppo": "ppo", "zoo/cartpole_dqn": "dqn", "random": ""}


def command(folder: Path, *arguments: str):
    words = [sys.executable, str(ROOT / "scripts" / "leaderboard.py"), *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory, make_job, run_study) -> Path:
    """Two real sweeps: three agents in one environment, one in another."""
    folder = tmp_path_factory.mktemp("sweeps")
    noises = ("baseline", "trust_violation", "observation_noise", INVERSION)
    agents = {"first": ("cartpole", AGENTS, (0, 1)), "second": ("pendulum", ["random"], (0,))}
    for name, (env, policies, seeds) in agents.items():
        jobs = [
            make_job(folder / name, noise, seed, env=env, agent=policy, max_steps=30, phase=10)
            for policy, noise, seed in itertools.product(policies, noises, seeds)
        ]
        assert set(run_study(jobs, folder / name)) == {"done"}
    return folder


def read(path: Path) -> list[dict]:
    return json.loads(path.read_text())


def test_the_command_ranks_real_sweeps(sweeps, tmp_path, check_latex):
    done = command(sweeps, "first", "second", "--out", str(tmp_path), "--no-figures")
    assert done.returncode == 0, done.stderr
    rows = read(tmp_path / "leaderboard.json")
    assert [(row["env"], row["n_seeds"], row["n_agents"]) for row in rows] == [("cartpole", 2, 3)] * 3 + [
        ("pendulum", 1, 1)
    ]
    assert {row["policy"]: row["algorithm"] for row in rows} == AGENTS
    assert sorted(row["rank_robust_overall"] for row in rows)[0] == 1
    assert all(0 <= row["compat_score"] <= 1 for row in rows)
    for part in ("stability", "compat score", "return and stability", "under valence_inversion", f"{tmp_path}/"):
        assert part in done.stdout
    page = (tmp_path / "leaderboard.md").read_text()
    assert "return and stability" in page and "2000 resamples" in page and "note: " in page
    html = (tmp_path / "leaderboard.html").read_text()
    assert f"page     {tmp_path}/leaderboard.html" in done.stdout
    assert html.count("<li><strong>") == 4 and "rank 1" in html and "Return and stability" in html
    for name in ("leaderboard", "stress", "false_alarms"):
        check_latex((tmp_path / f"{name}.tex").read_text())
    for suffix in ("csv", "json", "parquet", "md"):
        assert all((tmp_path / f"{name}.{suffix}").is_file() for name in ("leaderboard", "correlations"))


@pytest.mark.parametrize("scoring", ["rigorous", "compat_1_4", "compat_1_0"])
def test_the_order_of_folders_changes_nothing(sweeps, tmp_path, scoring):
    folders, outs = [str(sweeps / "first"), str(sweeps / "second")], [tmp_path / "ab", tmp_path / "ba"]
    for order, out in zip((folders, folders[::-1]), outs, strict=True):
        write_leaderboard(order, out, {"scoring": scoring}, figures=False)
    names = sorted(path.name for path in outs[0].iterdir())
    assert len(names) == 12 and "leaderboard.html" in names
    for name in names:
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes()


@pytest.mark.slow
def test_figures_are_drawn(sweeps, tmp_path):
    pytest.importorskip("brittlestar.studies.stress.figures")
    output = write_leaderboard([str(sweeps / "first"), str(sweeps / "second")], tmp_path)
    drawn = list((tmp_path / "figures").glob("*.png"))
    assert drawn and "figures  " in output
    assert all(path.with_suffix(".pdf").is_file() and path.stem in output for path in drawn)


def test_the_table_of_runs(sweeps):
    summarise([str(sweeps / "first")], sweeps / "first")
    with open(sweeps / "first" / "stress_runs.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 4 * 2
    stress = {(row["policy"], row["perturbation"]): row for row in read(sweeps / "first" / "stress.json")}
    episodes = read(sweeps / "first" / "stress_episodes.json")
    for (policy, noise), row in stress.items():
        mine = [run for run in rows if (run["policy"], run["perturbation"]) == (policy, noise)]
        assert [run["seed"] for run in mine] == ["0", "1"]
        for name in ("rate_pre", "rate_shock", "rate_post", "competence_shock", "cvar_25"):
            assert np.mean([float(run[name]) for run in mine]) == pytest.approx(row[name])
        # Random actions do not hang on what is seen.
        blind = noise == INVERSION or (policy, noise) == ("random", "observation_noise")
        assert {run["reward_only"] for run in mine} == {str(blind)}
        assert {run["is_baseline"] for run in mine} == {str(noise == "baseline")}
        for run in mine:
            own = [
                e for e in episodes if (e["policy"], e["perturbation"], str(e["seed"])) == (policy, noise, run["seed"])
            ]
            pre, shock = (np.mean([e["return"] for e in own if e["phase"] == phase]) for phase in ("pre", "shock"))
            assert float(run["normalised_return"]) == pytest.approx((pre - 21.82) / (475.0 - 21.82))
            assert float(run["return_degradation"]) == pytest.approx((pre - shock) / pre)
            assert float(run["return_mean"]) == pytest.approx(np.mean([e["return"] for e in own]))
            assert float(run["identity"]) == pytest.approx(np.mean([e["identity"] for e in own]))
    assert {(run["algorithm"], run["on_policy"]) for run in rows} == {("ppo", "True"), ("dqn", "False"), ("", "")}
    assert {run["discrete"] for run in rows} == {run["deterministic"] for run in rows} == {"True"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: DIR"),
        (["nowhere"], "no folder at nowhere"),
        (["first", "study.scoring=compat_14"], "did you mean `compat_1_4`"),
        (["first", "study.alpha=1.5"], "`alpha` must be between 0 and 1, got 1.5"),
    ],
)
def test_mistakes_get_one_line(sweeps, arguments, message):
    done = command(sweeps, *arguments)
    assert done.returncode != 0 and message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not done.stdout


def test_a_sweep_without_recorded_behaviour_is_refused(tmp_path, make_cell, save_cells):
    save_cells(tmp_path / "plain", [make_cell()])
    with pytest.raises(UserError, match="plain: no finished cell has recorded behaviour .* experiment=stress"):
        write_leaderboard([str(tmp_path / "plain")], tmp_path)


def test_sweeps_of_several_scorings_need_a_choice(sweeps, tmp_path, make_job, option):
    job = make_job(tmp_path, "trust_violation", study=option("study", "stress", scoring="compat_1_4"))
    assert run_into(tmp_path, job).status == "done"
    several = "several `study.scoring`: compat_1_4, rigorous; choose by `study.scoring=VALUE`"
    with pytest.raises(UserError, match=several):
        write_leaderboard([str(sweeps / "second"), str(tmp_path)], tmp_path)


def test_without_a_reference_pass_there_is_no_score(tmp_path, make_job):
    assert run_into(tmp_path, make_job(tmp_path, "trust_violation")).status == "done"
    with pytest.raises(UserError, match="has no reference pass in this sweep"):
        write_leaderboard([str(tmp_path)], tmp_path)
