import numpy as np
import pytest

from brittlestar.randomness import LaneDraws, SequentialDraws, generator, reset_seeds


def draws_at(episodes, steps, seed=0, stream="noise"):
    draws = LaneDraws(seed, stream, len(episodes))
    draws.at(np.asarray(episodes), np.asarray(steps))
    return draws


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize("step", [0, 63, 64, 500])
def test_a_number_does_not_depend_on_lanes_order_or_history(kind, step):
    alone = getattr(draws_at([7], [step]), kind)((4,))[0]
    among = draws_at([3, 7, 9], [2, step, 77])
    assert np.array_equal(getattr(among, kind)((4,))[1], alone)
    walked = LaneDraws(0, "noise", 1)
    for earlier in range(step + 1):
        walked.at(np.array([7]), np.array([earlier]))
        last = getattr(walked, kind)((4,))[0]
    assert np.array_equal(last, alone)


def test_a_skipped_draw_changes_no_other():
    always, sometimes = LaneDraws(0, "noise", 1), LaneDraws(0, "noise", 1)
    for step in range(40):
        for draws in (always, sometimes):
            draws.at(np.array([0]), np.array([step]))
        first = always.normal((2,))
        if step % 3 == 0:
            assert np.array_equal(sometimes.normal((2,)), first)


def test_streams_seeds_episodes_steps_and_draws_differ():
    base = draws_at([0], [0])
    numbers = [base.normal((3,)), base.normal((3,))]
    for other in (
        draws_at([0], [0], seed=1),
        draws_at([0], [0], stream="else"),
        draws_at([1], [0]),
        draws_at([0], [1]),
    ):
        numbers.append(other.normal((3,)))
    numbers.append(base.child("part").normal((3,)))
    assert len({array.tobytes() for array in numbers}) == len(numbers)


def test_per_episode_draws_hold_through_the_episode():
    first, later = draws_at([4], [0]).normal((2,), per_episode=True), draws_at([4], [99]).normal((2,), per_episode=True)
    assert np.array_equal(first, later)


def test_moments_and_independence():
    numbers = np.array([draws_at(np.arange(50), np.full(50, step)).normal((10,)) for step in range(100)])
    assert abs(numbers.mean()) < 0.02
    assert abs(numbers.std() - 1) < 0.02
    for shifted in (numbers[1:] * numbers[:-1], numbers[:, 1:] * numbers[:, :-1], numbers[..., 1:] * numbers[..., :-1]):
        assert abs(shifted.mean()) < 0.02


def test_large_shapes_use_short_blocks():
    assert draws_at([0, 1], [5, 6]).normal((84, 84, 3)).shape == (2, 84, 84, 3)


def test_reset_seeds_of_different_seeds_share_nothing():
    seeds = [set(reset_seeds(seed, 200)) for seed in range(20)]
    assert len(set.union(*seeds)) == 20 * 200
    assert reset_seeds(3, 10)[:5] == reset_seeds(3, 5)
    assert reset_seeds(3, 2, consecutive=True) == [3, 4]


def test_generator_is_repeatable():
    assert generator(1, "a").random() == generator(1, "a").random() != generator(1, "b").random()


def test_sequential_draws_repeat_a_plain_loop():
    loop = np.random.default_rng(5)
    expected = [[loop.standard_normal(2) for _ in range(4)] for _ in range(3)]
    draws = SequentialDraws(5, "noise", lanes=2, draws_per_episode=4)
    for episodes, steps in (([2, 0], [3, 1]), ([1, 1], [0, 2])):
        draws.at(np.array(episodes), np.array(steps))
        got = draws.normal((2,))
        assert np.array_equal(got, [expected[e][s] for e, s in zip(episodes, steps, strict=True)])
