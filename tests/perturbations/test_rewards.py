import dataclasses

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.perturbations import DelayedReward, InvertedReward, NoisyReward, ScaledReward
from brittlestar.policies import RandomPolicy
from brittlestar.schedules import Bursts

BOX = spaces.Box(-1.0, 1.0, (2,))
PARTS = [
    InvertedReward(inversion=0.5),
    ScaledReward(gain=0.5),
    NoisyReward(sigma=0.5),
    DelayedReward(delay_steps=2),
    DelayedReward(delay_steps=2, jitter_steps=2),
]


def play(part, rewards, make_step, parameter=None, **options):
    lanes = rewards.shape[1]
    part.bind(BOX, BOX, lanes)
    seen = []
    for t, reward in enumerate(rewards):
        step = make_step(lanes, step=t, **options)
        step.parameter = parameter
        seen.append(part.perturb_reward(reward, step))
    return np.array(seen)


def some_rewards(lanes=3, steps=30):
    return np.random.default_rng(0).normal(size=(steps, lanes))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (InvertedReward(inversion=1.0), [-2.0, 4.0]),
        (InvertedReward(inversion=0.25), [1.0, -2.0]),
        (ScaledReward(gain=1.0), [4.0, -8.0]),
        (ScaledReward(gain=-1.0), [0.0, 0.0]),
        (DelayedReward(delay_steps=1), [0.0, 0.0]),
    ],
)
def test_what_a_learner_sees(part, expected, make_step):
    assert play(part, np.array([[2.0, -4.0]]), make_step)[0].tolist() == expected


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_shape_and_input_are_kept(part, dtype, make_step):
    rewards = some_rewards().astype(dtype)
    before = rewards.copy()
    seen = play(part, rewards, make_step)
    assert seen.dtype == dtype
    assert seen.shape == rewards.shape
    assert (seen != rewards).any()
    assert np.array_equal(rewards, before)


@pytest.mark.parametrize("part", PARTS)
def test_strength_zero_is_exactly_the_identity(part, make_step):
    rewards = some_rewards()
    none = dataclasses.replace(part, **{part.strength_field: 0})
    assert none.is_identity
    assert np.array_equal(play(none, rewards, make_step), rewards)
    assert np.array_equal(play(part, rewards, make_step, level=0.0), rewards)


@pytest.mark.parametrize("part", [NoisyReward(sigma=0.5), DelayedReward(delay_steps=2, jitter_steps=2)])
def test_same_seed_same_output_other_seed_another(part, make_step):
    noise, repeated, other = (play(part, some_rewards(), make_step, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(noise, repeated)
    assert not np.array_equal(noise, other)


@pytest.mark.parametrize("part", PARTS)
def test_a_lane_does_not_depend_on_the_others(part, make_step):
    rewards = some_rewards()
    together = play(part, rewards, make_step, episodes=[4, 8, 6])
    assert np.array_equal(together[:, 1:2], play(part, rewards[:, 1:2], make_step, episodes=[8]))


@pytest.mark.parametrize("part", PARTS)
def test_a_schedule_can_scale_every_number(part, make_step):
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if value is None:
            continue
        half = dataclasses.replace(part, **{field.name: type(value)(value / 2)})
        scheduled = play(part, some_rewards(), make_step, parameter=field.name, level=0.5)
        np.testing.assert_allclose(scheduled, play(half, some_rewards(), make_step), rtol=1e-12)


def test_noise_has_its_variance_and_is_paired_across_strengths(make_step):
    rewards = np.ones((1, 20000))
    small, large = (play(NoisyReward(sigma=s), rewards, make_step) - 1 for s in (0.5, 2.0))
    assert small.std() == pytest.approx(0.5, rel=0.02)
    np.testing.assert_allclose(large, 4 * small, rtol=1e-9, atol=1e-12)


def test_a_delay_is_exact_and_loses_what_is_due_at_the_end(make_step):
    part = DelayedReward(delay_steps=2)
    part.bind(BOX, BOX, 1)
    for _ in range(2):  # the second episode must not be paid by the first
        seen = [part.perturb_reward(np.array([t + 1.0]), make_step(1, step=t))[0] for t in range(5)]
        assert seen == [0, 0, 1, 2, 3]


def test_jitter_pays_every_reward_once(make_step):
    rewards = np.zeros((40, 200))
    rewards[:30] = 2.0 ** np.arange(30)[:, None]
    seen = play(DelayedReward(delay_steps=2, jitter_steps=3), rewards, make_step)
    np.testing.assert_array_equal(seen.sum(axis=0), rewards.sum(axis=0))
    # The binary digits of a paid sum identify the rewards in it.
    delays = [t - s for t in range(40) for pay in seen[t] for s in range(30) if int(pay) >> s & 1]
    kinds, counts = np.unique(delays, return_counts=True)
    assert kinds.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(counts / counts.sum(), 0.25, atol=0.03)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (InvertedReward, {"inversion": 1.5}, r"`inversion` must be in \[0, 1\], got 1.5"),
        (ScaledReward, {"gain": float("inf")}, "`gain` must be finite, got inf"),
        (NoisyReward, {"sigma": -1}, "`sigma` must be at least 0, got -1"),
        (DelayedReward, {"delay_steps": -1}, "`delay_steps` must be a whole number, at least 0, got -1"),
        (DelayedReward, {"delay_steps": 1, "jitter_steps": 0.5}, "`jitter_steps` must be a whole number, .* got 0.5"),
    ],
)
def test_bad_parameters(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)


def run(part, **parts):
    lanes = Lanes(EnvSpec(id="CartPole-v1", max_steps=12), 2)
    return rollout(lanes, Parts(RandomPolicy(), part, **parts), Plan(5, seed=3))


def test_a_sweep_keeps_the_true_return_and_records_the_observed_one():
    truth, seen = run(InvertedReward(inversion=0.0)), run(InvertedReward(inversion=1.0))
    for rows in (truth, seen):
        assert np.array_equal(rows.column("return"), rows.column("length"))
    assert np.array_equal(truth.column("return"), seen.column("return"))
    assert np.array_equal(truth.column("return_observed"), truth.column("return"))
    assert np.array_equal(seen.column("return_observed"), -seen.column("return"))
    assert (truth.column("reward_change") == 0).all()
    assert (seen.column("reward_change") == 2).all()


def test_a_sweep_loses_the_rewards_that_are_due_at_the_end():
    rows = run(DelayedReward(delay_steps=3))
    assert np.array_equal(rows.column("return_observed"), rows.column("return") - 3)


def test_a_burst_counts_the_steps_outside_it_too():
    rows = run(InvertedReward(inversion=1.0), schedule=Bursts(onset_step=2, duration_steps=3))
    assert np.array_equal(rows.column("return_observed"), rows.column("return") - 6)


@pytest.mark.parametrize(("part", "expected"), [(InvertedReward(1.0), [-1, -1, -1]), (DelayedReward(2), [0, 0, 1])])
def test_a_learner_sees_it_and_finds_the_truth_in_info(part, expected):
    env = PerturbedEnv(gym.make("CartPole-v1"), part)
    for seed in (0, 1):
        env.reset(seed=seed)
        steps = [env.step(t % 2) for t in range(3)]
        assert [reward for _, reward, *_ in steps] == expected
        assert [info["true_reward"] for *_, info in steps] == [1.0, 1.0, 1.0]
