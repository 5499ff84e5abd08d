import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import PermutedAction, RandomAction
from brittlestar.perturbations.discrete_actions import cycles


def bound(part, space, lanes):
    part.bind(space, space, lanes)
    return part


def test_random_actions_are_others_evenly_with_probability_p(make_step):
    actions, changed = np.full(20000, 2), {}
    for p in (0.3, 0.6):
        sent = bound(RandomAction(p=p), spaces.Discrete(4), 20000).perturb_action(actions, make_step(20000))
        changed[p] = sent != actions
        assert changed[p].mean() == pytest.approx(p, abs=0.015)
        shares = np.bincount(sent[changed[p]], minlength=4) / changed[p].sum()
        np.testing.assert_allclose(shares, [1 / 3, 1 / 3, 0, 1 / 3], atol=0.02)
    assert (changed[0.6] >= changed[0.3]).all()


def test_random_continuous_actions_are_evenly_in_the_range(make_step):
    box = spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 4.0]), dtype=np.float64)
    sent = bound(RandomAction(p=0.5), box, 20000).perturb_action(np.full((20000, 2), 0.5), make_step(20000))
    hit = (sent != 0.5).any(axis=1)
    assert hit.mean() == pytest.approx(0.5, abs=0.015)
    np.testing.assert_allclose(sent[hit].mean(axis=0), [0.0, 2.0], atol=0.05)
    np.testing.assert_allclose(sent[hit].var(axis=0), [4 / 12, 16 / 12], rtol=0.05)


def table(part, size, make_step, start=0, **options):
    """What is sent in the place of each action; one lane per action, all in the same episode."""
    space = spaces.Discrete(size, start=start)
    step = make_step(size, episodes=[options.pop("episode", 0)] * size, **options)
    return bound(part, space, size).perturb_action(np.arange(size) + start, step) - start


@pytest.mark.parametrize("start", [0, 5])
def test_a_given_permutation(start, make_step):
    assert table(PermutedAction(1.0, permutation=[2, 0, 1]), 3, make_step, start).tolist() == [2, 0, 1]


@pytest.mark.parametrize("size", [2, 3, 4, 7, 18])
def test_a_drawn_permutation_moves_every_action(size, make_step):
    for seed in range(60):
        for part in (PermutedAction(1.0, seed=seed), PermutedAction(1.0, seed=None)):
            found = table(part, size, make_step, episode=seed)
            assert sorted(found) == list(range(size))
            assert (found != np.arange(size)).all()


def test_cycles_are_drawn_evenly():
    drawn = cycles(np.random.default_rng(0).random((6000, 4)))
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(kinds) == 6
    np.testing.assert_allclose(counts / 6000, 1 / 6, atol=0.02)


def test_the_permutation_belongs_to_the_seed_or_to_the_episode(make_step):
    for seed in (0, 1):
        tables = {
            tuple(table(PermutedAction(1.0, seed=seed), 9, make_step, seed=noise, episode=episode))
            for noise in (0, 1)
            for episode in (0, 1)
        }
        assert len(tables) == 1
    assert (table(PermutedAction(1.0, seed=0), 9, make_step) != table(PermutedAction(1.0, seed=1), 9, make_step)).any()
    drawn = {tuple(table(PermutedAction(1.0, seed=None), 9, make_step, episode=episode)) for episode in range(5)}
    assert len(drawn) == 5


def test_the_permutation_of_an_episode_stays(make_step):
    part = bound(PermutedAction(1.0, seed=None), spaces.Discrete(9), 9)
    runs = [part.perturb_action(np.arange(9), make_step(9, episodes=[4] * 9, step=t)) for t in range(3)]
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_the_share_of_confused_actions_is_p(make_step):
    actions, changed = np.full(20000, 1), {}
    for p in (0.2, 0.7):
        part = bound(PermutedAction(p), spaces.Discrete(3), 20000)
        changed[p] = part.perturb_action(actions, make_step(20000)) != actions
        assert changed[p].mean() == pytest.approx(p, abs=0.015)
    assert (changed[0.7] >= changed[0.2]).all()


def test_a_permutation_has_a_place_for_every_action():
    with pytest.raises(UserError, match=r"`permutation` must have 3 places for Discrete\(3\), got \[1, 0\]"):
        bound(PermutedAction(1.0, permutation=[1, 0]), spaces.Discrete(3), 1)
