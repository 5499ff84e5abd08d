"""Atari games go the way of every other environment, from the emulator to the tables of a stress study."""

import hashlib
import sys

import gymnasium as gym
import numpy as np
import pytest

from brittlestar.cells.auto_env import resolve_env
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs.atari import AtariSpec, shrink
from brittlestar.envs.step_time import step_seconds
from brittlestar.errors import UserError
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.perturbations.observation_stressors import ConceptDrift, ObservationNoise, SensorBlackout
from brittlestar.policies.sb3 import Sb3Policy, ZooFolderPolicy

PONG = "PongNoFrameskip-v4"


def needs_ale():
    pytest.importorskip("ale_py", reason="ale-py is not installed: pip install brittlestar[atari]")


def played(env: gym.Env, seed: int, steps: int = 40) -> list:
    """What an episode of cycling commands shows."""
    results = [env.reset(seed=seed)[0]]
    for i in range(steps):
        observation, reward, terminated, truncated, _ = env.step(i // 3 % int(env.action_space.n))
        results += [observation, reward, terminated, truncated]
    return results


def digest(episode: list) -> str:
    return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in episode)).hexdigest()[:16]


# Observations


@pytest.mark.parametrize(
    ("game", "seed", "expected"),
    # Of Stable-Baselines3's own AtariWrapper on the same games, with OpenCV 4.14: bit for bit, until a life is lost.
    [("Pong", 3, "63b6e0ad4e3d20f8"), ("Pong", 4, "f72488a2b7d889ac"), ("Freeway", 3, "79565bf9a37994a8")],
)
def test_observations_of_games_are_those_of_stable_baselines3(game, seed, expected):
    needs_ale()
    assert digest(played(AtariSpec(id=f"{game}NoFrameskip-v4").make(), seed)) == expected


def test_pictures_shrink_as_in_opencv():
    # The digest is of cv2.resize(..., interpolation=cv2.INTER_AREA), OpenCV 4.14.
    pictures = np.random.default_rng(0).integers(256, size=(5, 210, 160), dtype=np.uint8)
    assert digest([shrink(picture, 84) for picture in pictures]) == "584aa103bdaab90a"


def test_an_episode_depends_on_its_seed_alone():
    needs_ale()
    used = AtariSpec(id=PONG).make()
    first = played(used, seed=1)
    other = played(used, seed=2)
    assert digest(first) != digest(other)
    # The second time it starts from memory, not from the cartridge.
    assert digest(played(used, seed=1)) == digest(first) == digest(played(AtariSpec(id=PONG).make(), seed=1))


def test_a_game_with_sticky_actions_remains_random():
    needs_ale()
    env = AtariSpec(id="ALE/Breakout-v5").make()
    assert digest(played(env, seed=1)) == digest(played(env, seed=1)) != digest(played(env, seed=2))
    assert env.unwrapped._frameskip == 1


def test_fire_is_pressed_at_the_start_of_every_life():
    needs_ale()
    env, rewards = AtariSpec(id="BreakoutNoFrameskip-v4").make(), 0.0
    env.reset(seed=0)
    # No command is sent: without FIRE the second ball would never come.
    for _ in range(400):
        _, reward, terminated, _, info = env.step(0)
        rewards += reward
        if terminated:
            break
    assert terminated and info["lives"] == 0


def test_a_time_limit_counts_steps_of_the_agent():
    needs_ale()
    lanes = Lanes(AtariSpec(id=PONG, max_steps=7), count=1)
    assert lanes.max_steps == 7
    lanes.reset(0, seed=0)
    ends = [bool(lanes.step(np.array([0]), np.array([0])).truncated[0]) for _ in range(7)]
    assert ends == [False] * 6 + [True]


# Mistakes


def test_without_ale_py_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(UserError, match=r"'PongNoFrameskip-v4' needs ale-py: `pip install brittlestar\[atari\]`") as e:
        AtariSpec(id=PONG).make()
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"frame_skip": 0}, "`env.frame_skip` must be at least 1, got 0"),
        ({"noop_max": -1}, "`env.noop_max` must be at least 0, got -1"),
        ({"screen_size": 0}, "`env.screen_size` must be at least 1, got 0"),
        ({"backend": "envpool"}, "`env.backend` must be auto or gymnasium, got envpool"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises((ValueError, UserError), match=message):
        AtariSpec(id=PONG, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"id": "PogNoFrameskip-v4"}, "did you mean `PongNoFrameskip-v4`"),
        ({"kwargs": {"obs_type": "ram"}}, "pictures in colour"),
    ],
)
def test_unknown_games_and_games_without_pictures_are_refused(settings, message):
    needs_ale()
    with pytest.raises(UserError, match=message):
        AtariSpec(**{"id": PONG} | settings).make()


def test_a_screen_larger_than_the_game_is_refused():
    with pytest.raises(UserError, match="`env.screen_size` must be at most 160, got 200"):
        shrink(np.zeros((210, 160), np.uint8), 200)


# Identity


def test_the_version_of_the_emulator_is_part_of_a_cell():
    assert set(AtariSpec(id=PONG).simulator()) == {"backend", "ale-py"}


@pytest.mark.parametrize("game", ["Pong", "Breakout", "Qbert"])
def test_auto_finds_the_preprocessed_environment_of_an_atari_agent(game):
    node = resolve_env({"id": "auto"}, {"path": f"agents/{game}NoFrameskip-v4.zip"})
    assert (node["id"], node["_target_"]) == (f"{game}NoFrameskip-v4", "brittlestar.envs.atari.AtariSpec")
    assert (node["returns"]["random"] is None) == (game == "Qbert")


# Stressors on pictures


def seen_by(stressor, make_step, picture, steps=30):
    """What a stressor makes of one picture, step after step; the first observation of an episode comes first."""
    space = gym.spaces.Box(0, 255, picture.shape[1:], np.uint8)
    stressor.bind(space, gym.spaces.Discrete(2), len(picture))
    spread = np.full(picture.shape[1:], 60.0)
    spread[0] = 0.0
    calibration = Calibration({"": spread}, {"": spread}, median_length=5.0, reward_std=1.0)
    stressor.prepare(Context(calibrate=lambda: calibration))
    pictures = []
    for i in range(steps):
        pictures.append(stressor.perturb_observation(picture, make_step(len(picture), step=i)))
        after = make_step(len(picture), step=i)
        after.observation = picture
        stressor.perturb_reward(np.zeros(len(picture)), after)
    return np.array(pictures)


STRESSORS = [
    ObservationNoise(sigma=3.0),
    ConceptDrift(k=3.0, carry="episode"),
    SensorBlackout(share=0.5, carry="episode"),
]


@pytest.mark.parametrize("stressor", STRESSORS, ids=lambda stressor: type(stressor).__name__)
def test_stressed_pictures_are_pictures(stressor, make_step):
    picture = np.broadcast_to(np.array([0, 2, 128, 253, 255], np.uint8)[:, None, None, None], (5, 6, 6, 1)).copy()
    seen = seen_by(stressor, make_step, picture)
    assert seen.dtype == np.uint8
    assert np.array_equal(seen[0], picture)
    assert (seen[1:] != picture).any()
    if isinstance(stressor, SensorBlackout):
        # Whole frames, or nothing.
        dark = (seen == 0).all(axis=(2, 3, 4))[1:, 1:]
        assert dark.any() and not dark.all()
        assert np.array_equal(seen[1:, 1:][~dark], np.broadcast_to(picture, seen.shape)[1:, 1:][~dark])
        return
    # Pixels that never change in clean games have no spread, so they are left alone.
    assert np.array_equal(seen[:, :, 0], np.broadcast_to(picture[:, 0], seen[:, :, 0].shape))
    # Beyond black and white is black and white: a cast would turn one into the other.
    assert (seen[1:, 0, 1:] == 0).any() and (seen[1:, 4, 1:] == 255).any()
    changed = seen[1:, :, 1:].astype(int) - picture[:, 1:]
    assert (changed[:, 0] >= 0).all() and (changed[:, 4] <= 0).all()


# Agents


def make_agent(folder, arguments=""):
    """A folder of rl-zoo with an agent that has learnt nothing, but answers differently to different pictures."""
    needs_ale()
    pytest.importorskip("torch")
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

    place = folder / "ppo" / f"{PONG}_1"
    (place / PONG).mkdir(parents=True)
    envs = VecFrameStack(DummyVecEnv([AtariSpec(id=PONG).make]), 4)
    model = PPO("CnnPolicy", envs, device="cpu", seed=0, n_steps=8, batch_size=8)
    _centre(model, envs)
    model.save(place / f"{PONG}.zip")
    (place / PONG / "args.yml").write_text(f"algo: ppo\nenv: {PONG}\n")
    wrapper = "stable_baselines3.common.atari_wrappers.AtariWrapper"
    listed = f"- {wrapper}:\n    {arguments}\n" if arguments else f"- {wrapper}\n"
    (place / PONG / "config.yml").write_text(f"env_wrapper:\n{listed}frame_stack: 4\npolicy: CnnPolicy\n")
    return place, model, envs


def _centre(model, envs):
    """Makes no action better than another on average, so that what is seen decides."""
    import torch

    seen = [envs.reset()] + [envs.step([i % 6])[0] for i in range(40)]
    with torch.no_grad():
        features = model.policy.extract_features(model.policy.obs_to_tensor(np.concatenate(seen))[0])
        usual = model.policy.mlp_extractor.forward_actor(features).mean(dim=0)
        model.policy.action_net.bias.copy_(-model.policy.action_net.weight @ usual)


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    return make_agent(tmp_path_factory.mktemp("agents"))


@pytest.mark.parametrize("trust", [pytest.param(False, marks=pytest.mark.slow), True])
def test_an_agent_plays_in_lanes_as_in_stable_baselines3(agent, trust):
    folder, model, envs = agent
    policy, spec = ZooFolderPolicy(str(folder), trust=trust), AtariSpec(id=PONG, max_steps=25)
    parts, plan = Parts(policy), Plan(episodes=3, record="trajectories")
    rows = [rollout(Lanes(spec, lanes), parts, plan) for lanes in (1, 3)]
    assert np.array_equal(rows[0].values, rows[1].values, equal_nan=True)
    assert np.array_equal(rows[0].trajectories["actions"], rows[1].trajectories["actions"])
    actions = []
    for seed in rows[0].column("reset_seed").tolist():
        envs.seed(int(seed))
        seen = envs.reset()
        for _ in range(25):
            actions.append(model.predict(seen, deterministic=True)[0])
            seen = envs.step(actions[-1])[0]
    assert np.array_equal(rows[0].trajectories["actions"].ravel(), np.concatenate(actions))
    assert len(set(rows[0].trajectories["actions"].ravel().tolist())) > 1


@pytest.mark.parametrize("trust", [False, True])
def test_a_zip_alone_needs_the_number_of_stacked_frames(agent, trust):
    policy = Sb3Policy(str(agent[0] / f"{PONG}.zip"), trust=trust)
    with pytest.raises(UserError, match=r"takes images Box\(4, 84, 84\), got Box\(84, 84, 1\).*frame_stack") as e:
        rollout(Lanes(AtariSpec(id=PONG, max_steps=2), 1), Parts(policy), Plan(episodes=1))
    assert "\n" not in str(e.value)


def test_an_agent_of_other_frames_is_refused(tmp_path):
    folder = make_agent(tmp_path, "frame_skip: 2")[0]
    with pytest.raises(UserError, match="was trained with `frame_skip` of AtariWrapper 2, not 4"):
        ZooFolderPolicy(str(folder))


@pytest.mark.slow
def test_a_stress_study_is_the_same_in_any_number_of_lanes(agent, shell):
    # No one scores in so few steps: inverted rewards would change nothing, which is an error.
    stressors = (
        "baseline,concept_drift,resource_constraint,trust_violation,observation_noise,sensor_blackout,reward_noise"
    )
    arguments = ["experiment=stress", "env=pong", "env.max_steps=12", "policy=zoo_folder", f"policy.path={agent[0]}"]
    arguments += ["study.reference=230", "episodes=6", "seed=0", f"perturbation={stressors}"]
    arguments += ["stress_schedule.segments=[[pre,2],[shock,2],[post,2]]"]
    tables = []
    for lanes in (1, 4):
        shell.sweep(*arguments, f"lanes={lanes}", f"store=store_{lanes}", name=f"lanes_{lanes}")
        tables.append([shell.table(f"lanes_{lanes}", name) for name in ("stress", "stress_episodes")])
    assert tables[0] == tables[1]
    stress, episodes = tables[0]
    assert {row["perturbation"] for row in stress} == {row["perturbation"] for row in episodes} and len(stress) == 7
    verdicts = {row["perturbation"]: row["verdict"].partition(":")[0] for row in stress}
    assert verdicts["reward_noise"] == "cannot affect behaviour" != verdicts["sensor_blackout"]


def test_a_study_without_ale_py_names_the_extra_in_its_first_line(shell, tmp_path):
    (tmp_path / "ale_py.py").write_text("raise ImportError('not here')\n")
    done = shell("env=pong", "policy=random", "perturbation=none", "episodes=1", check=False, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].endswith("needs ale-py: `pip install brittlestar[atari]`")


def test_a_step_lasts_as_long_as_its_frames():
    """The console draws 60 frames a second; ale-py shows another number."""
    needs_ale()
    assert step_seconds(AtariSpec(id=PONG).make()) == pytest.approx(4 / 60)
    assert step_seconds(AtariSpec(id=PONG, frame_skip=2, max_steps=5).make()) == pytest.approx(2 / 60)
    assert step_seconds(gym.make("ALE/Pong-v5")) == pytest.approx(4 / 60)
    # From 2 to 4 frames, at random.
    assert step_seconds(gym.make("Pong-v4")) is None
