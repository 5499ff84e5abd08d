"""Cameras: where points appear, what light does, and that drawing changes nothing."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brittlestar.envs import EnvSpec
from brittlestar.envs.cameras import MujocoPainter
from brittlestar.envs.pixels import Pixels, View
from brittlestar.envs.scenes import LightPaint, Ornament, Paint, SceneEdits
from brittlestar.errors import UserError

pytestmark = pytest.mark.usefixtures("gl")
SIZE = 120
CAMERA = {"lookat": [1.3, 0.75, 0.5], "distance": 1.2, "azimuth": 130.0, "elevation": -35.0}
FIELD_OF_VIEW = 45.0


@pytest.fixture(scope="module")
def env(gl):
    env = EnvSpec(id="FetchReach-v4").make()
    env.reset(seed=3)
    yield env
    env.close()


@pytest.fixture(scope="module")
def painter(env):
    painter = MujocoPainter(env, SIZE, SIZE, samples=0)
    yield painter
    painter.close()


def place_of(picture, nominal):
    """The centre of the pixels that differ, `(x, y)` from the upper left corner."""
    rows, columns = np.nonzero((picture != nominal).any(axis=2))
    assert len(rows) > 3, "the marker is visible"
    return np.array([(columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2])


def expected_place(point, edits):
    """The pinhole projection of a point, computed without the code under test."""
    pivot = np.array(CAMERA["lookat"])
    azimuth, elevation = np.radians([CAMERA["azimuth"] + edits.azimuth, CAMERA["elevation"] - edits.elevation])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    eye = pivot - CAMERA["distance"] * edits.distance * forward + edits.shift
    up = np.cross(right, forward)
    aim = Rotation.from_rotvec(np.radians(edits.pan) * up) * Rotation.from_rotvec(np.radians(edits.tilt) * right)
    forward, right = aim.apply(forward), aim.apply(right)
    right = Rotation.from_rotvec(np.radians(edits.roll) * forward).apply(right)
    gap = point - eye
    scale = SIZE / 2 / np.tan(np.radians(FIELD_OF_VIEW + edits.field_of_view) / 2) / (gap @ forward)
    return SIZE / 2 - 0.5 + scale * np.array([gap @ right, -(gap @ np.cross(right, forward))])


EDITS = [
    SceneEdits(),
    SceneEdits(shift=np.array([0.15, -0.1, 0.05])),
    SceneEdits(azimuth=20.0),
    SceneEdits(elevation=10.0),
    SceneEdits(elevation=-10.0, azimuth=-15.0),
    SceneEdits(roll=25.0),
    SceneEdits(pan=8.0),
    SceneEdits(tilt=-6.0),
    SceneEdits(pan=-5.0, tilt=4.0, roll=3.0),
    SceneEdits(distance=1.5),
    SceneEdits(distance=0.9, azimuth=12.0),
    SceneEdits(field_of_view=15.0),
    SceneEdits(shift=np.array([0.0, 0.1, 0.0]), azimuth=-10.0, elevation=5.0, roll=5.0, field_of_view=-5.0),
]


@pytest.mark.parametrize("edits", EDITS)
@pytest.mark.parametrize("offset", [(0.25, -0.2, 0.15), (0.25, 0.0, 0.2), (0.2, 0.1, 0.3)])
def test_a_point_appears_where_its_projection_is(env, painter, edits, offset):
    camera = painter.camera(CAMERA)
    nominal = painter.draw(env, camera, edits)
    marker = Ornament("sphere", np.array(offset), 0.02, np.array([1.0, 0.0, 1.0]))
    edits.ornaments.append(marker)
    try:
        place = place_of(painter.draw(env, camera, edits), nominal)
    finally:
        edits.ornaments.clear()
    assert np.abs(place - expected_place(np.array(CAMERA["lookat"]) + offset, edits)).max() <= 1


@pytest.mark.parametrize("name", ["external_camera_0", "free"])
def test_a_turned_camera_keeps_its_point_in_the_centre(env, painter, name):
    camera = painter.camera(CAMERA if name == "free" else name)
    for angles in ({"azimuth": 20.0}, {"elevation": 10.0}, {"roll": 5.0}, {"azimuth": -20.0, "elevation": 8.0}):
        picture = painter.draw(env, camera, SceneEdits(**angles))
        marker = Ornament("sphere", np.zeros(3), 0.06, np.array([1.0, 0.0, 1.0]))
        place = place_of(painter.draw(env, camera, SceneEdits(**angles, ornaments=[marker])), picture)
        # Other things may hide a part of it.
        assert np.abs(place - (SIZE / 2 - 0.5)).max() <= 6


def test_a_roll_of_90_degrees_turns_the_picture(env, painter):
    camera = painter.camera(CAMERA)
    nominal, turned = (painter.draw(env, camera, SceneEdits(roll=angle)).astype(int) for angle in (0.0, 90.0))
    assert np.abs(np.rot90(nominal) - turned).mean() < 3 < np.abs(nominal - turned).mean()


def test_more_light_is_brighter(env, painter):
    camera = painter.camera("external_camera_0")
    means = [painter.draw(env, camera, SceneEdits(brightness=b)).mean() for b in (0.2, 0.5, 0.8, 1.0, 1.5, 2.0)]
    assert means == sorted(means) and means[0] < 0.6 * means[3]


def test_a_tint_moves_the_colours(env, painter):
    camera = painter.camera("external_camera_0")
    warm = painter.draw(env, camera, SceneEdits(tint=np.array([1.0, 0.8, 0.5]))).mean(axis=(0, 1))
    nominal = painter.draw(env, camera).mean(axis=(0, 1))
    assert warm[0] == pytest.approx(nominal[0], abs=1) and warm[2] < 0.8 * nominal[2]


@pytest.mark.parametrize(("lights", "terms"), [(["headlight"], ["diffuse"]), (["lamps"], ["ambient", "diffuse"])])
def test_a_light_takes_another_colour(env, painter, lights, terms):
    camera = painter.camera("external_camera_0")
    dark = SceneEdits(light_paints=[LightPaint(lights, terms, np.zeros(3), 1.0)])
    blue = SceneEdits(light_paints=[LightPaint(lights, terms, np.array([0.0, 0.0, 0.8]), 1.0)])
    nominal, dark, blue = (painter.draw(env, camera, edits).mean(axis=(0, 1)) for edits in (None, dark, blue))
    assert (dark < nominal).all() and blue[0] == pytest.approx(dark[0]) and blue[2] > dark[2]


THING = Ornament("sphere", np.array([0.2, 0.1, 0.15]), 0.03, np.array([1.0, 0.0, 1.0]))


def in_world(painter):
    """Where the thing is in the scene that was drawn last."""
    scene = painter._scene
    return np.array(scene.geoms[scene.ngeom - 1].pos)


def test_things_stay_where_they_are_when_the_camera_moves(env, painter):
    camera, places = painter.camera("external_camera_0"), []
    for edits in (SceneEdits(), SceneEdits(shift=np.array([0.1, -0.1, 0.1])), SceneEdits(azimuth=20.0), EDITS[-1]):
        edits = SceneEdits(**vars(edits) | {"ornaments": [THING]})
        painter.draw(env, camera, edits)
        places.append(in_world(painter))
    assert all((place == places[0]).all() for place in places)


def test_things_do_not_follow_a_camera_that_tracks_a_robot():
    env = EnvSpec(id="Hopper-v5").make()
    env.reset(seed=0)
    painter = MujocoPainter(env, 16, 16, samples=0)
    places, eyes = [], []
    for x in (0.0, 2.0):
        env.unwrapped.data.qpos[0] = x
        painter.draw(env, painter.camera("track"), SceneEdits(ornaments=[THING]))
        places.append(in_world(painter))
        eyes.append(np.array(painter._scene.camera[0].pos))
    painter.close()
    assert eyes[1][0] - eyes[0][0] == pytest.approx(2, abs=1e-4) and (places[0] == places[1]).all()


def test_all_cameras_show_the_same_things(env):
    view = View(Pixels(camera=[{"lookat": [1.3, 0.7, 0.5]}, "external_camera_0"], size=16, samples=0), env, 1)
    places = []
    for camera in view._cameras:
        view._painter.draw(env, camera, SceneEdits(ornaments=[THING]))
        places.append(in_world(view._painter))
    view.close()
    assert (places[0] == places[1]).all() and np.allclose(places[0], np.array([1.3, 0.7, 0.5]) + THING.position)


def test_the_name_of_a_body_does_not_paint_the_goal_in_it(env, painter):
    camera, red = painter.camera("external_camera_0"), np.array([0.0, 0.0, 1.0])
    painter.draw(env, camera, SceneEdits(paints=[Paint(["floor0"], red, 1.0)]))
    geoms = painter._scene.geoms[: painter._scene.ngeom]
    assert geoms[0].rgba[2] == 1 and geoms[-1].rgba.tolist() == [1, 0, 0, 1], "the goal belongs to the floor"


def test_only_named_things_are_painted(env, painter):
    camera, red = painter.camera("external_camera_0"), np.array([1.0, 0.0, 0.0])
    nominal = painter.draw(env, camera)
    table = painter.draw(env, camera, SceneEdits(paints=[Paint(["table0"], red, 1.0)]))
    everything = painter.draw(env, camera, SceneEdits(paints=[Paint(None, red, 1.0)]))
    shares = [(picture != nominal).any(axis=2).mean() for picture in (table, everything)]
    assert 0.1 < shares[0] < shares[1]


def test_edits_leave_nothing_behind(env, painter):
    camera = painter.camera("external_camera_0")
    nominal = painter.draw(env, camera)
    state = {name: getattr(env.unwrapped.data, name).copy() for name in ("qpos", "xpos", "site_xpos", "cam_xpos")}
    model = env.unwrapped.model.site_pos.copy()
    for edits in EDITS:
        painter.draw(env, camera, edits)
    assert (painter.draw(env, camera) == nominal).all()
    assert all((getattr(env.unwrapped.data, name) == values).all() for name, values in state.items())
    assert (env.unwrapped.model.site_pos == model).all(), "the marker of the goal is in the drawn model only"


def test_the_goal_is_visible_where_the_episode_has_it(env, painter):
    camera = painter.camera("external_camera_0")
    first = painter.draw(env, camera)
    env.reset(seed=4)
    second = painter.draw(env, camera)
    env.reset(seed=3)
    assert (first != second).any() and (painter.draw(env, camera) == first).all()


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ("external_camera0", "there is no camera 'external_camera0'; did you mean `external_camera_0`"),
        ({"lokat": [0, 0, 0]}, "`env.pixels.camera.lokat` does not exist; did you mean `lookat`"),
    ],
)
def test_a_wrong_camera_is_an_error(painter, camera, message):
    with pytest.raises(UserError, match=message):
        painter.camera(camera)


def test_an_environment_without_mujoco_is_an_error():
    with pytest.raises(UserError, match="CartPoleEnv is not simulated by MuJoCo; `render` shows its own picture"):
        MujocoPainter(EnvSpec(id="CartPole-v1").make(), 8, 8, 0)


DRAW = """
import sys
import numpy as np
from brittlestar.envs import EnvSpec
from brittlestar.envs.cameras import MujocoPainter
env = EnvSpec(id="FetchReach-v4").make()
env.reset(seed=0)
painter = MujocoPainter(env, 84, 84, 4)
np.save(sys.argv[1], painter.draw(env, painter.camera("external_camera_0")))
"""


def test_both_libraries_draw_the_same(tmp_path):
    pictures = []
    for library in ("egl", "osmesa"):
        path = tmp_path / f"{library}.npy"
        # This process has decided for one of them.
        environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
        environment["MUJOCO_GL"] = library
        done = subprocess.run([sys.executable, "-c", DRAW, path], env=environment, capture_output=True, text=True)
        if done.returncode and "cameras need" in done.stderr:
            pytest.skip(f"{library} is not installed (scripts/install_system.sh)")
        assert done.returncode == 0 and "Exception" not in done.stderr, done.stderr
        pictures.append(np.load(path))
    assert (pictures[0] == pictures[1]).all()
