import numpy as np
import pytest

from brittlestar.schedules import Curriculum, Phases, Spread

STEPS = np.arange(8)
ZEROS = np.zeros(8, dtype=np.int64)


@pytest.mark.parametrize(
    ("schedule", "levels", "phases"),
    [
        (Curriculum(warmup_episodes=4), [0, 0.25, 0.5, 0.75, 1, 1, 1, 1], {"all"}),
        (Phases(pre=2, shock=3), [0, 0, 1, 1, 1, 0, 0, 0], {"pre", "shock", "post"}),
        (Phases(pre=0, shock=8), [1] * 8, {"shock"}),
    ],
)
def test_levels_over_episodes(schedule, levels, phases):
    np.testing.assert_allclose(schedule.levels(STEPS, ZEROS), levels)
    np.testing.assert_allclose(schedule.levels(STEPS, ZEROS + 9), levels)
    assert {schedule.phase(episode) for episode in range(8)} == phases


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Curriculum, {"warmup_episodes": 0}, "`warmup_episodes` must be at least 1, got 0"),
        (Spread, {"calm": 1}, "`calm` must be at least 0 and below 1, got 1"),
        (Phases, {"pre": -1, "shock": 1}, "`pre` must be at least 0, got -1"),
        (Phases, {"pre": 1, "shock": 0}, "`shock` must be at least 1, got 0"),
    ],
)
def test_bad_parameters(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)


@pytest.mark.parametrize(("schedule", "first"), [(Curriculum(warmup_episodes=4), 2), (Phases(pre=3, shock=1), 4)])
def test_a_schedule_over_episodes_acts_once_a_level_is_above_0(schedule, first):
    assert [schedule.acts_within(episodes) for episodes in (first - 1, first, first + 9)] == [False, True, True]


def test_spread_gives_every_episode_one_level_and_uses_the_range_evenly():
    episodes = np.arange(1000)
    levels = Spread(calm=0.2).levels(episodes, np.zeros(1000))
    np.testing.assert_array_equal(levels, Spread(calm=0.2).levels(episodes, np.arange(1000)))
    assert abs((levels == 0).sum() - 200) <= 5
    counts, _ = np.histogram(levels[levels > 0], bins=10, range=(0.0, 1.0))
    assert counts.min() >= 75 and counts.max() <= 85
