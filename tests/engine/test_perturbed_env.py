import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from stable_baselines3.common.env_checker import check_env as sb3_check

from brittlestar import PerturbedEnv, evaluate, load
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.perturbations import (
    BodyMass,
    ComposedPerturbation,
    ControlTimestep,
    DelayedObservation,
    DriftObservation,
    GaussianAction,
    GaussianObservation,
    MaskObservation,
    Perturbation,
    Push,
    ScaledAction,
)
from brittlestar.policies import Policy
from brittlestar.schedules import Constant

CASES = {
    "CartPole-v1": GaussianObservation(sigma=0.1),
    "MountainCar-v0": GaussianObservation(sigma=0.1),
    "Pendulum-v1": ComposedPerturbation([GaussianObservation(sigma=0.1), GaussianAction(sigma=0.1)]),
    "FrozenLake-v1": Perturbation(),
    "HalfCheetah-v5": GaussianAction(sigma=0.1),
    "FetchReach-v4": GaussianObservation(sigma=0.01),
}


@pytest.mark.parametrize("env_id", CASES)
@pytest.mark.parametrize("check", [gymnasium_check, sb3_check])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checkers_of_gymnasium_and_stable_baselines3_pass(env_id, check):
    plain = EnvSpec(id=env_id).make()
    options = {"skip_render_check": True} if check is gymnasium_check else {}
    check(PerturbedEnv(plain, CASES[env_id]), **options)


def steps(env, seed, count=5):
    seen = [env.reset(seed=seed)[0]]
    seen += [env.step(env.unwrapped.action_space.low * 0)[0] for _ in range(count)]
    return np.array(seen)


def test_noise_follows_the_seed_of_reset_and_goes_on_over_episodes():
    env = PerturbedEnv(gym.make("Pendulum-v1"), GaussianObservation(sigma=0.1))
    first = steps(env, 3)
    second = steps(env, None)
    assert np.array_equal(steps(env, 3), first)
    assert np.array_equal(steps(env, None), second)
    assert not np.allclose(first, second)


def test_the_environments_own_stream_is_untouched():
    plain, noisy = gym.make("Pendulum-v1"), PerturbedEnv(gym.make("Pendulum-v1"), GaussianObservation(sigma=9.0))
    for seed in (1, None, None):
        assert np.array_equal(plain.reset(seed=seed)[0], noisy.reset(seed=seed)[1]["true_observation"])


@pytest.mark.parametrize("perturbation", [DelayedObservation(delay_steps=2), DriftObservation(sigma=0.1)])
def test_environments_that_share_a_perturbation_share_nothing_else(perturbation):
    pair = [PerturbedEnv(gym.make("Pendulum-v1"), perturbation) for _ in range(2)]
    alone = steps(PerturbedEnv(gym.make("Pendulum-v1"), perturbation), seed=0)
    pair[0].reset(seed=0), pair[1].reset(seed=1)
    still = np.zeros(1, np.float32)
    for expected in alone[1:]:
        assert np.array_equal(pair[0].step(still)[0], expected)
        pair[1].step(still)


def test_integers_are_valid_actions_of_a_box():
    for perturbation in (GaussianAction(sigma=0.5), ScaledAction(loss=0.5)):
        sent = []
        for action in ([1], np.array([1.0], np.float32)):
            env = PerturbedEnv(gym.make("Pendulum-v1"), perturbation)
            env.reset(seed=0)
            env.step(action)
            sent.append(env.unwrapped.last_u)
        assert sent[0] == sent[1] != 1


@pytest.mark.parametrize("perturbation", [BodyMass(0.5), Push(20.0), ControlTimestep(1.0)])
def test_a_world_is_restored_as_an_episode_ends(perturbation):
    env = PerturbedEnv(gym.make("Hopper-v5", max_episode_steps=3), perturbation)
    robot = env.unwrapped
    env.reset(seed=0)

    def world():
        forces = robot.data.xfrc_applied.tobytes()
        return robot.model.body_mass.tobytes(), robot.model.body_invweight0.tobytes(), robot.frame_skip, forces

    before, states = world(), []
    for _ in range(3):
        *_, terminated, truncated, _ = env.step(np.zeros(3, np.float32))
        states.append((terminated or truncated, world() == before))
    assert states == [(False, False), (False, False), (True, True)]


class Still(Policy):
    """Remembers what it saw."""

    def bind(self, observation_space, action_space, draws):
        self.seen = []

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        self.seen.append(observation[0])
        return np.zeros((1, 1), np.float32), None


def test_its_noise_is_that_of_a_sweep():
    spec, noise, policy = EnvSpec(id="Pendulum-v1", max_steps=6), GaussianObservation(sigma=0.3), Still()
    rollout(Lanes(spec, 1), Parts(policy, noise), Plan(1, seed=4, consecutive=False))
    env = PerturbedEnv(spec.make(), noise)
    clean = []
    observation, info = env.reset(seed=4)
    for _ in range(6):
        clean.append(observation - info["true_observation"])
        observation, *_, info = env.step(np.zeros(1, np.float32))
    swept = np.array(policy.seen)
    assert swept.shape == (6, 3)
    # Start states differ (a sweep derives reset seeds), the noise is the same draw.
    plain = spec.make()
    from brittlestar.randomness import reset_seeds

    truth = [plain.reset(seed=reset_seeds(4, 1)[0])[0]]
    truth += [plain.step(np.zeros(1, np.float32))[0] for _ in range(5)]
    np.testing.assert_allclose(swept - np.array(truth), clean, atol=1e-6)


def test_a_schedule_scales_the_strength():
    plain = gym.make("Pendulum-v1")
    full, half = (PerturbedEnv(plain, GaussianObservation(sigma=1.0), Constant(level=level)) for level in (1.0, 0.5))
    change = [env.reset(seed=0)[0] - env.reset(seed=0)[1]["true_observation"] for env in (full, half)]
    np.testing.assert_allclose(change[0] / 2, change[1], rtol=1e-5)


def test_rewards_are_perturbed_for_the_learner_only():
    class Flip(Perturbation):
        def perturb_reward(self, reward, step):
            return -reward

    env = PerturbedEnv(gym.make("CartPole-v1"), Flip())
    env.reset(seed=0)
    _, reward, *_, info = env.step(0)
    assert reward == -1.0
    assert info["true_reward"] == 1.0


def test_strength_zero_is_the_bare_environment():
    plain, wrapped = gym.make("Pendulum-v1"), PerturbedEnv(gym.make("Pendulum-v1"), GaussianObservation(sigma=0.0))
    assert np.array_equal(steps(plain, 5), steps(wrapped, 5))


@pytest.mark.parametrize("p", [0.0, 0.8])
def test_agents_train_with_masks_and_are_tested_without_and_the_reverse(p, tmp_path):
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    env = PerturbedEnv(gym.make("CartPole-v1"), MaskObservation(p=p, r=0.5, kind="channel"))
    model = stable_baselines3.PPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.learn(128)
    zeros = np.mean(model.rollout_buffer.observations == 0)
    assert abs(zeros - p * 0.5) < 0.1
    model.save(tmp_path / "agent.zip")
    policy = load("policy", "sb3", path=str(tmp_path / "agent.zip"))
    returns = [
        evaluate("cartpole", policy, perturbation=MaskObservation(p=q, r=0.5), episodes=8).curve["return"][0]
        for q in (0.0, 1.0)
    ]
    assert returns[0] != returns[1]
