"""Scene perturbations: what they write into the edits of each lane."""

import numpy as np
import pytest

from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    CameraAim,
    CameraDistance,
    CameraFieldOfView,
    CameraRotation,
    CameraView,
    ComposedPerturbation,
    Distractors,
    LightAzimuth,
    LightBrightness,
    LightColour,
    LightTemperature,
    SceneColour,
    SceneLight,
    SceneTexture,
    Step,
)
from brittlestar.perturbations.lights import tint
from brittlestar.randomness import LaneDraws

LANES = 200
EVERY = [
    (CameraView, {"shift": 0.15}),
    (CameraRotation, {"degrees": 20.0}),
    (CameraAim, {"degrees": 3.0}),
    (CameraDistance, {"amount": 0.5}),
    (CameraFieldOfView, {"degrees": 5.0}),
    (SceneLight, {"amount": 1.0}),
    (LightBrightness, {"stops": 1.0}),
    (LightAzimuth, {"degrees": 30.0}),
    (LightTemperature, {"kelvin": 1500.0}),
    (LightColour, {"amount": 0.5}),
    (SceneColour, {"amount": 0.5}),
    (SceneTexture, {"amount": 0.5}),
    (Distractors, {"size": 0.05}),
]


def edited(perturbation, level=1.0, seed=0, episodes=None, step=0):
    """The edits of many lanes, each at an episode of its own."""
    episodes = np.arange(LANES) if episodes is None else np.asarray(episodes)
    draws = LaneDraws(seed, "perturbation/scene", len(episodes))
    draws.at(episodes, np.full(len(episodes), step))
    scenes = [SceneEdits() for _ in episodes]
    perturbation.perturb_scene(scenes, Step(np.full(len(episodes), level), np.full(len(episodes), step == 0), draws))
    return scenes


def numbers(scene):
    """All that an edit changes, as one array."""
    parts = [scene.shift, scene.tint, [scene.azimuth, scene.elevation, scene.roll, scene.field_of_view]]
    parts += [[scene.pan, scene.tilt, scene.distance, scene.brightness, scene.light_azimuth]]
    parts += [[*paint.rgb.ravel(), paint.amount] for paint in scene.paints + scene.light_paints]
    parts += [[texture.seed, texture.amount] for texture in scene.textures]
    parts += [[*thing.position, thing.size, *thing.rgb] for thing in scene.ornaments]
    return np.concatenate(parts)


@pytest.mark.parametrize(("kind", "fields"), EVERY)
def test_a_draw_belongs_to_an_episode(kind, fields):
    first = edited(kind(**fields))
    assert all((numbers(a) == numbers(b)).all() for a, b in zip(first, edited(kind(**fields), step=7), strict=True))
    other = edited(kind(**fields), seed=1)
    assert not any((numbers(a) == numbers(b)).all() for a, b in zip(first, other, strict=True))
    alone = edited(kind(**fields), episodes=[17])
    assert (numbers(alone[0]) == numbers(first[17])).all(), "whatever the number of lanes"


@pytest.mark.parametrize(("kind", "fields"), EVERY)
def test_level_and_strength_0_edit_nothing(kind, fields):
    assert not any(scene.acts for scene in edited(kind(**fields), level=0.0))
    assert all(scene.acts for scene in edited(kind(**fields)))
    nothing = kind(**dict.fromkeys(fields, 0.0))
    assert nothing.is_identity and not any(scene.acts for scene in edited(nothing))


@pytest.mark.parametrize(
    ("perturbation", "name", "low", "high"),
    [
        (CameraRotation(20.0), "azimuth", -20, 20),
        (CameraRotation(20.0), "elevation", -10, 10),
        (CameraRotation(20.0), "roll", -5, 5),
        (CameraAim(3.0), "pan", -3, 3),
        (CameraAim(3.0), "tilt", -3, 3),
        (CameraAim(3.0), "roll", -3, 3),
        (CameraDistance(1.0), "distance", 0.5, 2.5),
        (CameraDistance(0.2), "distance", 0.9, 1.3),
        (CameraFieldOfView(5.0), "field_of_view", -5, 5),
        (SceneLight(1.0), "brightness", 0.2, 2.0),
        (SceneLight(0.5), "brightness", 0.6, 1.5),
        (SceneLight(1.0), "light_azimuth", -30, 30),
        (LightBrightness(1.0), "brightness", 0.5, 2.0),
        (LightAzimuth(30.0), "light_azimuth", -30, 30),
    ],
)
def test_edits_fill_their_range(perturbation, name, low, high):
    values = np.array([getattr(scene, name) for scene in edited(perturbation)])
    span = high - low
    assert low <= values.min() < low + 0.1 * span and high - 0.1 * span < values.max() <= high


def test_the_level_scales_the_draw():
    half, whole = edited(CameraView(0.15), level=0.5), edited(CameraView(0.15))
    shifts = np.array([scene.shift for scene in whole])
    assert np.abs(shifts).max() <= 0.15 and np.allclose([scene.shift for scene in half], shifts / 2)


def test_a_light_of_6500_kelvin_is_white():
    assert tint(6500.0).tolist() == [1, 1, 1]
    warm, cold = tint(5000.0), tint(8000.0)
    assert warm[0] > 1 > warm[2] and cold[0] < 1 < cold[2]
    luminance = np.array([0.2126, 0.7152, 0.0722])
    assert luminance @ warm == pytest.approx(1, abs=0.03) and luminance @ cold == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(("kind", "low", "high"), [("mix", 0.5, 0.9), ("shift", 0.4, 0.8)])
def test_a_colour_fills_its_range(kind, low, high):
    before = np.array([0.6, 0.6, 0.6])
    scenes = edited(
        SceneColour(0.2 if kind == "shift" else 0.5, rgb=[0.0, 1.0] if kind == "shift" else [0.4, 1.2], kind=kind)
    )
    after = np.array([scene.paints[0].colour(before, 0) for scene in scenes])
    assert low <= after.min() < low + 0.01 and high - 0.01 < after.max() <= high


def test_a_shift_stays_a_colour():
    paint = edited(SceneColour(0.5, kind="shift"), episodes=[0])[0].paints[0]
    for before in (0.0, 1.0):
        after = paint.colour(np.full(3, before), 0)
        assert (np.abs(after - before) <= 0.5).all() and (after >= 0).all() and (after <= 1).all()


def test_each_material_has_a_colour_of_its_own():
    paint = edited(SceneColour(1.0, each=True), episodes=[0])[0].paints[0]
    colours = np.array([paint.colour(np.zeros(3), number) for number in range(8)])
    assert len(np.unique(colours, axis=0)) == 8


def test_a_grey_light_is_grey():
    scenes = edited(LightColour(1.0, rgb=[0.3, 0.8], grey=True, lights=["headlight"]))
    values = np.array([scene.light_paints[0].rgb for scene in scenes])
    assert (values == values[:, :1]).all() and values.min() < 0.31 and values.max() > 0.79


def test_parts_of_a_composition_add_up():
    pair = ComposedPerturbation({"view": CameraView(0.1), "light": SceneLight(1.0)})
    assert pair.needs_scene and not pair.needs_world
    scenes = edited(pair)
    assert all(scene.shift.any() and scene.brightness != 1 for scene in scenes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CameraView(-0.1), "`shift` must be at least 0, got -0.1"),
        (lambda: CameraRotation(-1.0), "`degrees` must be at least 0"),
        (lambda: SceneLight(1.5), "`amount` must be in \\[0, 1\\], got 1.5"),
        (lambda: SceneLight(1.0, brightness=[2.0, 0.2]), "`brightness` must be \\[low, high\\] with low at least 0"),
        (lambda: LightTemperature(6000.0), "`kelvin` must be in \\[0, 4500\\], got 6000"),
        (lambda: LightColour(1.0, rgb=[0.5]), "`rgb` must be \\[low, high\\] with low at least 0, got \\[0.5\\]"),
        (lambda: LightColour(1.0, terms=["diffus"]), "`terms` must be a list of some of ambient, diffuse, specular"),
        (lambda: CameraDistance(1.0, factors=[2.0, 1.0]), "`factors` must be \\[low, high\\] with low at least 0"),
        (lambda: SceneColour(-0.1), "`amount` must be in \\[0, 1\\]"),
        (lambda: SceneTexture(2.0), "`amount` must be in \\[0, 1\\], got 2.0"),
        (
            lambda: SceneTexture(1.0, patterns=["chekker"]),
            "must be a list of some of checker, stripes, noise, gradient",
        ),
        (lambda: Distractors(0.1, count=0), "`count` must be at least 1, got 0"),
    ],
)
def test_bad_parameters_are_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_kind_of_colour_that_does_not_exist():
    with pytest.raises(UserError, match="`kind` cannot be 'shfit'; did you mean `shift`"):
        SceneColour(0.5, kind="shfit")
