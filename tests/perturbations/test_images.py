"""Promises of every perturbation of images; exposure and noise."""

import dataclasses

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.engine.delivery import measure
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BlurredImage,
    BrightnessImage,
    ContrastImage,
    ErasedImage,
    FoggyImage,
    GaussianImage,
    GlassBlurredImage,
    JpegImage,
    LiberoPlusImage,
    MotionBlurredImage,
    PatchImage,
    ZoomBlurredImage,
)
from brittlestar.perturbations.libero_plus import SEVERITIES
from brittlestar.policies import RandomPolicy

PARTS = [
    GaussianImage(sigma=0.2),
    BrightnessImage(shift=0.3),
    BrightnessImage(shift=-0.3),
    ContrastImage(loss=0.5),
    PatchImage(share=0.5, fill=0.5),
    PatchImage(share=0.5, per_episode=True),
    ErasedImage(area=0.2, p=0.8, rectangles=2),
    BlurredImage(radius_pixels=1.0),
    BlurredImage(radius_pixels=2.0, kernel="box"),
    JpegImage(loss=80.0),
    MotionBlurredImage(motion_pixels=4.0),
    MotionBlurredImage(motion_pixels=1.5, kernel="gaussian", angle_degrees=45.0, per_episode=True),
    ZoomBlurredImage(zoom=0.5),
    FoggyImage(thickness=1.5),
    FoggyImage(thickness=0.5, decay=3.0, per_episode=False),
    GlassBlurredImage(reach_pixels=1.5),
    GlassBlurredImage(reach_pixels=1.0, blur=0.0, per_episode=False),
    LiberoPlusImage(severity=6.0),
    *(LiberoPlusImage(severity=7.5, corruption=name, radii="published") for name in SEVERITIES),
]
RANDOM = [
    part
    for part in PARTS
    if not isinstance(part, (BrightnessImage, ContrastImage, BlurredImage, JpegImage, ZoomBlurredImage))
    and getattr(part, "corruption", "") not in ("gaussian_blur", "zoom_blur")
]
BYTES = spaces.Box(0, 255, (12, 10, 3), np.uint8)
SPACES = [
    BYTES,
    spaces.Box(0, 255, (12, 10), np.uint8),
    spaces.Box(0, 255, (12, 10, 1), np.uint8),
    spaces.Box(0, 255, (12, 10, 4), np.uint8),
    spaces.Box(0, 255, (4, 12, 10), np.uint8),
    spaces.Box(0.0, 1.0, (12, 10, 3), np.float32),
    spaces.Box(0.0, 1.0, (3, 12, 10), np.float64),
    spaces.Box(0.0, 255.0, (12, 10), np.float32),
]
ACTIONS = spaces.Discrete(2)


def pictures(space=BYTES, lanes=3):
    values = np.random.default_rng(1).random((lanes, *space.shape)) * space.high.max()
    return (np.rint(values) if space.dtype == np.uint8 else values).astype(space.dtype)


def show(part, images, make_step, space=BYTES, parameter=None, **options):
    part.bind(space, ACTIONS, len(images))
    step = make_step(len(images), **options)
    step.parameter = parameter
    return part.perturb_observation(images, step), step


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("part", PARTS)
def test_it_changes_images_of_any_layout_and_keeps_them_images(part, space, make_step):
    images = pictures(space)
    before = images.copy()
    seen, step = show(part, images, make_step, space)
    assert np.array_equal(images, before)
    assert seen.shape == images.shape
    assert seen.dtype == images.dtype
    assert all(space.contains(image) for image in seen)
    assert part.observation_space(space) is space
    changed = seen != images
    if images.ndim == 4:
        changed = changed.any(axis=1 if space.shape[0] < space.shape[2] else 3)
    np.testing.assert_allclose(step.effects["pixels_changed"], changed.mean(axis=(1, 2)))
    assert step.effects["pixels_changed"].max() > 0.05


@pytest.mark.parametrize("part", PARTS)
def test_layouts_agree(part, make_step):
    images = pictures()
    last, _ = show(part, images, make_step)
    first, _ = show(part, np.moveaxis(images, 3, 1), make_step, spaces.Box(0, 255, (3, 12, 10), np.uint8))
    assert np.array_equal(np.moveaxis(first, 1, 3), last)


@pytest.mark.parametrize("part", PARTS)
def test_floats_are_bytes_in_other_units(part, make_step):
    images = pictures()
    floats = spaces.Box(0.0, 1.0, BYTES.shape, np.float64)
    seen, _ = show(part, images, make_step)
    scaled, _ = show(part, images / 255, make_step, floats)
    np.testing.assert_allclose(scaled, seen / 255, atol=0.51 / 255)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("part", PARTS)
def test_strength_zero_is_exactly_the_identity(part, space, make_step):
    images = pictures(space)
    none = dataclasses.replace(part, **{part.strength_field: 0})
    assert none.is_identity
    assert np.array_equal(show(none, images, make_step, space)[0], images)
    seen, step = show(part, images, make_step, space, level=0.0)
    assert np.array_equal(seen, images)
    assert not step.effects["pixels_changed"].any()


@pytest.mark.parametrize("part", RANDOM)
def test_same_seed_same_output_other_seed_another(part, make_step):
    images = pictures(lanes=8)
    noise, repeated, other = (show(part, images, make_step, seed=seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(noise, repeated)
    assert not np.array_equal(noise, other)


@pytest.mark.parametrize("space", [SPACES[0], SPACES[6]])
@pytest.mark.parametrize("part", PARTS)
def test_a_lane_does_not_depend_on_the_others(part, space, make_step):
    images = pictures(space, lanes=4)
    together, _ = show(part, images, make_step, space, episodes=[5, 3, 8, 1], step=7)
    alone, _ = show(part, images[2:3], make_step, space, episodes=[8], step=7)
    assert np.array_equal(together[2:3], alone)


@pytest.mark.parametrize("part", PARTS)
def test_a_lane_does_not_depend_on_the_levels_of_the_others(part, make_step):
    part = dataclasses.replace(part, keys=["left", "right"])
    space = spaces.Dict({"left": BYTES, "right": spaces.Box(0.0, 1.0, (12, 10, 3), np.float32)})
    images = {key: pictures(box) for key, box in space.items()}
    part.bind(space, ACTIONS, 3)
    step = make_step(3, episodes=[5, 3, 8], step=7)
    step.level[:] = 1.0, 0.4, 0.0
    together = part.perturb_observation(images, step)
    part.bind(space, ACTIONS, 1)
    alone = part.perturb_observation(
        {key: values[1:2] for key, values in images.items()}, make_step(1, episodes=[3], step=7, level=0.4)
    )
    for key, values in images.items():
        assert np.array_equal(together[key][1:2], alone[key])
        assert np.array_equal(together[key][2], values[2])


@pytest.mark.parametrize("part", PARTS)
def test_the_image_of_one_lane_is_left_as_it_was(part, make_step):
    space = spaces.Box(0.0, 1.0, (12, 10, 3), np.float32)
    image = pictures(space, lanes=1)
    before = image.copy()
    show(part, image, make_step, space)
    assert np.array_equal(image, before)


@pytest.mark.parametrize("part", [part for part in RANDOM if not isinstance(part, (GaussianImage, ErasedImage))])
def test_draws_are_those_of_a_step_or_an_episode(part, make_step):
    part, images = dataclasses.replace(part, per_episode=False), pictures()
    start, later = (show(part, images, make_step, step=step)[0] for step in (0, 9))
    assert not np.array_equal(start, later)
    part = dataclasses.replace(part, per_episode=True)
    start, later = (show(part, images, make_step, step=step)[0] for step in (0, 9))
    assert np.array_equal(start, later)


@pytest.mark.parametrize("part", PARTS)
def test_a_schedule_can_scale_every_number(part, make_step):
    images = pictures(lanes=20)
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if type(value) not in (int, float):
            continue
        half = dataclasses.replace(part, **{field.name: type(value)(value / 2)})
        scheduled, _ = show(part, images, make_step, parameter=field.name, level=0.5)
        expected, _ = show(half, images, make_step, parameter="none")
        np.testing.assert_allclose(scheduled.astype(int), expected, atol=1, err_msg=field.name)


def test_an_entry_of_a_dict(make_step):
    space = spaces.Dict({"camera": BYTES, "wrist": BYTES, "joints": spaces.Box(-1.0, 1.0, (3,))})
    part = BrightnessImage(shift=1.0, keys=["camera", "wrist"])
    seen = {"camera": np.zeros((2, 12, 10, 3), np.uint8), "wrist": np.full((2, 12, 10, 3), 255, np.uint8)}
    after, step = show(part, seen | {"joints": np.ones((2, 3))}, make_step_for(2, make_step), space)
    assert (after["camera"] == 255).all()
    assert (after["wrist"] == 255).all()
    assert (after["joints"] == 1).all()
    assert step.effects["pixels_changed"].tolist() == [0.5, 0.5]
    assert part.observation_space(space) is space


def make_step_for(lanes, make_step):
    return lambda _, **options: make_step(lanes, **options)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(-np.inf, np.inf, (4,)), r"needs an image \(H, W\), .*, the observation is Box\(-inf, inf, \(4,\)"),
        (spaces.Box(0, 255, (128,), np.uint8), "needs an image"),
        (spaces.Box(-1.0, 1.0, (8, 8, 3)), "needs an image"),
        (spaces.Box(0.0, 7.0, (8, 8)), "needs an image"),
        (spaces.Box(0, 255, (8, 8), np.int64), "needs an image"),
        (spaces.Box(0, 255, (2, 8, 8, 3), np.uint8), "needs an image"),
        (
            spaces.Dict({"observation": spaces.Box(-1.0, 1.0, (4,)), "image_0": BYTES, "image_1": BYTES}),
            r"needs an image, and the entry 'observation' is none; set `perturbation.keys=\[image_0,image_1\]`$",
        ),
        (
            spaces.Dict({"goal": spaces.Box(-1.0, 1.0, (3,)), "image": BYTES}),
            r"needs an image, and the entry 'observation' is none; set `perturbation.keys=\[image\]`$",
        ),
        (spaces.Dict({"observation": spaces.Box(-1.0, 1.0, (3,))}), r"floats in \[0, 1\], `observation` is Box"),
        (spaces.Discrete(16), "needs a Box observation, the observation is Discrete"),
    ],
)
def test_what_is_no_image_is_refused(space, message):
    with pytest.raises(UserError, match=message) as caught:
        GaussianImage(sigma=0.1).bind(space, ACTIONS, 1)
    assert "\n" not in str(caught.value)


def test_noise_has_its_size_in_shares_of_white(make_step):
    space = spaces.Box(0, 255, (64, 64), np.uint8)
    seen, _ = show(GaussianImage(sigma=0.1), np.full((3, 64, 64), 128, np.uint8), make_step, space)
    assert seen.std() == pytest.approx(25.5, rel=0.03)
    assert seen.mean() == pytest.approx(128, abs=1)


def test_noise_is_paired_across_strengths(make_step):
    space, grey = spaces.Box(0.0, 1.0, (8, 8), np.float64), np.full((1, 8, 8), 0.5)
    small, large = (show(GaussianImage(sigma=s), grey, make_step, space)[0] - 0.5 for s in (0.01, 0.05))
    np.testing.assert_allclose(large, 5 * small, atol=1e-12)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (BrightnessImage(shift=0.2), [51, 151, 255, 255]),
        (BrightnessImage(shift=-0.2), [0, 49, 159, 204]),
        (ContrastImage(loss=0.5), [71, 121, 176, 198]),
        (ContrastImage(loss=1.0), [141, 141, 141, 141]),
    ],
)
def test_exposure(part, expected, make_step):
    # The mean is 141.25.
    image = np.array([[[0, 100, 210, 255]]], np.uint8)
    seen, _ = show(part, image, make_step, spaces.Box(0, 255, (1, 4), np.uint8))
    assert seen[0, 0].tolist() == expected


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (GaussianImage, {"sigma": -1}, "`sigma` must be at least 0, got -1"),
        (BrightnessImage, {"shift": 2}, r"`shift` must be in \[-1, 1\], got 2"),
        (ContrastImage, {"loss": 2}, r"`loss` must be in \[0, 1\], got 2"),
        (PatchImage, {"share": 2}, r"`share` must be in \[0, 1\], got 2"),
        (PatchImage, {"share": 1, "fill": 255}, r"`fill` must be in \[0, 1\], got 255"),
        (ErasedImage, {"area": -1}, r"`area` must be in \[0, 1\], got -1"),
        (ErasedImage, {"area": 1, "p": 2}, r"`p` must be in \[0, 1\], got 2"),
        (ErasedImage, {"area": 1, "aspect": 0.5}, "`aspect` must be at least 1, got 0.5"),
        (ErasedImage, {"area": 1, "rectangles": 0}, "`rectangles` must be at least 1, got 0"),
        (BlurredImage, {"radius_pixels": -1}, "`radius_pixels` must be at least 0, got -1"),
        (JpegImage, {"loss": 100}, r"`loss` must be in \[0, 99\], got 100"),
        (MotionBlurredImage, {"motion_pixels": -1}, "`motion_pixels` must be at least 0 and finite, got -1"),
        (
            MotionBlurredImage,
            {"motion_pixels": 1, "angle_degrees": 190},
            r"`angle_degrees` must be in \[0, 180\], got 190",
        ),
        (ZoomBlurredImage, {"zoom": -0.1}, "`zoom` must be at least 0 and finite, got -0.1"),
        (FoggyImage, {"thickness": float("inf")}, "`thickness` must be at least 0 and finite, got inf"),
        (FoggyImage, {"thickness": 1, "decay": 0.5}, "`decay` must be at least 1 and finite, got 0.5"),
        (GlassBlurredImage, {"reach_pixels": -1}, "`reach_pixels` must be at least 0 and finite, got -1"),
        (GlassBlurredImage, {"reach_pixels": 1, "blur": -1}, "`blur` must be at least 0 and finite, got -1"),
        (GlassBlurredImage, {"reach_pixels": 1, "rounds": 0}, "`rounds` must be at least 1, got 0"),
        (LiberoPlusImage, {"severity": 11}, r"`severity` must be in \[0, 10\], got 11"),
    ],
)
def test_bad_parameters(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)


class Film(gym.Env):
    """Shows random images."""

    observation_space, action_space = BYTES, ACTIONS

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.picture(), {}

    def step(self, action):
        return self.picture(), 0.0, False, False, {}

    def picture(self):
        return self.np_random.integers(0, 256, BYTES.shape, np.uint8)


gym.register("Film-v0", Film, max_episode_steps=4)


def test_a_sweep_records_the_share_of_pixels_that_changed():
    spec, part = EnvSpec(id="Film-v0"), PatchImage(share=0.5)
    alone, together = (rollout(Lanes(spec, lanes), Parts(RandomPolicy(), part), Plan(3)) for lanes in (1, 2))
    # A patch of 5 x 5 on 12 x 10; a pixel there is rarely black already.
    assert measure(part, alone)["pixels_changed"] == pytest.approx(25 / 120, rel=0.01)
    np.testing.assert_array_equal(alone.values, together.values)
    np.testing.assert_array_equal(alone.effects["pixels_changed"], together.effects["pixels_changed"])


def test_a_learner_sees_images_in_the_same_space():
    env = PerturbedEnv(gym.make("Film-v0", disable_env_checker=True), GaussianImage(sigma=0.5))
    seen, info = env.reset(seed=0)
    assert env.observation_space == BYTES
    assert BYTES.contains(seen)
    assert (seen != info["true_observation"]).mean() > 0.9
