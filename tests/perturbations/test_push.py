import gymnasium as gym
import numpy as np
import pytest

from brittlestar.engine.perturbed_env import PerturbedEnv
from brittlestar.perturbations import Push
from brittlestar.schedules import Bursts


def forces(push, episodes=1, steps=50, schedule=None, env_id="Ant-v5", seed=0):
    """The force on the torso in every step, `(episodes, steps, 3)`."""
    env, forces = PerturbedEnv(gym.make(env_id), push, schedule), []
    still = np.zeros(env.action_space.shape, np.float32)
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        assert not env.unwrapped.data.xfrc_applied.any()
        for _ in range(steps):
            env.step(still)
            applied = env.unwrapped.data.xfrc_applied
            assert not np.delete(applied, 1, axis=0).any()
            assert not applied[1, 3:].any()
            forces.append(applied[1, :3].copy())
    env.close()
    assert not env.unwrapped.data.xfrc_applied.any()
    return np.array(forces).reshape(episodes, steps, 3)


def test_drawn_pushes_start_at_the_rate_and_last():
    sizes = np.linalg.norm(forces(Push(30.0, rate=0.1, duration_steps=3), episodes=20), axis=2)
    on = sizes > 0
    np.testing.assert_allclose(sizes[on], 30.0)
    starts = on & ~np.roll(on, 1, axis=1)
    # A push starts in one of ten steps without one, and takes three: 3 of 12 steps.
    assert on.mean() == pytest.approx(3 / 12, abs=0.05)
    assert starts[:, 1:].sum() > 40
    lengths = [
        len(run) for row in on[:, :-3].astype(int) for run in "".join(map(str, row)).strip("0").split("0") if run
    ]
    assert min(lengths) >= 1
    assert np.median(lengths) == 3


def test_direction_is_horizontal_kept_within_a_push_and_drawn_for_each():
    seen = forces(Push(10.0, rate=0.2, duration_steps=2), episodes=4)
    assert not seen[..., 2].any()
    pushes = seen[np.linalg.norm(seen, axis=2) > 0]
    distinct = np.unique(pushes.round(9), axis=0)
    assert len(pushes) / 2.3 < len(distinct) < len(pushes) / 1.7
    assert distinct[:, 0].min() < 0 < distinct[:, 0].max()


def test_a_fixed_direction_on_a_schedule():
    seen = forces(Push(8.0, direction=[0, 3, 4]), schedule=Bursts(onset_step=4, duration_steps=2), steps=10)[0]
    expected = np.zeros((10, 3))
    expected[4:6] = [0.0, 4.8, 6.4]
    np.testing.assert_allclose(seen, expected)


def test_times_and_directions_do_not_depend_on_the_strength():
    weak, strong, other = (forces(Push(n, rate=0.3), seed=seed) for n, seed in ((1.0, 0), (5.0, 0), (1.0, 1)))
    np.testing.assert_allclose(5 * weak, strong, atol=1e-12)
    assert not np.allclose(weak, other)


def test_a_push_moves_the_body():
    env, x = gym.make("Ant-v5"), {}
    for newtons in (0.0, 40.0):
        pushed = PerturbedEnv(env, Push(newtons, direction=[1, 0, 0]))
        pushed.reset(seed=0)
        for _ in range(10):
            pushed.step(np.zeros(8, np.float32))
        x[newtons] = float(env.unwrapped.data.qpos[0])
    assert x[40.0] > x[0.0] + 0.01
