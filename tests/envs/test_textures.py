"""Textures: patterns that cover the things of a scene, and leave nothing behind."""

import numpy as np
import pytest

from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.cameras import MujocoPainter
from brittlestar.envs.pixels import Pixels
from brittlestar.envs.scenes import Paint, SceneEdits, Texture
from brittlestar.envs.textures import PATTERNS, draw_pattern
from brittlestar.errors import UserError
from brittlestar.perturbations import CameraView, ComposedPerturbation, SceneColour, SceneTexture
from brittlestar.policies import ConstantPolicy, as_policy
from brittlestar.schedules import Cosine

pytestmark = pytest.mark.usefixtures("gl")
SCENES = {"FetchReach-v4": "external_camera_0", "Hopper-v5": "track"}
AMOUNTS = (0.2, 0.4, 0.6, 0.8, 1.0)


class Studio:
    """An environment, and the painter of one of its cameras."""

    def __init__(self, name, samples=0):
        self.env = EnvSpec(id=name).make()
        self.env.reset(seed=0)
        self.painter = MujocoPainter(self.env, 64, 64, samples)
        self.camera = self.painter.camera(SCENES[name])

    def draw(self, *textures, **edits):
        return self.painter.draw(self.env, self.camera, SceneEdits(textures=list(textures), **edits))

    def nominal(self):
        return self.painter.draw(self.env, self.camera)


@pytest.fixture(scope="module", params=SCENES)
def studio(gl, request):
    studio = Studio(request.param)
    yield studio
    studio.painter.close()


def cover(amount, names=None, seed=5, patterns=PATTERNS):
    return Texture(names, list(patterns), seed, amount)


def gap(picture, other):
    return np.abs(picture.astype(int) - other).mean()


@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.parametrize("shape", [(32, 32), (16, 48)])
def test_a_pattern_has_two_colours_and_what_is_between(kind, shape):
    pattern = draw_pattern([kind], 3, 1, *shape)
    assert pattern.shape == (*shape, 3) and pattern.min() >= 0 and pattern.max() <= 1 and pattern.std() > 0
    count = len(np.unique(pattern.reshape(-1, 3).round(6), axis=0))
    assert count == 2 if kind in ("checker", "stripes") else count > 4
    assert (draw_pattern([kind], 3, 1, *shape) == pattern).all(), "a seed has one pattern for each material"
    assert (draw_pattern([kind], 3, 2, *shape) != pattern).any() and (
        draw_pattern([kind], 4, 1, *shape) != pattern
    ).any()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_more_of_a_pattern_differs_more(studio, seed):
    nominal = studio.nominal()
    gaps = [gap(studio.draw(cover(amount, seed=seed)), nominal) for amount in AMOUNTS]
    assert gaps[0] > 0.5 and (np.diff(gaps) > 0).all()


def test_a_little_of_a_pattern_is_almost_the_nominal_picture(studio):
    assert gap(studio.draw(cover(1e-4)), studio.nominal()) < 0.1


@pytest.mark.parametrize("kind", PATTERNS)
def test_nothing_remains_of_a_pattern(studio, kind):
    nominal = studio.nominal()
    first = studio.draw(cover(1.0, patterns=[kind]))
    assert (studio.nominal() == nominal).all() and (first != nominal).any()
    studio.draw(cover(0.3, seed=9))
    assert (studio.draw(cover(1.0, patterns=[kind])) == first).all() and (studio.nominal() == nominal).all()


def test_pictures_do_not_depend_on_the_room_for_textures(monkeypatch):
    pictures = []
    for room in (400, 20):
        monkeypatch.setattr("brittlestar.envs.textures._MOST_TEXTURES", room)
        studio = Studio("FetchReach-v4")
        pictures.append([studio.draw(cover(amount, seed=seed)) for seed in range(3) for amount in (0.5, 1.0)])
        studio.painter.close()
    np.testing.assert_array_equal(*pictures)


def test_a_goal_keeps_its_look_unless_it_is_named():
    studio = Studio("FetchReach-v4")
    for names, red in ((None, True), (["floor0"], True), (["target0"], False)):
        studio.draw(cover(1.0, names))
        scene = studio.painter._scene
        assert (scene.geoms[scene.ngeom - 1].rgba.tolist() == [1, 0, 0, 1]) == red, names
    studio.painter.close()


def test_only_named_things_are_covered_and_colours_lie_below():
    studio = Studio("FetchReach-v4")
    nominal, half = studio.nominal(), cover(0.5, ["table0"])
    table, everything = studio.draw(half), studio.draw(cover(0.5))
    assert 0.1 < (table != nominal).any(axis=2).mean() < (everything != nominal).any(axis=2).mean()
    blue = Paint(["table0"], np.array([0.0, 0.0, 1.0]), 1.0)
    assert gap(studio.draw(half, paints=[blue]), table) > 5 and gap(studio.draw(half, paints=[blue]), nominal) > 5
    full = cover(1.0, ["table0"])
    assert (studio.draw(full, paints=[blue]) == studio.draw(full)).all(), "a whole pattern hides the colour"
    assert (studio.draw(half, cover(0.5, ["table0"], seed=6)) != table).any(), "patterns add up"
    studio.painter.close()


def spec(**pixels):
    pixels = {"camera": "external_camera_0", "size": 32, "samples": 0} | pixels
    return EnvSpec(id="FetchReach-v4", max_steps=5, pixels=Pixels(**pixels))


def follow_brightness(observation):
    mean = np.asarray(observation, dtype=np.float64).mean() / 255
    return np.array([mean, -mean, 0.5 - mean, 0.0], dtype=np.float32)


PAIR = ComposedPerturbation(
    {"colour": SceneColour(0.5, each=True), "texture": SceneTexture(0.5), "view": CameraView(0.1)}
)


@pytest.mark.parametrize(("perturbation", "schedule"), [(SceneTexture(0.7), None), (PAIR, Cosine(period_steps=4))])
def test_rows_do_not_depend_on_lanes(perturbation, schedule):
    options = {} if schedule is None else {"schedule": schedule}
    runs = [
        run_episodes(spec(), Parts(as_policy(follow_brightness), perturbation, **options), Plan(4), lanes=lanes)
        for lanes in (1, 3)
    ]
    np.testing.assert_array_equal(runs[0].values, runs[1].values)
    assert (runs[0].effects["scene_pixels_changed"] > 0).all()


def test_level_0_is_the_nominal_picture():
    rows = [
        run_episodes(spec(), Parts(as_policy(follow_brightness), *part), Plan(2)) for part in ((), (SceneTexture(0.0),))
    ]
    np.testing.assert_array_equal(rows[0].values, rows[1].values)


def test_the_draw_of_an_episode_is_the_same_at_every_strength():
    effects = [
        run_episodes(spec(), Parts(ConstantPolicy(0.0), SceneTexture(amount)), Plan(4)).effects["scene_difference"]
        for amount in (0.2, 0.5, 1.0)
    ]
    assert (effects[0] < effects[1]).all() and (effects[1] < effects[2]).all()


def test_a_name_that_the_scene_lacks_is_an_error():
    with pytest.raises(UserError, match="nothing in the scene is called 'tabel0'; did you mean `table0`"):
        run_episodes(spec(), Parts(ConstantPolicy(0.0), SceneTexture(0.5, names=["tabel0"])), Plan(1))
