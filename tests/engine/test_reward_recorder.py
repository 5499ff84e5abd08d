"""Reward over time, compared with whole trajectories."""

import numpy as np
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.reward_recorder import MOST_POINTS, QUANTILES, REWARD_COLUMNS, RewardRecorder
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.policies import RandomPolicy
from brittlestar.schedules import Phases


def make_totals(longest: int, episodes: int = 23) -> list[np.ndarray]:
    """The cumulative rewards of episodes of different lengths."""
    random = np.random.default_rng(longest)
    return [random.normal(size=length).cumsum() for length in random.integers(1, longest, episodes, endpoint=True)]


def feed(totals: list[np.ndarray], lanes: int, max_steps: int | None) -> np.ndarray:
    """The record of episodes that run in lanes, each of which takes the next episode when one has ended."""
    recorder, queue = RewardRecorder(len(totals), lanes, max_steps), list(range(len(totals)))
    running = [queue.pop(0) for _ in range(lanes)]
    for lane, episode in enumerate(running):
        recorder.begin(lane, episode)
    steps, none = np.ones(lanes, dtype=np.int64), len(totals)
    while any(episode != none for episode in running):
        pairs = zip(running, steps.tolist(), strict=True)
        recorder.update(steps, np.array([0.0 if e == none else totals[e][step - 1] for e, step in pairs]))
        for lane, episode in enumerate(running):
            if episode == none or steps[lane] == len(totals[episode]):
                running[lane] = queue.pop(0) if queue else none
                recorder.begin(lane, running[lane])
                steps[lane] = 0
        steps += 1
    lengths, returns = np.array([len(total) for total in totals]), np.array([total[-1] for total in totals])
    return recorder.summary(lengths, returns, np.zeros(len(totals), dtype=np.int64))[0]


@pytest.mark.parametrize(
    ("longest", "limit", "distance"),
    [(60, None, 1), (60, 60, 1), (128, 128, 1), (250, None, 2), (250, 500, 4), (1000, 1000, 8), (3000, 100_000, 32)],
)
def test_mean_and_quantiles_are_those_of_whole_trajectories(longest, limit, distance):
    totals = make_totals(longest)
    record = feed(totals, 5, limit)
    assert (record.shape[1], record.dtype) == (len(REWARD_COLUMNS), np.float32)
    assert len(record) <= MOST_POINTS and record.nbytes < 4000
    steps = record[:, 0].astype(int)
    assert steps[0] == distance and (np.diff(steps)[:-1] == distance).all()
    assert steps[-1] == max(map(len, totals))
    # An episode that has ended keeps its return.
    table = np.array([[total[min(step, len(total)) - 1] for step in steps] for total in totals])
    expected = np.column_stack([table.mean(axis=0), *np.quantile(table, QUANTILES, axis=0)])
    np.testing.assert_allclose(record[:, 1:], expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("longest", "limit"), [(60, None), (700, None), (700, 1000)])
def test_lanes_change_nothing(longest, limit):
    assert len({feed(make_totals(longest), lanes, limit).tobytes() for lanes in (1, 4, 23)}) == 1


def test_a_rollout_records_the_true_rewards_of_every_phase(counter):
    schedule = Phases(segments=[["pre", 2], ["shock", 3], ["post", 2]])
    rows = rollout(Lanes(counter, 3), Parts(RandomPolicy(), schedule=schedule), Plan(7))
    assert rows.phases == ["pre", "shock", "post"]
    # It pays 1 a step, and ends after 4.
    assert rows.rewards.shape == (3, 4, len(REWARD_COLUMNS))
    for record in rows.rewards:
        assert (record == np.arange(1, 5)[:, None]).all()


def test_cells_of_many_episodes_do_not_fill_the_memory():
    for episodes in (100_000, 1_000_000):
        recorder = RewardRecorder(episodes, lanes=1, max_steps=500)
        assert recorder._totals.nbytes < 2**26
        recorder.begin(0, episodes - 1)
        for step in range(1, 501):
            recorder.update(np.array([step]), np.array([float(step)]))
        assert recorder._totals.max() == 500
