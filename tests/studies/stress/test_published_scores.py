"""The compat scorings turn the reference's own trajectories into its own tables."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from brittlestar.engine.behaviour import Behaviour, Layout, describe_episode
from brittlestar.studies.stress import compat, rigorous
from brittlestar.studies.stress.compat_channels import CHANNELS, REFERENCE_WEIGHTS, compat_channels
from brittlestar.studies.stress.phases import phase_summary
from brittlestar.studies.stress.runs import same_actions
from brittlestar.studies.stress.scoring import Episodes, score_schedules, thirds

DATA = Path(__file__).parents[2] / "data" / "stress"
"""Trajectories of the reference's agents (actions, rewards, lengths), and the scores that it published for them."""
FILES = sorted(DATA.glob("*.npz"))
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
agents = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@functools.cache
def facts(path: Path) -> dict:
    """Version, names of the schedules, and every published number that is not of one episode."""
    return json.loads(path.with_suffix(".json").read_text())


@functools.cache
def read_study(path: Path) -> dict[str, Episodes]:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    names = facts(path)["schedules"]
    layout = Layout(actions=int(max(arrays[f"{name}/actions"].max() for name in names)) + 1)
    study = {}
    for name in names:
        ends = np.cumsum(arrays[f"{name}/lengths"])[:-1]
        actions, rewards = (np.split(arrays[f"{name}/{what}"], ends) for what in ("actions", "rewards"))
        sums = arrays[f"{name}/sums"].tolist()
        rows = [describe_episode(layout, a, r, r, tuple(s)) for a, r, s in zip(actions, rewards, sums, strict=True)]
        study[name] = Episodes(Behaviour(layout, np.array(rows)), thirds(len(rows)))
    return study


@functools.cache
def scored(path: Path):
    study = dict(read_study(path))
    return score_schedules(facts(path)["version"], study.pop("ref"), study)


def test_there_are_agents_of_both_versions():
    assert {facts(path)["version"] for path in FILES} == {"compat_1_4", "compat_1_0"}


@agents
def test_channels_scores_and_events_of_every_episode(path):
    with np.load(path) as file:
        for name, scores in scored(path).items():
            columns = np.column_stack([scores.channels, scores.identity, scores.score])
            np.testing.assert_allclose(columns, file[f"{name}/scores"], rtol=0, atol=TOLERANCE, err_msg=name)
            assert np.array_equal(scores.event, file[f"{name}/events"]), name


@agents
def test_every_number_of_the_summary(path):
    published = facts(path)["summary"]
    assert published.keys() == scored(path).keys()
    for name, row in published.items():
        summary = phase_summary(scored(path)[name])
        for column, value in row.items():
            assert summary[NAMES.get(column, column)] == pytest.approx(value, abs=TOLERANCE), (name, column)


@agents
def test_statistics_of_the_reference_pass(path):
    reference, proxy, published = (
        read_study(path)["ref"],
        facts(path)["version"] == "compat_1_4",
        facts(path)["reference"],
    )
    channels, calm = compat_channels(reference.behaviour, reference.phases, proxy), reference.within("pre")
    raw = compat.raw_1_4 if proxy else compat.raw_1_0
    norm = compat.calibrate(raw, channels[calm], compat.weighted_sum(channels, REFERENCE_WEIGHTS)[calm])
    assert norm.base == pytest.approx(published["base"], abs=TOLERANCE)
    assert norm.centre == pytest.approx(published["centre"], abs=TOLERANCE)
    assert norm.threshold == pytest.approx(published["threshold"], abs=TOLERANCE)
    for i, name in enumerate(("integrity", "id_drop", "meaning")):
        assert norm.median[i] == pytest.approx(published["signs"][name]["median"], abs=TOLERANCE)
        assert norm.mad[i] == pytest.approx(published["signs"][name]["mad"], abs=TOLERANCE)
    weights = dict(zip(CHANNELS, compat.weights(channels).tolist(), strict=True))
    assert weights == pytest.approx(published["weights"], abs=TOLERANCE)


def paired(path: Path) -> dict[str, Episodes]:
    """The study, if the reference happened to run the same episodes in all schedules."""
    study = read_study(path)
    calm = study["baseline"].within("pre")
    if not same_actions(study["baseline"].behaviour, study["valence_inversion"].behaviour, calm):
        pytest.skip("the reference ran other episodes in each schedule")
    return study


@agents
def test_a_frozen_policy_acts_the_same_under_inverted_rewards(path):
    study = paired(path)
    shock = study["baseline"].within("shock")
    assert same_actions(study["baseline"].behaviour, study["valence_inversion"].behaviour, shock)
    assert not same_actions(study["baseline"].behaviour, study["trust_violation"].behaviour, shock)


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
    expected, shock = rigorous.rigorous_score(normal, baseline), study["baseline"].within("shock")
    assert (rigorous.rigorous_score(normal, Behaviour(layout, inverted)) == expected).all()
    stressed = rigorous.rigorous_score(normal, study["trust_violation"].behaviour)
    assert stressed[shock].mean() > 2 * expected[shock].mean()
