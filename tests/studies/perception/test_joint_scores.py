"""Joint scores: the figures of their definition, missing cells, and what the intervals and the test promise."""

import itertools

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.studies.perception import interactions
from brittlestar.studies.perception.joint_scores import LESS, MORE, OPEN, score_joint

LEVELS = [0.0, 0.5, 1.0]
PAIR = [LEVELS, LEVELS]


def share(rate, episodes=20):
    return {0: np.arange(episodes) < round(rate * episodes)}


def test_the_promise_is_the_product_of_what_the_axes_retain():
    rates = {(0, 0): 0.8, (0, 1): 0.4, (1, 0): 0.6, (1, 1): 0.2}
    scores = score_joint({place: share(rate) for place, rate in rates.items()}, [[0, 1], [0, 1]])
    gap = scores.gaps[1, 1]
    assert gap.measured == 0.2 and gap.promised == pytest.approx(0.6 * 0.4 / 0.8)
    assert gap.difference == pytest.approx(-0.1) and gap.difference_bounds.low < -0.1 < gap.difference_bounds.high
    # Four corners with one weight.
    assert scores.volume.measured == pytest.approx(0.5) and scores.volume.promised == pytest.approx(0.525)
    assert set(scores.p_holm) == {(1, 1)} and np.isnan(scores.gaps[0, 1].promised)


def test_the_promise_of_three_axes():
    rates = {place: 0.8 * 0.5 ** sum(place) for place in itertools.product((0, 1), repeat=3)}
    scores = score_joint({place: share(rate, 80) for place, rate in rates.items()}, [[0, 1]] * 3)
    assert len(scores.p_holm) == 4
    for place in scores.p_holm:
        assert scores.gaps[place].promised == pytest.approx(rates[place])
        assert scores.gaps[place].difference == pytest.approx(0) and scores.verdict(place) == OPEN
    assert scores.volume.difference == pytest.approx(0, abs=1e-12)


def test_a_promise_is_at_most_1():
    rates = {(0, 0): 0.9, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}
    scores = score_joint({place: share(rate) for place, rate in rates.items()}, [[0, 1], [0, 1]])
    assert (scores.gaps[1, 1].promised, scores.gaps[1, 1].difference) == (1.0, 0.0)


def test_a_failed_cell_is_no_number_and_takes_what_needs_it_along():
    cells = {place: share(0.5) for place in itertools.product(LEVELS, LEVELS)}
    del cells[1.0, 0.0]
    scores = score_joint(cells, PAIR)
    assert scores.volume is None and (1.0, 0.0) not in scores.gaps
    assert set(scores.p_holm) == {(0.5, 0.5), (0.5, 1.0)}
    assert scores.gaps[1.0, 1.0].measured == 0.5 and scores.verdict((1.0, 1.0)) == ""


def test_a_cell_that_lacks_a_seed_is_missing():
    cells = {place: {0: np.ones(5), 1: np.ones(5)} for place in itertools.product(LEVELS, LEVELS)}
    del cells[0.5, 0.5][1]
    scores = score_joint(cells, PAIR)
    assert (0.5, 0.5) not in scores.gaps and scores.volume is None and scores.episodes == 10


def test_without_success_there_is_no_promise():
    scores = score_joint({place: share(0) for place in itertools.product(LEVELS, LEVELS)}, PAIR)
    assert scores.p_holm == {} and scores.volume.measured == 0 and np.isnan(scores.volume.promised)


def test_other_episodes_are_an_error():
    with pytest.raises(UserError, match="has other episodes than others of seed 0"):
        score_joint({(0.0, 0.0): share(1), (1.0, 0.0): share(1, 10)}, PAIR)


def test_a_single_episode_decides_nothing():
    scores = score_joint({place: share(1, 1) for place in itertools.product(LEVELS, LEVELS)}, PAIR)
    assert {scores.verdict(place) for place in scores.p_holm} == {OPEN}
    assert scores.volume.difference == 0 and np.isnan(scores.volume.difference_bounds.low)


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(interactions, "DRAWS", 2000)


def draw(rng, episodes, clean, fall, paired, harm=0.0):
    """Successes on a grid: the axes act independently, and `harm` is what they do to each other on top."""
    skill, luck = rng.random(episodes), rng.random((2, episodes))
    cells = {}
    for place in itertools.product(LEVELS, LEVELS):
        kept = 1 - fall * np.array(place)
        if not paired:
            skill, luck = rng.random(episodes), rng.random((2, episodes))
        solved = (skill < clean) & (luck[0] < kept[0]) & (luck[1] < kept[1])
        cells[place] = {0: solved & (rng.random(episodes) >= harm * min(place))}
    return cells


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("episodes", [20, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("clean", "fall"), [(1.0, 0.2), (0.95, 0.5), (0.6, 0.4)])
def test_intervals_cover_and_false_alarms_are_rare_where_the_product_holds(paired, episodes, clean, fall):
    """Paired: an episode breaks at a level of its own. Otherwise all cells are independent."""
    rng, rounds, covered, volume, alarms = np.random.default_rng(1), 300, [], 0, 0
    for _ in range(rounds):
        scores = score_joint(draw(rng, episodes, clean, fall, paired), PAIR)
        bounds = [scores.gaps[place].difference_bounds for place in scores.p_holm]
        covered += [low <= 0 <= high for low, high in bounds]
        volume += scores.volume.difference_bounds.low <= 0 <= scores.volume.difference_bounds.high
        alarms += any(scores.verdict(place) != OPEN for place in scores.p_holm)
    # Within the error of the simulation.
    assert np.mean(covered) >= 0.93 and volume / rounds >= 0.93
    assert alarms / rounds <= 0.05 + 2 * (0.05 * 0.95 / rounds) ** 0.5


@pytest.mark.usefixtures("few_draws")
def test_intervals_cover_a_difference_that_is_not_0():
    """The axes harm each other: at (1, 1) half of what the product promises is left."""
    rng, rounds, covered = np.random.default_rng(2), 300, 0
    truth = 0.9 * 0.7**2 * 0.5 - 0.9 * 0.7**2
    for _ in range(rounds):
        low, high = score_joint(draw(rng, 60, 0.9, 0.3, True, harm=0.5), PAIR).gaps[1.0, 1.0].difference_bounds
        covered += low <= truth <= high
    assert covered / rounds >= 0.93


@pytest.mark.usefixtures("few_draws")
def test_an_interaction_is_found():
    rng, rounds, found, volume = np.random.default_rng(3), 50, 0, 0
    for _ in range(rounds):
        scores = score_joint(draw(rng, 60, 0.95, 0.2, True, harm=0.8), PAIR)
        found += scores.verdict((1.0, 1.0)) == LESS
        volume += scores.volume.difference_bounds.high < 0
    assert found / rounds >= 0.95 and volume / rounds >= 0.95


def test_shared_weakness_gives_more_than_the_product():
    """The same episodes break under either axis, so that both together break no further one."""
    weak = {0: np.arange(60) < 30}
    cells = {(0, 0): {0: np.ones(60)}, (0, 1): weak, (1, 0): weak, (1, 1): weak}
    assert score_joint(cells, [[0, 1], [0, 1]]).verdict((1, 1)) == MORE
