"""Every option of the groups runs in the environments that it supports, and is refused in the others."""

import re
from pathlib import Path

import numpy as np
import pytest

from brittlestar.config import config_folder
from brittlestar.config.build import load
from brittlestar.engine.delivery import measure
from brittlestar.engine.evaluation import make_lanes, run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.pixels import Pixels
from brittlestar.errors import UserError
from brittlestar.perturbations import Perturbation
from brittlestar.policies import ConstantPolicy, MlpPolicy, as_policy

ROOT = Path(__file__).parents[2]
ENVS = {"box": "half_cheetah", "box and choices": "cartpole", "dict": "fetch_reach", "choices": "CliffWalking-v1"}
STEPS = 60
STRESSORS = (
    "baseline", "concept_drift", "resource_constraint", "trust_violation", "valence_inversion", "observation_noise",
    "sensor_blackout", "reward_noise",
)  # fmt: skip
ATTRIBUTES = {"env_parameter": {"half_cheetah": "dof_armature", "cartpole": "length", "fetch_reach": "dof_armature"}}


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (config_folder() / group).glob("*.yaml"))


def pairs(group: str, needed: tuple[str, ...] = ()) -> list:
    """Every option in every environment; the simulator of Fetch is slow, so it is for those that `needed` names."""
    slow = ENVS["dict"]
    marks = {True: pytest.mark.slow, False: ()}
    return [
        pytest.param(name, env, marks=marks[env == slow and name not in needed])
        for name in names(group)
        for env in ENVS.values()
    ]


def make_policy(env: str):
    if env == "fetch_reach":
        return load("policy", "p_controller")
    if env == "pong":
        return load("policy", "random")
    if env == "CliffWalking-v1":
        return as_policy(lambda state: 0 if state == 36 else 2 if state % 12 == 11 else 1)  # up, right, down
    if env == "cartpole":
        return MlpPolicy.random([4, 64, 64, 2], seed=13, output="argmax")  # it balances
    return MlpPolicy.random([17, 32, 6])


def roll(env: str, perturbation=None, mitigation="none", schedule="constant", episodes=6, **when):
    shipped = env in names("env")
    spec = load("env", env, max_steps=STEPS) if shipped else load("env", "gym", id=env, max_steps=STEPS)
    perturbation = perturbation or load("perturbation", "gaussian_observation", sigma=0.1)
    lanes = make_lanes(spec, episodes, needs_model=perturbation.needs_world)
    parts = Parts(
        make_policy(env), perturbation, load("mitigation", mitigation), load("stress_schedule", schedule, **when)
    )
    try:
        return rollout(lanes, parts, Plan(episodes))
    finally:
        lanes.close()


def option(name: str, env: str) -> Perturbation:
    if name == "stuck_observation" and env == "CliffWalking-v1":
        return load("perturbation", name, p=0.9, within_steps=5)  # one number alone is seldom stuck
    attribute = ATTRIBUTES.get(name, {}).get(env)
    return load("perturbation", name, **({"attribute": attribute} if attribute else {}))


@pytest.mark.parametrize(("name", "env"), pairs("perturbation", needed=("goal_noise",)))
def test_every_perturbation_acts_or_is_refused_with_a_reason(name, env):
    try:
        perturbation = option(name, env)
        rows = roll(env, perturbation)
    except UserError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert bool(refusal) == refused_rightly(name, env), refusal
    assert "\n" not in refusal
    if refusal:
        return
    measured = measure(perturbation, rows)
    assert perturbation.is_identity or any(measured.values())


def refused_rightly(name: str, env: str) -> bool:
    discrete_states, discrete_actions = env == "CliffWalking-v1", env in ("CliffWalking-v1", "cartpole")
    if name in ("none", "delayed_reward", "inverted_reward", "noisy_reward", "scaled_reward"):
        return False
    if name in STRESSORS:
        return False
    if name.endswith("_image"):
        return True
    if load("perturbation", name, **({"attribute": "x"} if name == "env_parameter" else {})).needs_scene:
        return True
    if name == "goal_noise":
        return env != "fetch_reach"
    if name == "confused_observation":
        return not discrete_states
    if name in ("env_parameter", "control_timestep"):
        return env == "CliffWalking-v1"
    if name == "permuted_action":
        return not discrete_actions
    if name in ("sticky_action", "random_action", "dropped_action", "scaled_action", "delayed_action"):
        return False
    if name in ("delayed_observation", "hold_observation", "stuck_observation"):
        return False
    if name.endswith("_observation"):
        return discrete_states
    if name.endswith("_action") or name == "gaussian_pair":
        return discrete_actions
    if name == "compose":
        return discrete_states
    return env not in ("half_cheetah", "fetch_reach") or (name, env) == ("actuator_gain", "fetch_reach")


@pytest.mark.parametrize(("name", "env"), pairs("mitigation"))
def test_every_mitigation_acts_or_is_refused_with_a_reason(name, env):
    noise = load("perturbation", "confused_observation") if env == "CliffWalking-v1" else None
    observes = name.endswith("_observation") or name in ("ensemble", "compose")
    acts = (name.endswith("_action") and name != "hold_action") or name in ("low_pass", "compose")
    if (observes and env == "CliffWalking-v1") or (acts and env in ("cartpole", "CliffWalking-v1")):
        with pytest.raises(UserError, match="^[^\n]{20,}$"):
            roll(env, noise, mitigation=name)
        return
    rows = roll(env, noise, mitigation=name)
    assert np.isfinite(rows.column("return")).all()


@pytest.mark.parametrize("name", [name for name in names("perturbation") if name.endswith("_image")])
def test_every_perturbation_of_images_acts_on_a_camera(name):
    pytest.importorskip("ale_py", reason="ale-py is not installed: pip install brittlestar[atari]")
    perturbation = load("perturbation", name)
    assert measure(perturbation, roll("pong", perturbation, episodes=2))["pixels_changed"] > 0


SCENES = [n for n in names("perturbation") if n != "env_parameter" and load("perturbation", n).needs_scene]


@pytest.mark.parametrize("name", SCENES)
def test_every_perturbation_of_scenes_acts_on_a_camera(name, gl):
    perturbation = load("perturbation", name)
    spec = EnvSpec(id="FetchReach-v4", max_steps=3, pixels=Pixels(camera="external_camera_0", size=32, samples=0))
    rows = run_episodes(spec, Parts(ConstantPolicy(0.0), perturbation), Plan(2))
    assert measure(perturbation, rows)["scene_pixels_changed"] > 0


EARLY = {
    "bursts": {"onset_step": 4, "duration_steps": 3},
    "cosine": {"period_steps": 6},
    "curriculum": {"warmup_episodes": 3},
    "linear": {"warmup_steps": 5},
    "phases": {"pre": 2, "shock": 2},
    "step": {"onset_step": 4},
}
"""Episodes of CliffWalking have 13 steps."""


@pytest.mark.parametrize(("name", "env"), pairs("stress_schedule"))
def test_every_schedule_runs(name, env):
    noise = load("perturbation", "confused_observation", p=0.9) if env == "CliffWalking-v1" else None
    changed = roll(env, noise, schedule=name, **EARLY.get(name, {})).column("observation_change")
    assert changed[2:4].all()
    if name in ("phases", "curriculum"):
        assert changed[0] == 0
    if name == "phases":
        assert not changed[[0, 1, 4, 5]].any()


@pytest.mark.parametrize("group", ["perturbation", "mitigation", "stress_schedule"])
def test_the_docs_name_every_option(group):
    page = (ROOT / "docs" / "perturbations.md").read_text()
    names_on_page = set(re.findall(r"`(\w+)`", page)) | {"none"}
    assert set(names(group)) <= names_on_page
