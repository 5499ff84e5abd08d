import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import MixedAction, SwappedAction
from brittlestar.perturbations.crosstalk import orthogonal

WIDE = spaces.Box(-9.0, 9.0, (3,), np.float64)


def bound(part, space=WIDE, lanes=3):
    part.bind(space, space, lanes)
    return part


@pytest.mark.parametrize(
    ("swap", "expected"), [(1.0, [3.0, 2.0, 1.0]), (0.25, [1.5, 2.0, 2.5]), (0.5, [2.0, 2.0, 2.0])]
)
def test_a_blend_mixes_two_actuators(swap, expected, make_step):
    sent = bound(SwappedAction(swap, [0, 2])).perturb_action(np.array([[1.0, 2.0, 3.0]] * 3), make_step())
    np.testing.assert_allclose(sent, [expected] * 3)


@pytest.mark.parametrize("how", ["step", "episode"])
def test_swaps_come_in_their_share_and_larger_shares_include_smaller_ones(how, make_step):
    action, swapped = np.array([[1.0, 2.0, 3.0]] * 4000), {}
    for swap in (0.3, 0.6):
        part = bound(SwappedAction(swap, [0, 2], how=how), lanes=4000)
        sent = [part.perturb_action(action, make_step(4000, step=t)) for t in (0, 1)]
        swapped[swap] = np.array([s[:, 0] == 3.0 for s in sent])
        assert swapped[swap].mean() == pytest.approx(swap, abs=0.04)
        assert np.array_equal(swapped[swap][0], swapped[swap][1]) == (how == "episode")
        assert set(map(tuple, sent[0])) == {(1.0, 2.0, 3.0), (3.0, 2.0, 1.0)}
    assert (swapped[0.6] >= swapped[0.3]).all()


def test_both_actuators_exist():
    with pytest.raises(UserError, match=r"`actuators` must be in 0..2 for Box.*, got \[0, 3\]"):
        bound(SwappedAction(1.0, [0, 3]))


@pytest.mark.parametrize(("mix", "expected"), [(1.0, [2.0, 3.0, 1.0]), (0.5, [1.5, 2.5, 2.0])])
def test_a_given_matrix_mixes_the_actuators(mix, expected, make_step):
    part = bound(MixedAction(mix=mix, matrix=[[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    np.testing.assert_allclose(part.perturb_action(np.array([[1.0, 2.0, 3.0]] * 3), make_step()), [expected] * 3)


def test_a_drawn_matrix_keeps_lengths_and_depends_on_the_seed_alone(make_step):
    action = np.random.default_rng(0).normal(size=(3, 3))
    mixed, same, other = (
        bound(MixedAction(mix=1.0, seed=seed)).perturb_action(action, make_step(seed=noise))
        for seed, noise in [(0, 0), (0, 1), (1, 0)]
    )
    np.testing.assert_allclose(np.linalg.norm(mixed, axis=1), np.linalg.norm(action, axis=1))
    assert np.array_equal(mixed, same)
    assert not np.allclose(mixed, other)


def test_noise_on_the_mixed_action_has_its_size(make_step):
    part = bound(MixedAction(mix=0.5, sigma=0.8), lanes=5000)
    sent = part.perturb_action(np.zeros((5000, 3)), make_step(5000))
    assert sent.std() == pytest.approx(0.5 * 0.8, rel=0.02)


def test_random_matrices_are_orthogonal_even_and_never_the_identity():
    for size in (1, 2, 3, 6):
        turns = np.array([orthogonal(size, seed) for seed in range(400)])
        np.testing.assert_allclose(
            turns @ turns.transpose(0, 2, 1), np.broadcast_to(np.eye(size), turns.shape), atol=1e-9
        )
        assert (np.abs(turns - np.eye(size)).max(axis=(1, 2)) > 1e-3).all()
        if size > 1:
            assert np.abs(turns.mean(axis=0)).max() < 4 / (400 * size) ** 0.5
            assert 0.4 < (np.linalg.det(turns) > 0).mean() < 0.6


def test_a_single_actuator_is_reversed(make_step):
    box = spaces.Box(-1.0, 1.0, (1,))
    sent = bound(MixedAction(mix=1.0), box, lanes=1).perturb_action(np.array([[0.5]]), make_step(1))
    assert sent.tolist() == [[-0.5]]


@pytest.mark.parametrize("matrix", [[[1, 0], [0, 1]], [[1, 0, 0], [0, 1], [0, 0, 1]]])
def test_a_matrix_has_a_row_and_a_column_per_actuator(matrix):
    with pytest.raises(UserError, match="`matrix` must be 3 x 3, one row per actuator, got"):
        bound(MixedAction(mix=1.0, matrix=matrix))
