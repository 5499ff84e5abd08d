"""Pixels: what a policy sees in place of the state."""

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.pixels import Pixels, View
from brittlestar.errors import UserError
from brittlestar.perturbations import CameraView, ComposedPerturbation, GaussianImage, SceneColour, SceneLight
from brittlestar.policies import ConstantPolicy, as_policy
from brittlestar.schedules import Bursts, Linear, StepSchedule

REACH = "FetchReach-v4"
CAMERA = "external_camera_0"


def spec(**pixels):
    return EnvSpec(id=REACH, max_steps=6, pixels=Pixels(**{"camera": CAMERA, "size": 32, "samples": 0} | pixels))


def follow_brightness(observation):
    """A policy whose action depends on every pixel."""
    mean = np.asarray(observation, dtype=np.float64).mean() / 255
    return np.array([mean, -mean, 0.5 - mean, 0.0], dtype=np.float32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "`env.pixels.size` must be a whole number above 0, or \\[height, width\\], got 0"),
        ({"size": [8]}, "`env.pixels.size` must be"),
        ({"stack": 0}, "`env.pixels.stack` must be at least 1, got 0"),
        ({"samples": -1}, "`env.pixels.samples` must be at least 0, got -1"),
        ({"size": 5000}, "`env.pixels.size` must be at most 4096, got 5000"),
        ({"size": 64}, "`env.pixels.size` needs `env.pixels.camera`"),
        ({"camera": [], "keep": ["observation"]}, "`env.pixels.keep` needs `env.pixels.camera`"),
    ],
)
def test_wrong_options_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        Pixels(**options)


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ({"lookat": [1, 1]}, "`env.pixels.camera.lookat` must be \\[x, y, z\\] in metres"),
        ({"distance": "abc"}, "`env.pixels.camera.distance` must be a number above 0, got abc"),
        ({"distance": -1}, "`env.pixels.camera.distance` must be a number above 0, got -1"),
    ],
)
def test_a_free_camera_needs_numbers(gl, camera, message):
    with pytest.raises(UserError, match=message):
        Lanes(spec(camera=camera), 1)


def test_a_mistyped_option_names_the_nearest():
    with pytest.raises(UserError, match="`env.pixels.sise` does not exist; did you mean `size`"):
        EnvSpec(id=REACH, pixels={"sise": 3})


@pytest.mark.parametrize(
    ("options", "space"),
    [
        ({}, (32, 32, 3)),
        ({"size": [24, 40]}, (24, 40, 3)),
        ({"grey": True, "stack": 4}, (32, 32, 4)),
        (
            {"keep": ["desired_goal", "observation[0:3]"]},
            {"image": (32, 32, 3), "desired_goal": (3,), "observation": (3,)},
        ),
        ({"camera": [CAMERA, {"distance": 2.0}]}, {"image_0": (32, 32, 3), "image_1": (32, 32, 3)}),
    ],
)
def test_the_space_is_that_of_what_is_seen(gl, options, space):
    lanes = Lanes(spec(**options), 1)
    lanes.reset(0, seed=0)
    shapes = {key: part.shape for key, part in lanes.observation_space.items()} if isinstance(space, dict) else None
    assert (shapes or lanes.observation_space.shape) == space
    seen = lanes.view.look(lanes.observation, lanes.envs, [0], np.ones(1, bool))
    row = {key: array[0] for key, array in seen.items()} if isinstance(seen, dict) else seen[0]
    assert row in lanes.observation_space
    lanes.close()


def test_frames_are_stacked_and_start_black(gl):
    lanes = Lanes(spec(grey=True, stack=3), 1)
    lanes.reset(0, seed=0)
    looks = [lanes.view.look(lanes.observation, lanes.envs, [0], np.array([first]))[0] for first in (True, False)]
    assert not looks[0][:, :, :2].any() and (looks[1][:, :, 1:] == looks[0][:, :, [2, 2]]).all()
    peek = lanes.view.look(lanes.observation, lanes.envs, [0], np.array([False]), remember=False)[0]
    again = lanes.view.look(lanes.observation, lanes.envs, [0], np.array([False]))[0]
    assert (peek == again).all(), "a look that is not remembered changes nothing"
    lanes.close()


@pytest.mark.parametrize("perturbation", [None, CameraView(0.1), SceneLight(1.0), GaussianImage(0.1)])
@pytest.mark.parametrize("options", [{}, {"stack": 2, "grey": True}])
def test_rows_do_not_depend_on_lanes(gl, perturbation, options):
    parts = [Parts(as_policy(follow_brightness)) for _ in range(2)]
    for part in parts:
        part.perturbation = perturbation or part.perturbation
    rows = [run_episodes(spec(**options), part, Plan(5), lanes=n).values for part, n in zip(parts, (1, 4), strict=True)]
    np.testing.assert_array_equal(*rows)


def test_pictures_change_nothing_in_the_simulation(gl):
    plain = EnvSpec(id=REACH, max_steps=6)
    policy = ConstantPolicy([0.3, -0.2, 0.1, 0.0])
    values = [run_episodes(env, Parts(policy), Plan(3)) for env in (plain, spec())]
    perturbed = run_episodes(spec(), Parts(policy, SceneLight(1.0)), Plan(3))
    for name in ("return", "final_distance", "smoothness"):
        columns = [rows.column(name).tolist() for rows in (*values, perturbed)]
        assert columns[0] == columns[1] == columns[2], name


def test_level_0_is_the_nominal_picture(gl):
    policy = as_policy(follow_brightness)
    nominal = run_episodes(spec(), Parts(policy), Plan(2))
    still = run_episodes(spec(), Parts(policy, CameraView(0.0)), Plan(2))
    np.testing.assert_array_equal(nominal.values, still.values)


def test_the_draw_of_an_episode_is_the_same_at_every_strength(gl):
    changed = [
        run_episodes(spec(), Parts(ConstantPolicy(0.0), CameraView(shift)), Plan(4)).effects["scene_difference"]
        for shift in (0.02, 0.15)
    ]
    assert (changed[1] > changed[0]).all()


def test_an_entry_that_the_state_lacks_is_an_error(gl):
    with pytest.raises(UserError, match="the state has no entry 'observatoin'; did you mean `observation`"):
        Lanes(spec(keep=["observatoin"]), 1)
    for part in ("[0:99]", "[5:3]"):
        with pytest.raises(UserError, match="the entry has 10 numbers"):
            Lanes(spec(keep=[f"observation{part}"]), 1)
    with pytest.raises(UserError, match="must be the name of an entry, or a part such as"):
        Lanes(spec(keep=["observation[3]"]), 1)


def test_a_scene_perturbation_needs_a_camera():
    with pytest.raises(UserError, match="CameraView changes what cameras see, and the policy sees no camera of Fetch"):
        run_episodes(EnvSpec(id=REACH), Parts(ConstantPolicy(0.0), CameraView(0.1)), Plan(1))


def test_cameras_and_envpool_exclude_each_other():
    with pytest.raises(UserError, match="cameras see MuJoCo and Gymnasium only"):
        EnvSpec(id="Hopper-v5", backend="envpool", pixels=Pixels(camera="track")).simulator()


class Coloured(EnvSpec):
    """An environment whose own picture is known."""

    def make(self, like=None):
        env = super().make()
        env.unwrapped.render = lambda: np.arange(12, dtype=np.uint8).reshape(2, 2, 3).repeat(4, 0).repeat(4, 1)
        return env


def test_the_picture_of_the_environment_itself_is_shrunk():
    view = View(Pixels(camera="render", size=2), Coloured(id="Pendulum-v1").make(), 1)
    env = Coloured(id="Pendulum-v1").make()
    env.reset(seed=0)
    seen = view.look(np.zeros((1, 3)), [env.unwrapped], [0], np.ones(1, bool))
    assert seen[0].tolist() == np.arange(12).reshape(2, 2, 3).tolist() and isinstance(view.space, spaces.Box)
    too_large = View(Pixels(camera="render", size=9), env, 1)
    with pytest.raises(UserError, match="`env.pixels.size` must be at most 8x8, the environment's own picture"):
        too_large.look(np.zeros((1, 3)), [env.unwrapped], [0], np.ones(1, bool))


@pytest.mark.parametrize(
    "schedule", [Linear(warmup_steps=5), Bursts(onset_step=2, duration_steps=2), StepSchedule(onset_step=3)]
)
def test_a_scheduled_perturbation_is_measured_when_it_acts(gl, schedule):
    parts = [Parts(ConstantPolicy(0.0), CameraView(0.15), schedule=schedule) for _ in range(2)]
    runs = [run_episodes(spec(), part, Plan(5), lanes=n) for part, n in zip(parts, (1, 3), strict=True)]
    assert (runs[0].effects["scene_pixels_changed"] > 0).all()
    for name in ("scene_pixels_changed", "scene_difference"):
        np.testing.assert_array_equal(runs[0].effects[name], runs[1].effects[name])


@pytest.mark.parametrize("options", [{}, {"stack": 3}])
def test_the_divergence_is_that_from_the_nominal_picture(gl, options):
    plan = Plan(3, divergence=True)
    perturbed = run_episodes(spec(**options), Parts(as_policy(follow_brightness), SceneLight(1.0)), plan)
    nominal = run_episodes(spec(**options), Parts(as_policy(follow_brightness)), plan)
    assert (perturbed.column("action_divergence") > 0).all() and not nominal.column("action_divergence").any()
    blind = run_episodes(spec(**options), Parts(ConstantPolicy(0.0), SceneLight(1.0)), plan)
    assert not blind.column("action_divergence").any()


def test_a_name_that_the_scene_lacks_is_an_error(gl):
    with pytest.raises(UserError, match="nothing in the scene is called 'tabel0'; did you mean `table0`"):
        run_episodes(spec(), Parts(ConstantPolicy(0.0), SceneColour(0.5, names=["tabel0"])), Plan(1))
    pair = ComposedPerturbation([SceneColour(0.5, names=["table0", "nothing*"])])
    with pytest.raises(UserError, match="^`parts.0`: `names`: nothing in the scene is called 'nothing\\*'"):
        run_episodes(spec(), Parts(ConstantPolicy(0.0), pair), Plan(1))
