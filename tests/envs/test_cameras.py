"""Cameras: where points appear, what light does, and that drawing changes nothing."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brittlestar.envs import EnvSpec
from brittlestar.envs.cameras import MujocoPainter
from brittlestar.envs.scenes import Ornament, Paint, SceneEdits
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
    right = Rotation.from_rotvec(np.radians(edits.roll) * forward).apply(right)
    eye = pivot - CAMERA["distance"] * forward + edits.shift
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
