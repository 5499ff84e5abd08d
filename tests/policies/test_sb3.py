import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from samples import AGENTS, bound, needs_agents, observations, zip_of

from brittlestar.checkpoints import find_statistics, read_checkpoint, read_statistics
from brittlestar.errors import UserError
from brittlestar.policies.sb3 import Sb3Policy, ZooFolderPolicy

torch = pytest.importorskip("torch")


def goal_space():
    box = spaces.Box(-1, 1, (3,), np.float32)
    return spaces.Dict({"observation": box, "achieved_goal": box, "desired_goal": spaces.Box(-1, 1, (2,), np.float32)})


class Toy(gym.Env):
    """Any spaces."""

    def __init__(self, seen, acts):
        self.observation_space, self.action_space = seen, acts


SEEN, ACTS = spaces.Box(-1, 1, (5,), np.float32), spaces.Box(-2.0, 3.0, (2,), np.float32)
MADE = [
    ("PPO", {}, SEEN, ACTS),
    ("PPO", {"use_sde": True, "policy_kwargs": {"squash_output": True}}, SEEN, ACTS),
    ("PPO", {"policy_kwargs": {"activation_fn": torch.nn.ELU, "net_arch": [8]}}, SEEN, spaces.Discrete(3)),
    ("PPO", {"policy_kwargs": {"activation_fn": torch.nn.SiLU}}, SEEN, spaces.MultiDiscrete([2, 4])),
    ("A2C", {"policy_kwargs": {"activation_fn": torch.nn.LeakyReLU}}, SEEN, spaces.MultiBinary(3)),
    ("A2C", {}, spaces.Discrete(4), spaces.Discrete(3)),
    ("A2C", {"policy": "MultiInputPolicy"}, goal_space(), ACTS),
    ("DQN", {}, SEEN, spaces.Discrete(3)),
    ("DDPG", {}, SEEN, ACTS),
    ("TD3", {}, SEEN, ACTS),
    ("SAC", {}, SEEN, ACTS),
    ("SAC", {"use_sde": True}, SEEN, ACTS),
    ("SAC", {"use_sde": True, "policy_kwargs": {"net_arch": []}}, SEEN, ACTS),
    ("SAC", {"policy": "MultiInputPolicy"}, goal_space(), ACTS),
    ("TRPO", {}, SEEN, ACTS),
    ("ARS", {}, SEEN, ACTS),
    ("ARS", {"policy": "LinearPolicy"}, SEEN, ACTS),
    ("QRDQN", {}, SEEN, spaces.Discrete(3)),
    ("TQC", {}, SEEN, ACTS),
    ("CrossQ", {}, SEEN, ACTS),
    ("MaskablePPO", {}, SEEN, spaces.Discrete(3)),
]


@pytest.mark.parametrize(("algorithm", "options", "seen", "acts"), MADE)
def test_every_algorithm_is_rebuilt(tmp_path, algorithm, options, seen, acts):
    import sb3_contrib
    import stable_baselines3

    kind = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    options = {"policy": "MlpPolicy"} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(env=Toy(seen, acts), seed=3, device="cpu", **options)
    with torch.no_grad():
        # The outputs of new networks are nearly 0: scale them up, and give batch norms some statistics.
        rng = torch.Generator().manual_seed(0)
        for name, value in model.policy.state_dict().items():
            if value.dtype.is_floating_point:
                noise = torch.rand(value.shape, generator=rng)
                value.copy_(noise + 0.5 if "ra_var" in name else value + 0.3 * (noise - 0.5))
    model.save(tmp_path / "model.zip")
    checkpoint = read_checkpoint(str(tmp_path / "model.zip"))
    policy = bound(Sb3Policy(str(tmp_path / "model.zip")), checkpoint.observation_space, checkpoint.action_space, 100)
    batch = (
        np.random.default_rng(0).integers(4, size=100)
        if isinstance(seen, spaces.Discrete)
        else observations(seen, 100, scale=3)
    )
    theirs = model.predict(batch, deterministic=True)[0]
    ours = policy.predict(batch)[0]
    assert len(np.unique(ours, axis=0)) > 1
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def made(tmp_path, policy, seen, **options):
    import stable_baselines3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stable_baselines3.PPO(policy, Toy(seen, ACTS), device="cpu", **options).save(tmp_path / "model.zip")
    return str(tmp_path / "model.zip")


def test_a_network_that_weights_do_not_determine_is_refused_with_the_reason(tmp_path):
    with pytest.raises(
        UserError,
        match=r"model.zip cannot be rebuilt .* activation `softplus` is not one of tanh, relu.*`policy.trust=true`",
    ):
        Sb3Policy(made(tmp_path, "MlpPolicy", SEEN, policy_kwargs={"activation_fn": torch.nn.Softplus}))


def test_trust_loads_lane_by_lane(tmp_path, caplog):
    image = spaces.Box(0, 255, (3, 36, 36), np.uint8)
    policy = bound(Sb3Policy(made(tmp_path, "CnnPolicy", image), trust=True), image, ACTS, lanes=3)
    assert "running code from" in caplog.text
    seen = np.random.default_rng(0).integers(255, size=(3, 3, 36, 36)).astype(np.uint8)
    together, _ = policy.predict(seen)
    alone, _ = bound(policy, image, ACTS, lanes=1).predict(seen[1:2])
    assert np.array_equal(together[1:2], alone)


def test_a_loaded_recurrent_policy_has_a_memory_per_lane_that_resets_at_a_start(tmp_path):
    import sb3_contrib

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sb3_contrib.RecurrentPPO("MlpLstmPolicy", Toy(SEEN, ACTS), device="cpu", seed=0).save(tmp_path / "model.zip")
    policy = bound(Sb3Policy(str(tmp_path / "model.zip"), trust=True), SEEN, ACTS, lanes=2)
    seen = observations(SEEN, 2)
    first, state = policy.predict(seen, None, np.array([True, True]))
    second, state = policy.predict(seen, state, np.array([False, True]))
    assert not np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])


@needs_agents
def test_a_zoo_folder_is_normalised_as_in_training():
    policy = ZooFolderPolicy(str(AGENTS / "ppo/HalfCheetah-v3_1"))
    space, acts = spaces.Box(-np.inf, np.inf, (17,)), spaces.Box(-1, 1, (6,))
    bound(policy, space, acts, lanes=5)
    seen = observations(space, 5) * 3
    statistics = read_statistics(str(AGENTS / "ppo/HalfCheetah-v3_1/HalfCheetah-v3/vecnormalize.pkl"))
    scaled = np.clip((seen - statistics.mean[""]) / np.sqrt(statistics.var[""] + 1e-8), -10, 10)
    plain = bound(Sb3Policy(zip_of("ppo/HalfCheetah-v3_1"), statistics="none"), space, acts, lanes=5)
    np.testing.assert_allclose(policy.predict(seen)[0], plain.predict(scaled)[0], atol=1e-5)
    assert not np.allclose(policy.predict(seen)[0], plain.predict(seen)[0], atol=1e-2)


@needs_agents
def test_statistics_next_to_a_zip_are_found():
    space, acts = spaces.Box(-np.inf, np.inf, (17,)), spaces.Box(-1, 1, (6,))
    policy = bound(Sb3Policy(zip_of("ppo/HalfCheetah-v3_1")), space, acts, lanes=3)
    folder = bound(ZooFolderPolicy(str(AGENTS / "ppo/HalfCheetah-v3_1")), space, acts, lanes=3)
    seen = observations(space, 3)
    assert np.array_equal(policy.predict(seen)[0], folder.predict(seen)[0])


@needs_agents
def test_time_feature_and_goals_come_from_the_folder():
    ant = ZooFolderPolicy(str(AGENTS / "ppo/Ant-v3_1"))
    bound(ant, spaces.Box(-np.inf, np.inf, (111,)), spaces.Box(-1, 1, (8,)), lanes=1)
    seen = np.zeros((1, 111))
    first, state = ant.predict(seen, None, np.array([True]))
    second, _ = ant.predict(seen, state, np.array([False]))
    assert not np.array_equal(first, second)
    goal = {key: spaces.Box(-np.inf, np.inf, (n,)) for key, n in (("observation", 10), ("desired_goal", 3))}
    reach = spaces.Dict(goal | {"achieved_goal": goal["desired_goal"]})
    her = bound(ZooFolderPolicy(str(AGENTS / "her/FetchReach-v1_1")), reach, spaces.Box(-1, 1, (4,)), lanes=2)
    assert her.predict(observations(reach, 2))[0].shape == (2, 4)


@needs_agents
@pytest.mark.parametrize("name", ["ppo/HalfCheetah-v3_1", "her/FetchReach-v1_1", "ppo/Ant-v3_1"])
def test_trust_gives_the_same_actions(name):
    rebuilt = ZooFolderPolicy(str(AGENTS / name))
    loaded = ZooFolderPolicy(str(AGENTS / name), trust=True)
    checkpoint = read_checkpoint(zip_of(name))
    space = checkpoint.observation_space
    if name.startswith("her"):
        sizes = {"observation": 10, "desired_goal": 3, "achieved_goal": 3}
        space = spaces.Dict({key: spaces.Box(-np.inf, np.inf, (n,)) for key, n in sizes.items()})
    if name.startswith("ppo/Ant"):
        space = spaces.Box(-np.inf, np.inf, (111,))
    seen = observations(space, 4)
    start = np.ones(4, dtype=bool)
    answers = [
        bound(policy, space, checkpoint.action_space, lanes=4).predict(seen, None, start)[0]
        for policy in (rebuilt, loaded)
    ]
    np.testing.assert_allclose(*answers, atol=1e-5)


@needs_agents
def test_a_network_in_the_wrong_environment_is_refused():
    policy = Sb3Policy(zip_of("ppo/CartPole-v1_1"))
    with pytest.raises(UserError, match="takes 4 numbers, got 6"):
        bound(policy, spaces.Box(-1, 1, (6,)), spaces.Discrete(2), lanes=1)
    with pytest.raises(UserError, match=r"trained with actions Discrete\(2\), the environment has Discrete\(3\)"):
        bound(policy, spaces.Box(-1, 1, (4,)), spaces.Discrete(3), lanes=1)


@needs_agents
def test_adapters():
    ant, acts = str(AGENTS / "ppo/Ant-v3_1"), spaces.Box(-1, 1, (8,))
    newer = np.random.default_rng(0).standard_normal((2, 105))
    older = np.concatenate([newer[:, :27], np.zeros((2, 84))], axis=1)
    start = np.ones(2, dtype=bool)
    plain = bound(ZooFolderPolicy(ant), spaces.Box(-np.inf, np.inf, (111,)), acts, lanes=2)
    with_adapter = bound(ZooFolderPolicy(ant, "ant_v3"), spaces.Box(-np.inf, np.inf, (105,)), acts, lanes=2)
    blind = bound(ZooFolderPolicy(ant, "pad"), spaces.Box(-np.inf, np.inf, (105,)), acts, lanes=2)
    expected = plain.predict(older, None, start)[0]
    assert np.array_equal(with_adapter.predict(newer, None, start)[0], expected)
    assert not np.array_equal(blind.predict(newer, None, start)[0], expected)
    with pytest.raises(UserError, match=r"statistics have shape \(112,\), but the network has 106 inputs"):
        bound(ZooFolderPolicy(ant), spaces.Box(-np.inf, np.inf, (105,)), acts, lanes=2)
    with pytest.raises(UserError, match="`adapter` cannot be 'padd'; did you mean `pad`"):
        ZooFolderPolicy(ant, "padd")


def test_a_missing_checkpoint_is_named_with_its_path(tmp_path):
    (tmp_path / "model.zip").touch()
    with pytest.raises(UserError, match=f"{tmp_path}.*did you mean `model.zip`"):
        Sb3Policy(str(tmp_path / "modle.zip"))


def test_the_statistics_of_a_checkpoint_are_found(tmp_path):
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    envs = VecNormalize(make_vec_env("Pendulum-v1", 2, seed=0))
    sb3.PPO("MlpPolicy", envs, device="cpu").save(tmp_path / "model.zip")
    envs.reset()
    for _ in range(20):
        envs.step(np.ones((2, 1), np.float32))
    envs.save(str(tmp_path / "vecnormalize.pkl"))
    mean, std = Sb3Policy(str(tmp_path / "model.zip")).statistics_of(envs.observation_space)[""]
    np.testing.assert_allclose(mean, envs.obs_rms.mean)
    np.testing.assert_allclose(envs.normalize_obs(mean + std), np.ones(3), rtol=1e-6)


class TinyReach(gym.Env):
    """A goal environment of eight steps in which everything moves."""

    def __init__(self):
        # `TimeFeatureWrapper` changes the space of the environment that it wraps.
        self.observation_space, self.action_space = goal_space(), ACTS

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action):
        return self._look(), 0.0, False, False, {}

    def compute_reward(self, achieved, desired, info):
        return np.zeros(len(achieved))

    def _look(self):
        return {
            key: self.np_random.uniform(-1, 1, part.shape).astype(np.float32)
            for key, part in goal_space().spaces.items()
        }


@pytest.fixture
def tiny_reach():
    gym.register("TinyReach-v0", entry_point=TinyReach, max_episode_steps=8)
    yield "TinyReach-v0"
    del gym.registry["TinyReach-v0"]


def zoo_folder(tmp_path, env_id, wrapper, **files):
    """An empty folder of rl-zoo."""
    settings = tmp_path / "sac" / f"{env_id}_1" / env_id
    settings.mkdir(parents=True)
    (settings / "args.yml").write_text(f"{{algo: sac, env: {env_id}}}")
    (settings / "config.yml").write_text(f"env_wrapper: {wrapper}\nnormalize: {files.get('normalize', 'true')}\n")
    return settings.parent


def follow(policy, model, envs, strip, steps=20):
    """Compares a policy with a model that acts in the environments of its training."""
    seen, state, start, moved = envs.reset(), None, np.array([True]), []
    for _ in range(steps):
        theirs, _ = model.predict(seen, deterministic=True)
        ours, state = policy.predict(strip(envs.get_original_obs()), state, start)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        moved.append(theirs[0])
        seen, _, start, _ = envs.step(theirs)
    assert np.std(moved, axis=0).min() > 1e-3


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    ("kind", "wrapper", "arguments"),
    [
        ("SAC", "{sb3_contrib.common.wrappers.TimeFeatureWrapper: {}}", {}),
        # As in sb3-contrib, the time limit of the environment comes before the argument.
        ("TQC", "[{sb3_contrib.common.wrappers.TimeFeatureWrapper: {max_steps: 3}}]", {"max_steps": 3}),
        ("SAC", "{utils.wrappers.TimeFeatureWrapper: {test_mode: true}}", {"test_mode": True}),
    ],
)
def test_the_time_of_a_goal_environment_is_that_of_the_real_wrapper(
    tmp_path, tiny_reach, kind, wrapper, arguments, trust
):
    import sb3_contrib
    import stable_baselines3
    from sb3_contrib.common.wrappers import TimeFeatureWrapper
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    envs = DummyVecEnv([lambda: TimeFeatureWrapper(gym.make(tiny_reach, disable_env_checker=True), **arguments)])
    envs = VecNormalize(envs, norm_reward=False)
    options = {"seed": 1, "device": "cpu", "buffer_size": 1, "policy_kwargs": {"net_arch": [16]}}
    model = (getattr(stable_baselines3, kind, None) or getattr(sb3_contrib, kind))("MultiInputPolicy", envs, **options)
    with torch.no_grad():
        for value in model.policy.actor.parameters():
            value.mul_(3)
    envs.reset()
    for _ in range(20):
        envs.step(np.zeros((1, 2), np.float32))
    envs.training = False
    folder = zoo_folder(tmp_path, tiny_reach, wrapper)
    model.save(folder / f"{tiny_reach}.zip")
    envs.save(str(folder / tiny_reach / "vecnormalize.pkl"))
    policy = bound(ZooFolderPolicy(str(folder), trust=trust), goal_space(), ACTS, lanes=1)
    follow(policy, model, envs, lambda seen: seen | {"observation": seen["observation"][:, :-1]})


def test_frames_of_normalised_observations_are_those_of_rl_zoo(tmp_path):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

    normalised = VecNormalize(make_vec_env("Pendulum-v1", 1, seed=0), norm_reward=False)
    envs = VecFrameStack(normalised, 3)
    model = PPO("MlpPolicy", envs, seed=0, device="cpu")
    with torch.no_grad():
        model.policy.action_net.weight.mul_(300)
    envs.reset()
    for _ in range(30):
        envs.step(np.ones((1, 1), np.float32))
    normalised.training = False
    folder = zoo_folder(tmp_path, "Pendulum-v1", "null")
    with (folder / "Pendulum-v1/config.yml").open("a") as file:
        file.write("frame_stack: 3\n")
    model.save(folder / "Pendulum-v1.zip")
    normalised.save(str(folder / "Pendulum-v1/vecnormalize.pkl"))
    policy = bound(ZooFolderPolicy(str(folder)), normalised.observation_space, normalised.action_space, lanes=1)
    envs.get_original_obs = normalised.get_original_obs
    follow(policy, model, envs, lambda seen: seen, steps=9)


def test_the_time_limit_is_that_of_the_environment_that_runs_if_that_of_the_training_is_unknown(tmp_path, saved_time):
    policy = bound(ZooFolderPolicy(saved_time("Unknown-v0", {})), SEEN, ACTS, lanes=1)

    def second_step():
        _, state = policy.predict(np.zeros((1, 5)), None, np.array([True]))
        return policy.predict(np.zeros((1, 5)), state, np.array([False]))[0]

    default = second_step()
    policy.learn_time_limit(4)
    short = second_step()
    policy.learn_time_limit(1000)
    assert np.array_equal(second_step(), default)
    assert not np.array_equal(short, default)


@pytest.fixture
def saved_time(tmp_path):
    """A function that saves an agent of `TimeFeatureWrapper` with the given arguments; returns its folder."""
    import stable_baselines3

    def save(env_id, arguments):
        folder = zoo_folder(tmp_path, env_id, f"{{x.TimeFeatureWrapper: {arguments}}}", normalize="false")
        seen = spaces.Box(-1, 1, (6,), np.float32)
        model = stable_baselines3.PPO("MlpPolicy", Toy(seen, ACTS), device="cpu", seed=0)
        with torch.no_grad():
            model.policy.action_net.weight.mul_(100)
        model.save(folder / f"{env_id}.zip")
        return str(folder)

    return save


def test_statistics_one_folder_above_are_used_with_a_note(tmp_path):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    envs = VecNormalize(make_vec_env("Pendulum-v1", 1, seed=0))
    envs.reset()
    envs.step(np.ones((1, 1), np.float32))
    (tmp_path / "Pendulum-v1/PPO").mkdir(parents=True)
    zipped, file = tmp_path / "Pendulum-v1/PPO/model.zip", tmp_path / "Pendulum-v1/vec_normalize.pkl"
    PPO("MlpPolicy", envs, device="cpu").save(zipped)
    assert Sb3Policy(str(zipped)).statistics_of(envs.observation_space) == {}
    envs.save(str(file))
    for policy in (Sb3Policy(str(zipped)), ZooFolderPolicy(str(zipped.parent))):
        assert policy.trained_in == "Pendulum-v1"
        np.testing.assert_allclose(policy.statistics_of(envs.observation_space)[""][0], envs.obs_rms.mean)
        (note,) = policy.notes
        assert note.startswith(f"{zipped} is normalised by {file}, one folder above it")
    for named in ("none", str(file)):
        assert Sb3Policy(str(zipped), statistics=named).notes == []
    (tmp_path / "vecnormalize.pkl").write_bytes(file.read_bytes())
    assert Sb3Policy(str(zipped)).notes == [note]
    envs.save(str(zipped.with_name("vecnormalize.pkl")))
    assert Sb3Policy(str(zipped)).notes == []


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("best_model.zip", "Pendulum-v1/vecnormalize.pkl"),
        ("rl_model_500_steps.zip", "rl_model_vecnormalize_500_steps.pkl"),
        ("rl_model_500_steps.zip", "Pendulum-v1/vecnormalize.pkl"),
    ],
)
def test_statistics_of_other_zips_of_a_run_are_found(tmp_path, build, name, file):
    folder = zoo_folder(tmp_path, "Pendulum-v1", "null")
    (folder / name).write_bytes(build.zipped(build.agent()))
    lost = (
        "was trained with VecNormalize, but there is no vecnormalize.pkl for it: name the file by `policy.statistics`"
    )
    with pytest.raises(UserError, match=lost):
        Sb3Policy(str(folder / name))
    # One folder above may be that of any other agent of rl-zoo.
    (folder.parent / "vecnormalize.pkl").write_bytes(build.statistics())
    with pytest.raises(UserError, match=lost):
        Sb3Policy(str(folder / name))
    (folder / file).write_bytes(build.statistics())
    assert find_statistics(folder / name) == str(folder / file)
