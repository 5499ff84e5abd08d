import numpy as np
import pytest
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import ConfusedObservation, PermutedAction, RandomAction
from brittlestar.perturbations.discrete import cycles
from brittlestar.policies import RandomPolicy

STATES = np.tile(np.arange(5), (40, 100))


def test_another_state_is_shown_all_others_equally_often(play):
    space = spaces.Discrete(5)
    seen = play(ConfusedObservation(p=0.4), STATES, space=space)
    confused = seen != STATES
    assert confused.mean() == pytest.approx(0.4, abs=0.02)
    for state in range(5):
        values, counts = np.unique(seen[confused & (state == STATES)], return_counts=True)
        assert values.tolist() == [other for other in range(5) if other != state]
        np.testing.assert_allclose(counts / counts.sum(), 0.25, atol=0.05)


def test_states_that_do_not_start_at_zero(play):
    seen = play(ConfusedObservation(p=1.0), STATES - 3, space=spaces.Discrete(5, start=-3))
    assert (seen != STATES - 3).all()
    assert (seen.min(), seen.max()) == (-3, 1)


def test_several_states_at_once(play):
    truth = np.zeros((40, 50, 2), np.int64)
    seen = play(ConfusedObservation(p=0.5), truth, space=spaces.MultiDiscrete([2, 7]))
    assert seen.reshape(-1, 2).max(axis=0).tolist() == [1, 6]
    np.testing.assert_allclose((seen != 0).mean(axis=(0, 1)), 0.5, atol=0.05)


def test_strength_seed_dtype_and_nesting(play):
    space, truth = spaces.Discrete(5), STATES.astype(np.int32)
    assert np.array_equal(play(ConfusedObservation(p=0.0), truth, space=space), truth)
    noise, repeated, other = (play(ConfusedObservation(p=0.5), truth, space=space, seed=seed) for seed in (0, 0, 1))
    assert noise.dtype == np.int32
    assert np.array_equal(noise, repeated)
    assert not np.array_equal(noise, other)
    stronger = play(ConfusedObservation(p=0.9), truth, space=space)
    assert np.array_equal(stronger[noise != truth], noise[noise != truth])
    alone = play(ConfusedObservation(p=0.5), truth[:, [7]], space=space, episodes=[7])
    assert np.array_equal(alone[:, 0], noise[:, 7])


def test_real_environments_are_confused_as_often_as_asked():
    env = PerturbedEnv(EnvSpec(id="FrozenLake-v1").make(), ConfusedObservation(p=1.0))
    seen, info = env.reset(seed=0)
    assert seen in env.observation_space
    assert seen != info["true_observation"]
    lanes = Lanes(EnvSpec(id="FrozenLake-v1"), count=16)
    rows = rollout(lanes, Parts(RandomPolicy(), ConfusedObservation(p=0.25)), Plan(episodes=200))
    share = np.average(rows.column("observation_touched"), weights=rows.column("length"))
    assert share == pytest.approx(0.25, abs=0.06)


def test_bad_parameters_and_spaces():
    with pytest.raises(ValueError, match=r"`p` must be in \[0, 1\], got 1\.1"):
        ConfusedObservation(p=1.1)
    box = spaces.Box(-1, 1, (2,))
    with pytest.raises(UserError, match="needs a Discrete or MultiDiscrete observation, the observation is Box"):
        ConfusedObservation(p=0.1).bind(box, box, lanes=1)
    with pytest.raises(UserError, match=r"needs at least 2 states to choose from, got Discrete\(1\)"):
        ConfusedObservation(p=0.1).bind(spaces.Discrete(1), box, lanes=1)


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
    """Returns what is sent in place of each action; one lane per action, all in the same episode."""
    space = spaces.Discrete(size, start=start)
    step = make_step(size, episodes=[options.pop("episode", 0)] * size, **options)
    return bound(part, space, size).perturb_action(np.arange(size) + start, step) - start


def test_a_permutation_refuses_actions_outside_of_its_space(make_step):
    part = bound(PermutedAction(1.0), spaces.Discrete(3, start=1), 3)
    with pytest.raises(UserError, match=r"needs actions of Discrete\(3, start=1\), got 0 to 2"):
        part.perturb_action(np.arange(3), make_step(3))


@pytest.mark.parametrize("start", [0, 5])
def test_a_given_permutation(start, make_step):
    assert table(PermutedAction(1.0, permutation=[2, 0, 1]), 3, make_step, start).tolist() == [2, 0, 1]


@pytest.mark.parametrize("size", [2, 3, 4, 7, 18])
def test_a_drawn_permutation_moves_every_action(size, make_step):
    for seed in range(60):
        for part in (PermutedAction(1.0, seed=seed), PermutedAction(1.0, seed=None)):
            permutation = table(part, size, make_step, episode=seed)
            assert sorted(permutation) == list(range(size))
            assert (permutation != np.arange(size)).all()


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
