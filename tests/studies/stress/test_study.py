"""Stress studies on the engine: recorded, stored, scored, whatever the lanes."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job, resolve
from brittlestar.cells.record import BEHAVIOUR, TRAJECTORIES, Record
from brittlestar.errors import UserError
from brittlestar.reports.summary import summarise
from brittlestar.results.load import load_cells
from brittlestar.studies.stress.agents import agent_key, split_passes
from brittlestar.studies.stress.study import StressPhases
from brittlestar.sweeps.launch import run_into

STRESSORS = (
    "baseline", "concept_drift", "resource_constraint", "trust_violation", "valence_inversion", "observation_noise",
    "sensor_blackout", "reward_noise",
)  # fmt: skip


def behaviour(job: Job) -> np.ndarray:
    return stored(job).arrays[BEHAVIOUR]


def stored(job: Job) -> Record:
    outcome = cell.run(job)
    assert outcome.status in ("done", "cached"), outcome.error
    return cell.reuse(resolve(job))


@pytest.fixture(scope="module")
def study(tmp_path_factory, make_job, run_study) -> Path:
    """All stressors of one agent, two seeds, with their reference passes."""
    folder = tmp_path_factory.mktemp("study")
    jobs = [make_job(folder, stressor, seed) for stressor in STRESSORS for seed in (0, 1)]
    assert set(run_study(jobs, folder)) == {"done"}
    return folder


@pytest.fixture(scope="module")
def table(study) -> dict[str, dict]:
    _, output, _ = summarise([str(study)], study)
    rows = {row["perturbation"]: row for row in json.loads((study / "stress.json").read_text())}
    assert "cannot affect behaviour" in output
    return rows


@pytest.mark.parametrize("stressor", ["concept_drift", "sensor_blackout", "trust_violation"])
def test_lanes_change_nothing(stressor, tmp_path, make_job, option):
    carried = {} if stressor == "trust_violation" else {"perturbation": option("perturbation", stressor, carry="shock")}
    tables = [behaviour(make_job(tmp_path / str(lanes), stressor, lanes=lanes, **carried)) for lanes in (1, 3, 16)]
    assert np.array_equal(tables[0], tables[1])
    assert np.array_equal(tables[0], tables[2])


def test_a_published_drift_continues_in_the_next_episode(tmp_path, make_job, option):
    published = option("perturbation", "concept_drift", protocol="compat_1_4")
    manifest, arrays = stored(make_job(tmp_path / "drift", "concept_drift", perturbation=published))
    drift, restarted = arrays[BEHAVIOUR], behaviour(make_job(tmp_path / "restarted", "concept_drift"))
    column = list(manifest["behaviour_columns"]).index("regret")
    assert (drift[:12, column] == 0).all()
    assert (drift[24:, column] == 0).all()
    assert (drift[12:24, column] > 0).all()
    assert not np.array_equal(drift[13:24], restarted[13:24])


@pytest.mark.parametrize("stressor", ["concept_drift", "sensor_blackout"])
def test_no_episode_runs_twice_if_lengths_are_predictable(stressor, tmp_path, monkeypatch, make_job, option):
    from brittlestar.engine.rollout import _Run

    rolled, roll = [], _Run._roll
    monkeypatch.setattr(
        _Run, "_roll", lambda run, episodes, *rest: (rolled.append(episodes), roll(run, episodes, *rest))
    )
    carried = option("perturbation", stressor, carry="shock")
    behaviour(make_job(tmp_path, stressor, env="pendulum", perturbation=carried))
    assert rolled[-1] == list(range(36)), "no episode runs twice"


def test_one_reference_pass_serves_all_stressors(study):
    cells, passes = split_passes(load_cells([study]))
    assert len(cells) == 16
    assert len(passes) == 2
    assert {agent_key(one.config) for one in cells} == {agent_key(one.config) for one in passes}
    starts = [one.rows()[:, 1] for one in (*cells[:1], *passes)]
    assert len(set(np.concatenate(starts).tolist())) == 36 + 2 * 230, "no start state is used twice"


def test_a_finished_study_is_found_again(study, tmp_path, make_job, run_study):
    jobs = [make_job(study, stressor) for stressor in STRESSORS]
    assert set(run_study(jobs, tmp_path)) == {"cached"}
    assert all(BEHAVIOUR in one.manifest["files"] for one in load_cells([tmp_path]))


def test_scoring_is_no_part_of_a_cell(tmp_path, make_job):
    names = [{}, {"study": {"scoring": "compat_1_4"}, "role": "reference"}, {"record": None}]
    hashes = [resolve(make_job(tmp_path, "valence_inversion", **values)).cell for values in names]
    assert hashes[0] == hashes[1] != hashes[2]


def test_rewards_cannot_affect_a_frozen_policy(table):
    for stressor in ("valence_inversion", "reward_noise"):
        assert table[stressor]["verdict"] == "cannot affect behaviour: identical actions in 24 of 24 episodes"
        assert table[stressor]["rate_shock"] == table["baseline"]["rate_shock"]
        assert table[stressor]["excess"] == 0


def test_every_number_has_an_interval(table):
    for name in ("rate_pre", "rate_shock", "rate_post", "identity_drop", "meaning_drop", "return_drop", "cvar_25"):
        for row in table.values():
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    assert all(row["false_alarms"] == table["baseline"]["false_alarms"] for row in table.values())


def test_the_table_of_episodes_has_scores_and_phases(study, table):
    with open(study / "stress_episodes.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16 * 36
    assert {row["phase"] for row in rows} == {"pre", "shock", "post"}
    events = [row["event"] == "True" for row in rows if row["perturbation"] == "baseline"]
    assert np.mean(events) == pytest.approx(table["baseline"]["false_alarms"])
    for name in ("stress_timeline", "stress_radar"):
        assert (study / f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("scoring", ["compat_1_4", "compat_1_0"])
def test_the_same_cells_score_as_published(study, scoring, tmp_path):
    tmp_path.joinpath("out").mkdir()
    summarise([str(study)], tmp_path / "out", settings={"scoring": scoring})
    rows = {row["perturbation"]: row for row in json.loads((tmp_path / "out" / "stress.json").read_text())}
    # The published slip: the stressor's own bookkeeping counts, though no action is another one.
    assert rows["valence_inversion"]["identity_drop"] > rows["baseline"]["identity_drop"] + 0.1
    assert rows["valence_inversion"]["verdict"].startswith("cannot affect behaviour")


def test_an_unknown_scoring_is_refused(study, tmp_path):
    with pytest.raises(UserError, match="did you mean `compat_1_4`"):
        summarise([str(study)], tmp_path, settings={"scoring": "compat_14"})


def test_too_few_reference_episodes_are_refused_before_anything_runs():
    with pytest.raises(UserError, match="needs at least 230 reference episodes"):
        StressPhases(reference=60)
    assert StressPhases(reference=60, scoring="compat_1_4").reference == 60


@pytest.mark.slow
def test_overrides_of_a_reference_pass_compose_to_its_config(shell):
    """Any launcher runs a reference pass: its overrides alone give the config that the study means."""
    words = ["experiment=stress", "perturbation=baseline,trust_violation", "env.max_steps=20", "episodes=9", "seed=0,1"]
    _, folder = shell.sweep(
        *words, "study.reference=230", "divergence=true", "stress_schedule.pre=3", "stress_schedule.shock=3"
    )
    cells, passes = split_passes(load_cells([folder]))
    assert [len(part) for part in (cells, passes)] == [4, 2]
    for one in passes:
        assert one.config["divergence"] is False and one.config["episodes"] == 230
        assert one.choice("perturbation") == "none" and one.choice("stress_schedule") == "constant"
        assert "role=reference" in one.manifest["overrides"]
    clean = ["perturbation=none", "stress_schedule=constant", "record=behaviour", "episodes=230"]
    done = shell("env=cartpole", "policy=zoo/cartpole_ppo", "env.max_steps=20", *clean, f"seed={passes[0].seed}")
    assert "230 episodes (cached)" in done.stdout, "the hash depends on what the pass computes alone"


@pytest.mark.parametrize("env", ["frozen_lake", "pendulum"])
def test_other_spaces_take_the_same_path(env, tmp_path, make_job):
    # A random policy never crosses the lake: no reward to invert, which is an error of the study, not of the agent.
    rewarded = [name for name in STRESSORS if (env, name) != ("frozen_lake", "valence_inversion")]
    for stressor in rewarded:
        assert np.isfinite(behaviour(make_job(tmp_path, stressor, env=env))).all()


def test_trajectories_are_kept_on_request(tmp_path, make_job):
    job = make_job(tmp_path, "valence_inversion", record="trajectories")
    table, arrays = behaviour(job), stored(job).arrays
    lengths, rewards, seen = (arrays[f"{TRAJECTORIES}{name}"] for name in ("lengths", "rewards", "seen_rewards"))
    assert len(arrays[f"{TRAJECTORIES}actions"]) == lengths.sum()
    assert np.array_equal(lengths, table[:, 0])
    shock = np.repeat(np.arange(36), lengths) // 12 == 1
    assert np.array_equal(seen, np.where(shock, -rewards, rewards))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "agent"), [("mountain_car", "dqn/MountainCar-v0_1"), ("cartpole", "ppo/CartPole-v1_1")]
)
def test_published_rates_come_out_live(env, agent, agents, tmp_path, make_job, option, run_study):
    """Six seeds of ours against the two published ones: no farther apart than seeds are among themselves."""
    checkpoint = agents / agent
    policy = option("policy", "zoo_folder", path=str(checkpoint))
    common = {"episodes": 120, "study": option("study", "stress", scoring="compat_1_4"), "max_steps": None, "lanes": 64}
    jobs = []
    for stressor in STRESSORS:
        perturbation = option("perturbation", stressor)
        perturbation |= {"protocol": "compat_1_4"} if "protocol" in perturbation else {}
        schedule = option("stress_schedule", "phases")
        values = common | {"perturbation": perturbation, "stress_schedule": schedule, "policy": policy}
        jobs += [make_job(tmp_path, stressor, seed, env=env, **values) for seed in range(6)]
    assert set(run_study(jobs, tmp_path)) == {"done"}
    summarise([str(tmp_path)], tmp_path)
    ours = _shock_rates(json.loads((tmp_path / "stress_runs.json").read_text()), "perturbation", "rate_shock")
    with open(Path(__file__).parents[2] / "data" / "stress" / "shock_rates.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["agent"] == agent.replace("/", "_").removesuffix("_1")]
    theirs = _shock_rates(rows, "stressor", "rate_shock")
    for stressor in STRESSORS:
        a, b = ours[stressor], theirs[stressor]
        error = max(np.std(a, ddof=1), 0.05) * np.sqrt(1 / len(a) + 1 / len(b))
        assert abs(np.mean(a) - np.mean(b)) < 3 * error, (stressor, a, b)


def _shock_rates(rows: list[dict], name: str, rate: str) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {}
    for row in rows:
        rates.setdefault(row[name], []).append(float(row[rate]))
    return rates


def test_cells_without_recorded_behaviour_are_refused(tmp_path, make_job):
    job = make_job(tmp_path, "trust_violation", record=None)
    with pytest.raises(UserError, match="add `record=behaviour`"):
        StressPhases().extra_cells([job])
    assert run_into(tmp_path, job).status == "done"
    with pytest.raises(UserError, match="no behaviour was recorded .* `record=behaviour`"):
        StressPhases().analyse(load_cells([str(tmp_path)]), tmp_path)


def test_the_page_has_a_timeline_and_a_radar_in_place_of_the_pictures(study, table):
    page = (study / "report.html").read_text()
    charts = [json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', page)]
    timeline, radar = charts
    panels = {panel["title"]: panel for panel in timeline["data"]["panels"]}
    rows = json.loads((study / "stress_episodes.json").read_text())
    scores = [row["score"] for row in rows if row["perturbation"] == "trust_violation" and row["episode"] == 20]
    shown = panels["trust violation"]
    assert [part["name"] for part in shown["shade"]] == ["pre", "shock", "post"]
    assert shown["lines"][0]["mean"][20] == pytest.approx(np.mean(scores), rel=1e-3)
    names = [row["name"] for row in radar["data"]["panels"][0]["rows"]]
    assert "trust violation" in names
    assert "reward noise" not in names, "it cannot affect behaviour"
    assert "<img" not in page
    assert f"{table['trust_violation']['verdict']}: " in page.partition("</ul>")[0]
