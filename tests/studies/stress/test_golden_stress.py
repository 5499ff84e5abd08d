"""The compat scorings turn the reference's own trajectories into its own tables."""

import csv
import functools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from brittlestar.engine.behaviour import Behaviour, Layout, describe
from brittlestar.studies.stress import compat, rigorous
from brittlestar.studies.stress.compat_channels import CHANNELS, REFERENCE_WEIGHTS, compat_channels
from brittlestar.studies.stress.phases import summarise
from brittlestar.studies.stress.proof import same_actions
from brittlestar.studies.stress.study import Episodes, score_study, thirds

GOLDEN = Path(os.environ.get("BRITTLESTAR_GOLDEN", Path(__file__).parents[4] / "shared" / "golden"))
SCORINGS = {"stress": "compat_1_4", "stress_1_0": "compat_1_0"}
FILES = [file for folder in SCORINGS for file in sorted((GOLDEN / folder).glob("*/*.npz"))]
TOLERANCE = 1e-6

NAMES = {
    "reward_mean": "return_mean",
    "reward_std": "return_std",
    "cvar_shock_05": "cvar_05",
    "cvar_shock_25": "cvar_25",
    "id_drop_pre_to_shock": "identity_drop",
    "integrity_drop_pre_to_shock": "integrity_drop",
    "meaning_drop_pre_to_shock": "meaning_drop",
    "collapse_score_shock_mean": "shock_score",
    "collapse_event_shock": "shock_event",
    "collapse_event_threshold": "threshold",
    "collapse_rate_mean": "rate",
    "collapse_rate_pre": "rate_pre",
    "collapse_rate_shock": "rate_shock",
    "collapse_rate_post": "rate_post",
    "fpr_actual": "rate_pre",
}
INPUTS = {"env", "algo", "seed", "eval_mode", "schedule", "is_reward_stressor", "fpr_target", "obs_normalize"}

CASES = [pytest.param(path, id=f"{path.parts[-3]}/{path.stem}") for path in FILES]
agents = pytest.mark.parametrize("path", CASES or [pytest.param(None, id="none")])


@pytest.fixture(autouse=True)
def _needs_golden(golden):
    if not FILES:
        pytest.skip(f"no stress studies in {golden}")


@functools.cache
def read_study(path: Path) -> dict[str, Episodes]:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    names = list(dict.fromkeys(name.split("/")[0] for name in arrays))
    commands = np.concatenate([arrays[f"{name}/actions"] for name in names])
    discrete = commands.dtype.kind in "iu" and commands.shape[1] == 1
    layout = Layout(actions=int(commands.max()) + 1) if discrete else Layout(size=commands.shape[1])
    study = {}
    for name in names:
        ends = np.cumsum(arrays[f"{name}/len"])[:-1]
        actions, rewards = (np.split(arrays[f"{name}/{what}"], ends) for what in ("actions", "rewards"))
        sums = np.column_stack([arrays[f"{name}/viol"], arrays[f"{name}/regret"]]).tolist()
        rows = [describe(layout, a, r, r, tuple(s)) for a, r, s in zip(actions, rewards, sums, strict=True)]
        study[name] = Episodes(Behaviour(layout, np.array(rows)), thirds(len(rows)))
    return study


@functools.cache
def scored(path: Path):
    study = dict(read_study(path))
    return score_study(SCORINGS[path.parts[-3]], study.pop("ref"), study)


def rows_of(path: Path, table: str) -> dict[str, list[dict[str, str]]]:
    """Rows of the same seed and mode as a trajectory, by schedule."""
    mode, seed = path.stem.split("_")[-2:]
    with open(path.with_name(table)) as file:
        rows = [row for row in csv.DictReader(file) if (row["eval_mode"], f"seed{row['seed']}") == (mode, seed)]
    schedules = dict.fromkeys(row["schedule"] for row in rows)
    return {name: [row for row in rows if row["schedule"] == name] for name in schedules}


def test_there_are_agents_of_both_versions():
    assert {path.parts[-3] for path in FILES} == set(SCORINGS)


@agents
def test_channels_scores_and_events_of_every_episode(path):
    published, got = rows_of(path, "per_episode.csv"), scored(path)
    assert published.keys() == got.keys()
    for name, rows in published.items():
        columns = {channel: got[name].channels[:, i] for i, channel in enumerate(CHANNELS)}
        columns |= {"identity": got[name].identity, "collapse_score_episode": got[name].score}
        for column, values in columns.items():
            expected = [float(row[column]) for row in rows]
            np.testing.assert_allclose(values, expected, rtol=0, atol=TOLERANCE, err_msg=f"{name} {column}")
        assert got[name].event.tolist() == [row["collapse_event_episode"] == "1" for row in rows], name
        assert list(got[name].phases) == [row["stress_phase"] for row in rows]


@agents
def test_every_number_of_the_summary(path):
    for name, (row,) in rows_of(path, "eval_results.csv").items():
        got = summarise(scored(path)[name])
        for column in row.keys() - INPUTS:
            assert got[NAMES.get(column, column)] == pytest.approx(float(row[column]), abs=TOLERANCE), (name, column)


@agents
def test_statistics_of_the_reference_pass(path):
    reference, proxy = read_study(path)["ref"], path.parts[-3] == "stress"
    mode, seed = path.stem.split("_")[-2:]
    known = json.loads(path.with_name("baseline_stats.json").read_text())
    (expected,) = [e for e in known if (e["meta"]["eval_mode"], f"seed{e['meta']['seed']}") == (mode, seed)]
    channels, calm = compat_channels(reference.behaviour, reference.phases, proxy), reference.within("pre")
    raw = compat.raw_1_4 if proxy else compat.raw_1_0
    norm = compat.calibrate(raw, channels[calm], compat.identity(channels, REFERENCE_WEIGHTS)[calm])
    collapse = expected["collapse"]
    assert norm.base == pytest.approx(collapse["base_id"], abs=TOLERANCE)
    assert norm.centre == pytest.approx(collapse["center"], abs=TOLERANCE)
    assert norm.threshold == pytest.approx(collapse["score_p95"], abs=TOLERANCE)
    for i, name in enumerate(("integrity", "id_drop", "meaning")):
        assert norm.median[i] == pytest.approx(collapse["raw_robust"][name]["median"], abs=TOLERANCE)
        assert norm.mad[i] == pytest.approx(collapse["raw_robust"][name]["mad"], abs=TOLERANCE)
    weights = dict(zip(CHANNELS, compat.weights(channels).tolist(), strict=True))
    assert weights == pytest.approx(expected["identity"]["weights"], abs=TOLERANCE)


def paired(path: Path) -> dict[str, Episodes]:
    """The study, if the reference happened to run the same episodes in all schedules."""
    study = read_study(path)
    calm = study["baseline"].within("pre")
    if not same_actions(study["baseline"].behaviour, study["valence_inversion"].behaviour, calm).proven:
        pytest.skip("the reference ran other episodes in each schedule")
    return study


@agents
def test_a_frozen_policy_acts_the_same_under_inverted_rewards(path):
    study = paired(path)
    shock = study["baseline"].within("shock")
    assert same_actions(study["baseline"].behaviour, study["valence_inversion"].behaviour, shock).proven
    assert not same_actions(study["baseline"].behaviour, study["trust_violation"].behaviour, shock).proven


@agents
def test_rigorous_scores_inverted_rewards_as_the_baseline(path):
    study = paired(path)
    layout, baseline = study["baseline"].behaviour.layout, study["baseline"].behaviour
    # 60 episodes are too few for the guarantee; copies of the unstressed runs do to fix the scales.
    calm = np.concatenate([study["ref"].behaviour.values, baseline.values] * 2)
    normal = rigorous.fit(Behaviour(layout, calm), alpha=0.05)
    # These files hold stressed rewards only; the true ones are those of the same actions without stress.
    inverted = study["valence_inversion"].behaviour.values.copy()
    inverted[:, layout.columns.index("return")] = baseline.column("return")
    expected, shock = rigorous.score(normal, baseline), study["baseline"].within("shock")
    assert (rigorous.score(normal, Behaviour(layout, inverted)) == expected).all()
    stressed = rigorous.score(normal, study["trust_violation"].behaviour)
    assert stressed[shock].mean() > 2 * expected[shock].mean()
