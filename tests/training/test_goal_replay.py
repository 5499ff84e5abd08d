"""Hindsight replay with cheap batches and a share of demonstrations."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium import spaces

from brittlestar.training.goal_replay import GoalReplay

LENGTH, LANES, ROWS = 5, 2, 40
SPACE = spaces.Dict({key: spaces.Box(-1e6, 1e6, (1,)) for key in ("achieved_goal", "desired_goal", "observation")})


class Judge:
    """Rewards a goal that is reached to the digit."""

    def env_method(self, name, achieved, goals, infos, indices):
        return [np.where(np.abs(achieved - goals).max(axis=1) < 0.5, 0.0, -1.0)]


def fill(steps: int) -> GoalReplay:
    """Returns a buffer in which the observation counts steps, 1000 times the lane added, and the goal is -1."""
    buffer = GoalReplay(ROWS * LANES, SPACE, spaces.Box(-1, 1, (1,)), Judge(), n_envs=LANES)
    for step in range(steps):
        now = 1000.0 * np.arange(LANES)[:, None] + step
        parts = [
            {"observation": at, "achieved_goal": at, "desired_goal": np.full((LANES, 1), -1.0)} for at in (now, now + 1)
        ]
        ends = np.full(LANES, step % LENGTH == LENGTH - 1)
        infos = [{"TimeLimit.truncated": bool(end)} for end in ends]
        buffer.add(*parts, np.zeros((LANES, 1)), np.full(LANES, -1.0), ends, infos)
    return buffer


@pytest.mark.parametrize("steps", [13, 38, 103])
def test_batches_hold_finished_episodes_and_goals_that_they_reach(steps):
    """Also after the buffer has started to overwrite its oldest rows."""
    np.random.seed(0)  # noqa: NPY002
    buffer = fill(steps)
    rows = buffer.sample(2000)
    seen, goals = rows.observations["observation"].numpy()[:, 0], rows.observations["desired_goal"].numpy()[:, 0]
    step, oldest = seen % 1000, max(0, steps - ROWS)
    last = steps - steps % LENGTH
    assert (step < last).all() and (step >= oldest).all()
    assert len(set(step.tolist())) >= last - oldest - LENGTH
    virtual = goals >= 0
    assert abs(virtual.mean() - 0.8) < 0.05
    # The goal is what the same lane achieves later in the same episode.
    assert (goals[virtual] // 1000 == seen[virtual] // 1000).all() and (goals > seen)[virtual].all()
    assert ((goals[virtual] % 1000 - 1) // LENGTH == step[virtual] // LENGTH).all()
    reached = rows.next_observations["achieved_goal"].numpy()[:, 0] == goals
    np.testing.assert_array_equal(rows.rewards.numpy()[:, 0], np.where(reached, 0.0, -1.0))
    assert not rows.dones.any()
    np.testing.assert_array_equal(rows.next_observations["desired_goal"].numpy()[:, 0], goals)


def test_a_fixed_share_of_a_batch_are_demonstrations():
    np.random.seed(0)  # noqa: NPY002
    buffer = fill(38)
    buffer.demonstrations, buffer.share = 10, 0.25
    step = buffer.sample(400).observations["observation"].numpy()[:, 0] % 1000
    assert (step < 10).sum() == 100
    # Before the learner has finished an episode, all of them are.
    buffer = fill(13)
    buffer.demonstrations, buffer.share = 10, 0.25
    assert (buffer.sample(400).observations["observation"].numpy()[:, 0] % 1000 < 10).all()


def test_a_buffer_without_a_finished_episode_cannot_be_sampled():
    with pytest.raises(RuntimeError, match="no episode has ended yet"):
        fill(3).sample(4)
