"""One stack: rollout, training environment and `PerturbedEnv` observe, execute and reward the same bits."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from brittlestar import PerturbedEnv
from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts, Stack
from brittlestar.envs import EnvSpec
from brittlestar.envs.camera_env import CameraEnv
from brittlestar.envs.pixels import Pixels
from brittlestar.errors import UserError
from brittlestar.mitigations import ComposedMitigation, Ensemble, LowPass, Mitigation
from brittlestar.perturbations import GaussianObservation, Perturbation, SensorBlackout
from brittlestar.perturbations.context import Calibration
from brittlestar.policies import Policy
from brittlestar.randomness import reset_seeds
from brittlestar.schedules import Linear
from brittlestar.training import vec_env
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.spec import TrainingSpec
from brittlestar.training.vec_env import LaneVecEnv

SEED, EPISODES, STEPS = 5, 2, 6
RESETS = reset_seeds(SEED, EPISODES)


class Camera(gym.Env):
    """Shows a noisy picture, brighter by the action."""

    observation_space = gym.spaces.Box(0, 255, (16, 16, 1), np.uint8)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._picture(0.0), {}

    def step(self, action):
        return self._picture(float(action[0])), float(action[1]), False, False, {}

    def _picture(self, light):
        return self.np_random.integers(0, 200, (16, 16, 1)).astype(np.uint8) + np.uint8(50 * abs(light))


gym.register("Camera-v0", Camera)

SEEN = "FetchReach-v4 through a camera"
ENVS = ("HalfCheetah-v5", "CartPole-v1", "FetchReach-v4", "Camera-v0", "CliffWalking-v1", SEEN)
OPTIONS = {"env_parameter": {"attribute": "dof_armature"}}
FAST_SCENES = ("camera_view", "scene_light", "scene_texture")
NEEDS_POLICY = ("fgsm_observation", "mad_observation", "pgd_observation")
"""Attacks on the policy, which a learner's environment does not have."""


class Log(gym.Wrapper):
    """Logs what the environment executes, and starts its episodes from the seeds of a rollout."""

    def __init__(self, env, executed):
        super().__init__(env)
        self.executed, self.seeds = executed, iter(RESETS)

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=next(self.seeds, 0))

    def step(self, action):
        self.executed.append(np.array(action))
        return self.env.step(action)


@dataclass
class LoggedSpec(EnvSpec):
    executed: list = field(default_factory=list)

    def make(self, like=None):
        return Log(super().make(like), self.executed)


class Script(Policy):
    """Takes actions from a list, one for each step that is executed, and logs what it sees."""

    def __init__(self, actions, executed):
        self.actions, self.executed, self.seen = actions, executed, []

    def bind(self, observation_space, action_space, draws):
        pass

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        self.seen.append(observation)
        return self.actions[len(self.executed)][None], None


@dataclass
class Bits:
    """What a loop observes, executes and is rewarded by, as bytes."""

    observed: list = field(default_factory=list)
    executed: list = field(default_factory=list)
    rewarded: list = field(default_factory=list)


def row_bytes(observation: Any) -> dict[str, bytes]:
    entries = observation if isinstance(observation, dict) else {"": observation}
    return {key: np.asarray(entry).tobytes() for key, entry in entries.items()}


def as_bits(spec: LoggedSpec, observed: list, rewarded: list) -> Bits:
    rewards = [np.float32(reward).tobytes() for reward in rewarded]
    return Bits([row_bytes(each) for each in observed], [np.asarray(each).tobytes() for each in spec.executed], rewards)


def first_lane(batch: Any) -> Any:
    return {key: rows[0] for key, rows in batch.items()} if isinstance(batch, dict) else batch[0]


@dataclass
class Case:
    """One perturbation and one mitigation in one environment."""

    env_id: str
    perturbation: Perturbation
    mitigation: Mitigation = field(default_factory=Mitigation)
    schedule: Linear = field(default_factory=lambda: Linear(warmup_steps=4, start=0.25))

    def __post_init__(self):
        self.bare = EnvSpec(id=self.env_id.split()[0], max_steps=STEPS).make()
        self.bare.action_space.seed(0)
        self.actions = np.array([self.bare.action_space.sample() for _ in range(EPISODES * STEPS)])
        space = self.bare.observation_space
        entries = space.spaces if isinstance(space, gym.spaces.Dict) else {"": space}
        ones = {key: np.full(entry.shape or (), 0.5) for key, entry in entries.items()}
        self.calibration = Calibration(ones, ones, ones, ones, STEPS, 0.5)

    def spec(self) -> LoggedSpec:
        pixels = Pixels(camera="external_camera_0", size=16, samples=0, stack=2) if self.env_id == SEEN else Pixels()
        return LoggedSpec(id=self.env_id.split()[0], max_steps=STEPS, pixels=pixels)

    def rollout(self) -> Bits:
        spec = self.spec()
        policy = Script(self.actions, spec.executed)
        lanes = Lanes(spec, 1, own_models=self.perturbation.needs_world)
        parts = Parts(policy, self.perturbation, self.mitigation, self.schedule)
        plan = Plan(EPISODES, SEED, record="trajectories")
        rows = rollout(lanes, parts, plan, calibration=self.calibration)
        lanes.close()
        return as_bits(spec, [first_lane(batch) for batch in policy.seen], rows.trajectories["seen_rewards"])

    def perturbed_env(self) -> Bits:
        spec, observed, rewarded = self.spec(), [], []
        inner = CameraEnv(spec.make(), spec.pixels) if spec.pixels.cameras else spec.make()
        env = PerturbedEnv(inner, self.perturbation, self.schedule, self.calibration, self.mitigation)
        actions, seed = iter(self.actions), SEED
        for _ in range(EPISODES):
            observation, _ = env.reset(seed=seed)
            ended, seed = False, None
            while not ended:
                observed.append(observation)
                observation, reward, terminated, truncated, _ = env.step(next(actions))
                rewarded.append(reward)
                ended = terminated or truncated
        env.close()
        return as_bits(spec, observed, rewarded)

    def training(self) -> Bits:
        spec, observed, rewarded, parts = self.spec(), [], [], (self.perturbation, self.mitigation, self.schedule)
        training = TrainingSpec(spec, Algorithm("ppo", envs=1), Parts(None, *parts), SEED)
        env = LaneVecEnv(training, calibrate=lambda: self.calibration)
        observation, ended, actions = env.reset(), 0, iter(self.actions)
        while ended < EPISODES:
            observed.append(first_lane(observation))
            observation, reward, done, _ = env.step(next(actions)[None])
            rewarded.append(reward[0])
            ended += int(done[0])
        env.close()
        return as_bits(spec, observed, rewarded)


@pytest.fixture
def one_name_per_stream(monkeypatch):
    """Gives the streams of a training the names of an evaluation."""
    monkeypatch.setattr(vec_env, "training_stream", str)


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (config_folder() / group).glob("*.yaml"))


def fitting(group: str, name: str) -> tuple[Case, Bits]:
    """Returns the first environment that an option can act in, and what a rollout gives there."""
    refusals = []
    for env_id in ENVS:
        part = load(group, name, **OPTIONS.get(name, {}))
        parts = {"perturbation": GaussianObservation(sigma=0.1), group: part}
        case = Case(env_id, **parts)
        try:
            return case, case.rollout()
        except UserError as error:
            refusals.append(f"{env_id}: {error}")
    pytest.fail("\n".join(refusals))


def perturbations() -> list:
    """Every perturbation; those of scenes draw pictures of a robot, so most of them are slow."""
    slow = [name for name in names("perturbation") if name not in FAST_SCENES and of(name).needs_scene]
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in names("perturbation")]


def of(name: str) -> Perturbation:
    return load("perturbation", name, **OPTIONS.get(name, {}))


@pytest.mark.parametrize("name", perturbations())
def test_every_perturbation_gives_the_same_bits_in_all_three(name, one_name_per_stream, request):
    if of(name).needs_scene:
        request.getfixturevalue("gl")
    if name in NEEDS_POLICY:
        case = Case("HalfCheetah-v5", load("perturbation", name))
        for loop in (case.perturbed_env, case.training):
            with pytest.raises(UserError, match="needs the policy that acts"):
                loop()
        return
    case, expected = fitting("perturbation", name)
    assert len(expected.executed) == len(expected.observed) > 2
    assert case.perturbed_env() == case.training() == expected


@pytest.mark.parametrize("name", names("mitigation"))
def test_every_mitigation_gives_the_same_bits_in_all_three(name, one_name_per_stream):
    case, expected = fitting("mitigation", name)
    for loop in (case.perturbed_env, case.training):
        if case.mitigation.wraps_policy:
            with pytest.raises(UserError, match="train with `mitigation=none`"):
                loop()
        else:
            assert loop() == expected


class Counted(Perturbation):
    """Adds how many observations it has seen since it was bound, over all episodes."""

    def bind(self, observation_space, action_space, lanes):
        self.count = 0

    def perturb_observation(self, observation, step):
        self.count += 1
        return observation + np.float32(self.count)


def test_the_last_observation_of_an_episode_leaves_no_trace(one_name_per_stream):
    case = Case("CartPole-v1", Counted())
    assert case.perturbed_env() == case.training() == case.rollout()


def test_a_state_that_goes_on_over_episodes_is_the_same_in_all_three(one_name_per_stream):
    case = Case("CartPole-v1", SensorBlackout(share=0.5, carry="shock"))
    assert case.perturbed_env() == case.training() == case.rollout()


def test_the_noise_of_a_training_is_independent_of_an_evaluation_with_the_same_seed():
    case = Case("HalfCheetah-v5", GaussianObservation(sigma=0.1))
    assert case.training().observed != case.rollout().observed
    assert case.training() == case.training()


def test_a_mitigation_that_wraps_the_policy_is_refused_also_inside_a_composition():
    vote = ComposedMitigation([LowPass(alpha=0.5), Ensemble(sigma=0.1)])
    assert vote.wraps_policy and not ComposedMitigation([LowPass(alpha=0.5)]).wraps_policy
    case = Case("HalfCheetah-v5", Perturbation(), vote)
    for loop in (case.perturbed_env, case.training):
        with pytest.raises(UserError, match="changes how a policy chooses its actions") as refusal:
            loop()
        assert "\n" not in str(refusal.value)


@dataclass
class Level(Perturbation):
    """Shows the level of its strength as the observation."""

    strength_field: ClassVar[str] = "size"
    size: float = 1.0
    other: float = 1.0

    def perturb_observation(self, observation, step):
        return observation * 0 + step.level_for(observation)


@pytest.mark.parametrize(
    ("parameter", "level"),
    [(None, 0.25), ("size", 0.25), ("other", 1.0), (["size", "other"], 0.25), (["other"], 1.0)],
)
def test_the_level_of_the_strength_is_1_if_other_fields_are_scheduled(parameter, level):
    schedule = Linear(warmup_steps=4, start=0.25, parameter=parameter)
    stack = Stack(Lanes(EnvSpec(id="CartPole-v1"), count=1), Parts(None, Level(), schedule=schedule))
    stack.bind()
    stack.at(np.array([0]), np.array([0]))
    assert stack.observe(np.zeros((1, 4))).mitigated.tolist() == [[level] * 4]
