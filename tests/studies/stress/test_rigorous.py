"""What must not change a rigorous score, and what must."""

import numpy as np
import pytest

from brittlestar.engine.behaviour import Behaviour, Layout
from brittlestar.errors import UserError
from brittlestar.studies.stress import rigorous
from brittlestar.studies.stress.scoring import Episodes, score_schedules, thirds

DISCRETE, VECTORS = Layout(actions=3), Layout(size=2)


@pytest.fixture
def discrete(rng, make_discrete):
    return make_discrete(rng, 300), make_discrete(rng, 90)


@pytest.fixture
def vectors(rng, make_vectors):
    return make_vectors(rng, 300), make_vectors(rng, 90)


def scores(table, layout, reference, episodes):
    return rigorous.rigorous_score(rigorous.fit(table(layout, reference), 0.05), table(layout, episodes))


@pytest.mark.parametrize("factor", [4.0, 0.1])
def test_scaling_the_reward_changes_no_score(table, discrete, factor):
    def scale(episodes):
        return [(a, factor * r, factor * s, sums) for a, r, s, sums in episodes]

    expected = scores(table, DISCRETE, *discrete)
    got = scores(table, DISCRETE, *map(scale, discrete))
    np.testing.assert_allclose(got, expected, rtol=0, atol=0 if factor == 4 else 1e-12)


def test_relabelling_actions_changes_no_score(table, discrete):
    names = np.array([2, 0, 1])

    def relabel(episodes):
        return [(names[a], *rest) for a, *rest in episodes]

    assert (scores(table, DISCRETE, *map(relabel, discrete)) == scores(table, DISCRETE, *discrete)).all()


def test_units_of_each_number_change_no_score(table, vectors):
    def rescale(episodes):
        return [(a * np.float32([64.0, 0.25]), *rest) for a, *rest in episodes]

    expected = scores(table, VECTORS, *vectors)
    np.testing.assert_allclose(scores(table, VECTORS, *map(rescale, vectors)), expected, atol=1e-6)


def test_reward_stressors_and_their_bookkeeping_score_exactly_as_the_baseline(table, discrete, rng):
    reference, episodes = Episodes(table(DISCRETE, discrete[0]), ["all"] * 300), discrete[1]
    inverted = [(a, r, -r, (0.0, 2 * abs(r).sum())) for a, r, _, _ in episodes]
    noisy = [(a, r, r + rng.normal(size=len(r)), (3.0, 5.0)) for a, r, _, _ in episodes]
    runs = {"baseline": episodes, "valence_inversion": inverted, "reward_noise": noisy}
    got = score_schedules("rigorous", reference, {k: Episodes(table(DISCRETE, v), thirds(90)) for k, v in runs.items()})
    for name in ("valence_inversion", "reward_noise"):
        for part in ("channels", "score", "event", "returns"):
            assert (getattr(got[name], part) == getattr(got["baseline"], part)).all(), (name, part)


def test_order_and_phases_are_forgotten(table, discrete, rng):
    """POST of a policy without memory is a null: a score depends on its episode only."""
    reference, episodes = (table(DISCRETE, part) for part in discrete)
    normal, order = rigorous.fit(reference, 0.05), rng.permutation(len(episodes))
    assert (
        rigorous.rigorous_score(normal, episodes.pick(order)) == rigorous.rigorous_score(normal, episodes)[order]
    ).all()


@pytest.mark.parametrize("kind", ["discrete", "vectors"])
def test_worse_episodes_score_higher_and_better_ones_do_not(table, request, rng, kind):
    layout, (reference, episodes) = (DISCRETE if kind == "discrete" else VECTORS), request.getfixturevalue(kind)
    normal = rigorous.fit(table(layout, reference), 0.05)
    make = request.getfixturevalue(f"make_{kind}")
    worse = make(rng, 40, **({"jitter": 0.9} if kind == "discrete" else {"noise": 1.0}))
    assert (rigorous.rigorous_score(normal, table(layout, worse)) > normal.threshold).mean() > 0.8
    poorer = [(a, r - 1.0, s, sums) for a, r, s, sums in episodes]
    richer = [(a, r + 1.0, s, sums) for a, r, s, sums in episodes]
    usual, poor, rich = (rigorous.channels(normal, table(layout, part)) for part in (episodes, poorer, richer))
    assert (poor[:, 0] <= usual[:, 0]).all() and poor[:, 0].mean() < 0.7
    assert (rich[:, 0] >= usual[:, 0]).all()
    assert (poor[:, 1:] == usual[:, 1:]).all(), "a return is competence and nothing else"


@pytest.mark.parametrize("reward", [0.0, 0.1, 1.0])
def test_without_any_variance_only_other_episodes_are_events(table, reward):
    same = (np.array([0, 1] * 10), np.full(20, reward), np.full(20, reward), (0.0, 0.0))
    other = (np.array([1, 1] * 10), *same[1:])
    poorer = (same[0], same[1] - 1.0, *same[2:])
    normal = rigorous.fit(table(DISCRETE, [same] * 230), 0.05)
    got = rigorous.rigorous_score(normal, table(DISCRETE, [same, other, poorer]))
    assert got[0] == normal.threshold == 0 and (got[1:] > 0.5).all()
    reference, run = (Episodes(table(DISCRETE, part), ["pre"] * len(part)) for part in ([same] * 230, [same, other]))
    assert score_schedules("rigorous", reference, {"x": run})["x"].event.tolist() == [False, True], "a tie is no alarm"


def test_false_alarms_of_the_whole_path(table, rng, make_discrete, make_vectors):
    """Fit, threshold and score on fresh episodes, again and again."""
    for layout, make in ((DISCRETE, make_discrete), (VECTORS, make_vectors)):
        pool, rates = table(layout, make(rng, 700)).values, []
        for _ in range(200):
            drawn = pool[rng.permutation(len(pool))[:340]]
            normal = rigorous.fit(Behaviour(layout, drawn[:300]), 0.05)
            rates.append(np.mean(rigorous.rigorous_score(normal, Behaviour(layout, drawn[300:])) > normal.threshold))
        assert abs(np.mean(rates) - 0.05) < 4 * np.std(rates) / np.sqrt(200) + 1 / 201


def test_too_few_reference_episodes_are_explained(table, discrete):
    with pytest.raises(
        UserError, match=r"at least 230 reference episodes \(30 to fit, 200 for the threshold\), got 229"
    ):
        rigorous.fit(table(DISCRETE, discrete[0][:229]), 0.05)
    assert rigorous.fit(table(DISCRETE, discrete[0][:230]), 0.05).calibrated == 200
