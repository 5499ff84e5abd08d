"""Agents against each other: ranks and their intervals, correlations, LaTeX, and the command."""

import math
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from brittlestar.engine.behaviour import Behaviour, Layout
from brittlestar.errors import UserError
from brittlestar.statistics.intervals import wilson
from brittlestar.studies.stress import latex
from brittlestar.studies.stress.agents import Agent, Run, StressorRuns
from brittlestar.studies.stress.figures.rows import Mean, prepare_tables
from brittlestar.studies.stress.latex import LONGEST, stacked
from brittlestar.studies.stress.leaderboard import correlation_rows, make_leaderboard
from brittlestar.studies.stress.paper_tables import false_alarm_table, leaderboard_table, stress_table
from brittlestar.studies.stress.runs import run_rows
from brittlestar.studies.stress.scoring import Episodes, Scored, thirds
from brittlestar.studies.stress.tables import stress_tables

LAYOUT = Layout(actions=2)
INVERSION = "valence_inversion"


def make_run(
    rng, seed: int, rate: float, value: float = 100.0, digest: int = 0, episodes: int = 60, calm: float = 0.05
) -> Run:
    """A run whose shock has events at a rate; its actions are those of all runs with the same digest."""
    phases = thirds(episodes)
    shock = np.array([phase == "shock" for phase in phases])
    values = np.zeros((episodes, len(LAYOUT.columns)))
    returns = value + np.random.default_rng(seed).normal(size=episodes)
    for name, column in {"length": 10, "return": returns, "digest": np.where(shock, digest, 0)}.items():
        values[:, LAYOUT.columns.index(name)] = column
    event = rng.random(episodes) < np.where(shock, rate, calm)
    identity = 0.9 - 0.5 * event
    channels = np.tile(identity[:, None], (1, 5))
    scored = Scored(phases, returns, channels, identity, 1 - identity, event, 0.5, 0.5, False)
    return Run(seed, Episodes(Behaviour(LAYOUT, values), phases), scored, phases)


def make_agent(rng, policy="a", rates=(0.3, 0.6), seeds=(0, 1, 2), env="cartpole", spread=0.0, baseline=True, **values):
    """An agent with a baseline, a stressor for each rate, and inverted rewards, which change no action."""
    calm = {seed: make_run(rng, seed, values.get("calm", 0.05), **values) for seed in seeds}
    stressors = [StressorRuns(stressor("baseline", 0.0), list(calm.values()), is_baseline=True)] if baseline else []
    for i, rate in enumerate(rates):
        shifted = [float(np.clip(rate + spread * rng.normal(), 0, 1)) for _ in seeds]
        runs = [make_run(rng, seed, own, digest=i + 1, **values) for seed, own in zip(seeds, shifted, strict=True)]
        stressors.append(StressorRuns(stressor(f"noise_{i}", 1.0), runs))
    stressors.append(StressorRuns(stressor(INVERSION, 1.0), [calm[seed] for seed in seeds]))
    config = {"env": {"id": f"{env}-v1", "returns": {"random": 20.0, "reference": 120.0}}, "deterministic": True}
    return Agent({"env": env, "policy": policy}, stressors, config | {"policy": {"_target_": "RandomPolicy"}})


def stressor(name: str, strength: float) -> dict:
    return {"perturbation": name, "strength_name": "level", "strength": strength}


def board(agents, scoring="rigorous"):
    return make_leaderboard(agents, scoring).rows


def test_numbers_by_hand(rng):
    (row,) = board([make_agent(rng, rates=(1.0, 1.0), value=70.0)])
    assert row["rate_shock"] == 1.0
    assert row["n_stressors"] == 2, "inverted rewards change no agent"
    assert 0.9 < row["excess"] <= 1.0
    assert row["stability"] == pytest.approx(1 - row["excess"])
    assert row["normalised_return"] == pytest.approx(0.5, abs=0.01)
    assert row["robust_score"] == pytest.approx(0.55 * row["identity"])
    assert row["robust_score_bare"] == row["robust_score"], "the only agent has reward_norm 0"


def test_in_compat_every_stressor_has_a_rate(rng):
    agents = [make_agent(rng, rates=(1.0, 1.0))]
    (row,) = board(agents, "compat_1_4")
    inverted = [run.scored.event[run.scored.within("shock")].mean() for run in agents[0].stressors[-1].runs]
    assert row["n_stressors"] == 3
    assert row["rate_shock"] == pytest.approx((1 + 1 + np.mean(inverted)) / 3)
    assert row["rate_inverted"] == pytest.approx(np.mean(inverted))
    assert row["stability"] < 0.1, "which inverted rewards cannot lift"


def test_a_stable_agent_is_not_taken_for_a_stressor_without_effect(rng):
    firm, other = make_agent(rng, "firm"), make_agent(rng, "other")
    for each in firm.stressors[1:]:
        each.runs = firm.stressors[0].runs
    rows = {row["policy"]: row for row in board([firm, other])}
    assert rows["firm"]["stability"] == 1.0
    assert rows["firm"]["n_stressors"] == rows["other"]["n_stressors"] == 2


def test_better_agents_rank_first(rng):
    agents = [make_agent(rng, name, (rate, rate)) for name, rate in (("c", 0.9), ("a", 0.1), ("b", 0.5))]
    for scoring in ("rigorous", "compat_1_4"):
        rows = board(agents, scoring)
        assert [row["policy"] for row in rows] == ["a", "b", "c"]
        assert [row["rank_stability"] for row in rows] == [row["rank_robust"] for row in rows] == [1, 2, 3]
        assert [row["rank_stability_low"] for row in rows] == [row["rank_stability_high"] for row in rows] == [1, 2, 3]


def test_intervals_hold_the_rank(rng):
    seeds = [(0,), (0, 1), (0, 1, 2), (3, 4, 5, 6)]
    agents = [make_agent(rng, str(i), rng.random(2), seeds[i % 4], "xy"[i % 2], 0.1) for i in range(12)]
    for row in board(agents):
        for name in ("rank_robust", "rank_stability", "rank_robust_overall", "rank_stability_overall"):
            assert 1 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 12
        for name in ("robust_score", "stability"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
        assert row["n_agents"] == 6
        assert "2000 resamples" in row["interval_method"]


def test_seeds_that_agree_by_chance_do_not_settle_a_rank(rng):
    """Two agents with the same rate in both seeds, one episode apart: the episodes say that it may be luck."""
    agents = [make_agent(rng, name, (0.5,), (0, 1)) for name in "ab"]
    for agent, hits in zip(agents, (10, 11), strict=True):
        for run in agent.stressors[0].runs + agent.stressors[1].runs:
            run.scored.event[:] = False
        for run in agent.stressors[1].runs:
            run.scored.event[np.flatnonzero(run.scored.within("shock"))[:hits]] = True
    rows = board(agents)
    assert [row["excess"] for row in rows] == [0.5, 0.55]
    for row in rows:
        assert (row["rank_stability_low"], row["rank_stability_high"]) == (1, 2)
        assert row["stability_high"] - row["stability_low"] > 0.2


def test_agents_in_a_tie_share_their_rank(rng):
    twins = [make_agent(np.random.default_rng(7), name) for name in "ab"]
    rows = board([*twins, make_agent(rng, "c", (1.0, 1.0))])
    assert [(row["rank_stability"], row["rank_stability_low"], row["rank_stability_high"]) for row in rows] == [
        (1, 1, 2), (1, 1, 2), (3, 3, 3)
    ]  # fmt: skip
    assert rows[0]["pareto"] is rows[1]["pareto"] is True


def test_the_order_of_agents_changes_nothing(rng):
    agents = [make_agent(rng, str(i), rng.random(2), env="xy"[i % 2]) for i in range(6)]
    assert board(agents) == board(agents[::-1])


def test_without_a_baseline_there_is_no_stability(rng):
    leaderboard = make_leaderboard([make_agent(rng, "a"), make_agent(rng, "b", baseline=False)], "rigorous")
    (row,) = [row for row in leaderboard.rows if row["policy"] == "b"]
    assert math.isnan(row["stability"]) and row["rank_stability"] is None and row["pareto"] is None
    assert row["rank_robust"] in (1, 2)
    assert any("no baseline to compare with" in note and "b in cartpole" in note for note in leaderboard.notes)
    assert leaderboard.rows[0]["rank_stability_high"] == 1, "no other agent has a rank"


def test_notes_tell_what_cannot_be_compared(rng):
    agents = [make_agent(rng, "a", (0.1,)), make_agent(rng, "b", (0.1, 0.5), seeds=(0,))]
    del agents[1].config["env"]["returns"]
    notes = "\n".join(make_leaderboard(agents, "rigorous").notes)
    for part in ("under valence_inversion: left out", "different stressors", "`env.returns`", "agents with one seed"):
        assert part in notes


def test_only_a_baseline_is_refused(rng):
    agent = make_agent(rng)
    agent.stressors = agent.stressors[:1]
    with pytest.raises(UserError, match="no cell with stress"):
        make_leaderboard([agent], "rigorous")


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.0), (3, 0.0), (3, 0.1), (6, 0.1)])
def test_rank_intervals_cover_the_true_rank(rng, seeds, spread):
    """Agents whose true order is known, some close together: 95 % intervals hold their true ranks."""
    true = np.array([0.2, 0.3, 0.35, 0.5, 0.8])
    covered = total = single = 0
    for _ in range(150):
        agents = [make_agent(rng, str(i), (r, r), tuple(range(seeds)), spread=spread) for i, r in enumerate(true)]
        for row in board(agents):
            rank = int(row["policy"]) + 1
            covered += row["rank_stability_low"] <= rank <= row["rank_stability_high"]
            single += row["rank_stability_low"] == row["rank_stability_high"]
            total += 1
    assert covered / total >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / total)
    assert single > 0.05 * total, "intervals that hold every rank would cover, too"


def test_the_reward_term_alone_can_turn_a_correlation(rng):
    """The better the return, the worse the behaviour: the published score hides it."""
    agents = [make_agent(rng, str(i), (0.2 + 0.05 * i,) * 2, value=20.0 + 10 * i) for i in range(8)]
    rows = {row["correlation"]: row for row in correlation_rows(board(agents))}
    assert rows["return and stability"]["pearson"] < -0.8
    assert rows["reward_norm and robust score without its reward term"]["pearson"] < -0.8
    assert rows["reward_norm and robust score"]["pearson"] > 0
    assert rows["reward_norm and CR_shock under valence_inversion"]["n"] == 8


@pytest.mark.parametrize("scoring", ["rigorous", "compat_1_4"])
def test_the_latex_tables(rng, check_latex, scoring):
    agents = [make_agent(rng, f"my_{i}", (0.2, 0.9), env=f"env_{i}") for i in range(2)]
    rows = check_latex(leaderboard_table(board(agents, scoring), scoring, ["env", "policy"]))
    assert rows[0][:3] == ["policy", stacked("return"), stacked("stability")]
    assert [row[0] for row in rows[1:]] == [r"my\_0", r"my\_1"]
    rates = check_latex(stress_table(run_rows(agents, scoring), scoring))
    assert rates[0][1:] == [
        stacked(*words) for words in (["baseline"], ["noise", "0"], ["noise", "1"], ["valence", "inversion"])
    ]
    assert (rates[1][-1] == "--") == (scoring == "rigorous"), "identical actions are no collapse"
    low, high = map(float, re.search(r"\[(.*), (.*)\]", rates[1][3]).groups())
    assert 0.7 < low < 0.9 < high <= 1.0
    alarms = check_latex(false_alarm_table(agents, scoring, 0.05))
    assert [row[:3] for row in alarms[1:]] == [
        [f"env\\_{i}-v1", "1", str(180 if scoring == "rigorous" else 120)] for i in range(2)
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex (texlive-latex-recommended)")
@pytest.mark.parametrize("most_rows", [LONGEST, 1])
def test_latex_sets_the_tables_within_the_page(rng, tmp_path, monkeypatch, most_rows):
    monkeypatch.setattr(latex, "LONGEST", most_rows)
    agents = [make_agent(rng, f"zoo/mountain_car_continuous_{i}", (0.2, 0.9), env=f"env_{i}") for i in range(2)]
    rows = [row | {"compat_score": 0.5, "deterministic": True} for row in board(agents, "rigorous")]
    tables = [
        leaderboard_table(rows, "rigorous", ["env", "policy", "deterministic"]),
        stress_table(run_rows(agents, "rigorous"), "rigorous"),
        false_alarm_table(agents, "rigorous", 0.05),
    ]
    head = r"\documentclass[a4paper]{article}\usepackage{booktabs,longtable}\usepackage[margin=2cm]{geometry}"
    text = "\n".join([head, r"\begin{document}", *tables, r"\end{document}"])
    (tmp_path / "tables.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "Overfull" not in done.stdout and "too large" not in done.stdout, done.stdout


@pytest.mark.parametrize("version", ["compat_1_4", "compat_1_0"])
def test_published_formula_on_published_rows(version):
    """Both agents of the reference as if in one environment: every number of the score comes from its summary."""
    reader = runpy.run_path(str(Path(__file__).with_name("test_published_scores.py")))
    files = [path for path in reader["FILES"] if path.stem.startswith(version)]
    agents, expected = [], {}
    for path in files:
        study, scored = reader["read_study"](path), reader["scored"](path)
        runs = [
            StressorRuns(stressor(name, float(name != "baseline")), [Run(0, study[name], one, list(one.phases))])
            for name, one in scored.items()
        ]
        runs[0].is_baseline = runs[0].name == "baseline"
        config = {"env": {"id": "golden"}, "policy": {}, "deterministic": True}
        agents.append(Agent({"env": "golden", "policy": path.stem}, runs, config))
        rows = [row for name, row in reader["facts"](path)["summary"].items() if name != "baseline"]
        columns = ("identity_mean", "collapse_rate_shock", "reward_mean")
        expected[path.stem] = [np.mean([row[name] for row in rows]) for name in columns]
    returns = [values[2] for values in expected.values()]
    for row in board(agents, version):
        identity, rate, value = expected[row["policy"]]
        assert [row["identity"], row["rate_shock"], row["return_mean"]] == pytest.approx([identity, rate, value])
        normed = (value - min(returns)) / (max(returns) - min(returns)) if len(returns) > 1 else 0.0
        assert row["robust_score"] == pytest.approx(0.55 * identity + 0.30 * (1 - rate) + 0.15 * normed, abs=1e-6)


@pytest.mark.parametrize(("scoring", "seeds"), [("rigorous", (0,)), ("rigorous", (0, 1)), ("compat_1_4", (0, 1))])
def test_no_interval_leaves_the_range_of_its_measure(rng, check_intervals, scoring, seeds):
    """Few seeds that differ much: Student's t alone would print a stability above 1, and a recovery below 0."""
    agents = [make_agent(rng, name, rng.random(2), seeds, spread=1.0, episodes=9) for name in "ab"]
    rows = make_leaderboard(agents, scoring).rows
    assert check_intervals([{k: v for k, v in row.items() if "rank" not in k} for row in rows]) == 2 * len(rows)
    stress = stress_tables(agents, scoring, 0.05).stress
    assert check_intervals(stress) > 5 * len(stress)
    figures = prepare_tables(stress, run_rows(agents, scoring), [], rows)
    for name in ("rate_shock", "excess", "false_alarms", "identity_drop", "recovery_episodes", "integrity_shock"):
        mean = Mean.over_policies(figures.stress, name)
        assert check_intervals([{"x": mean.n, name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}])


def test_an_agent_is_at_most_stable(rng):
    """Without stress some of its episodes collapse, with stress none."""
    agent = make_agent(rng, rates=(0.0, 0.0))
    for run in agent.stressors[0].runs:
        run.scored.event[:] = True
    for each in agent.stressors[1:3]:
        for run in each.runs:
            run.scored.event[:] = False
    (row,) = board([agent])
    assert row["excess"] == -1.0
    assert (row["stability_low"], row["stability"], row["stability_high"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("seeds", [(0,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize(("rates", "stability"), [((1.0, 1.0), 0.0), ((0.0, 0.0), 1.0), ((1.0, 0.0), 0.5)])
def test_episodes_that_all_agree_leave_an_interval_as_wide_as_wilsons(rng, seeds, rates, stability):
    (row,) = board([make_agent(rng, rates=rates, seeds=seeds, calm=0.0)])
    shock_episodes = 20 * len(seeds)
    bound = wilson(0, shock_episodes).high
    assert row["stability"] == stability
    share = 0.25 if stability == 0.5 else 1.0
    assert row["stability_low"] <= max(0.0, stability - share * bound) + 0.01
    assert row["stability_high"] >= min(1.0, stability + share * bound) - 0.01
    assert row["stability_high"] - row["stability_low"] <= 1.3 * bound
    assert row["robust_score_high"] - row["robust_score_low"] >= 0.3 * bound / 2
    assert 0 <= row["stability_low"] <= stability <= row["stability_high"] <= 1
