import io
from itertools import pairwise

import numpy as np
import pytest
from gymnasium import spaces
from PIL import Image
from scipy.ndimage import gaussian_filter, uniform_filter

from brittlestar.errors import UserError
from brittlestar.perturbations import BlurredImage, ErasedImage, JpegImage, PatchImage
from brittlestar.perturbations.camera_faults import rectangle

GREY = spaces.Box(0, 255, (20, 30), np.uint8)
UNIT = spaces.Box(0.0, 1.0, (20, 30), np.float64)
COLOUR = spaces.Box(0, 255, (16, 24, 3), np.uint8)
STACK = spaces.Box(0, 255, (16, 24, 4), np.uint8)


def show(part, images, space, make_step, **options):
    part.bind(space, spaces.Discrete(2), len(images))
    return part.perturb_observation(images, make_step(len(images), **options))


def pictures(space, lanes=2):
    values = np.random.default_rng(3).random((lanes, *space.shape)) * space.high.max()
    return values.astype(space.dtype)


@pytest.mark.parametrize(("radius", "level"), [(1.0, 1.0), (2.5, 1.0), (4.0, 0.5)])
def test_a_gaussian_blur_is_the_one_of_scipy(radius, level, make_step):
    images = pictures(UNIT)
    seen = show(BlurredImage(radius_pixels=radius), images, UNIT, make_step, level=level)
    for image, blurred in zip(images, seen, strict=True):
        expected = gaussian_filter(image, radius * level, mode="nearest", radius=int(np.ceil(3 * radius * level)))
        np.testing.assert_allclose(blurred, expected, atol=1e-9)


@pytest.mark.parametrize("radius", [1, 3])
def test_a_box_blur_is_the_mean_of_a_square(radius, make_step):
    images = pictures(UNIT)
    seen = show(BlurredImage(radius_pixels=radius, kernel="box"), images, UNIT, make_step)
    for image, blurred in zip(images, seen, strict=True):
        np.testing.assert_allclose(blurred, uniform_filter(image, 2 * radius + 1, mode="nearest"), atol=1e-9)


def test_a_box_grows_smoothly(make_step):
    line = np.zeros((1, 1, 5))
    line[..., 2] = 1.0
    space = spaces.Box(0.0, 1.0, (1, 5), np.float64)
    seen = show(BlurredImage(radius_pixels=0.5, kernel="box"), line, space, make_step)
    np.testing.assert_allclose(seen[0, 0], [0, 0.25, 0.5, 0.25, 0])


def test_lanes_have_blurs_of_their_own(make_step):
    images = pictures(UNIT)
    part = BlurredImage(radius_pixels=2.0)
    part.bind(UNIT, spaces.Discrete(2), 2)
    step = make_step(2)
    step.level[0] = 0.0
    seen = part.perturb_observation(images, step)
    assert np.array_equal(seen[0], images[0])
    assert np.array_equal(seen[1:], show(part, images[1:], UNIT, make_step))


@pytest.mark.parametrize("kernel", ["gaussian", "box"])
def test_a_blur_far_wider_than_the_picture_costs_no_more_than_one_as_wide(kernel, make_step):
    images = pictures(UNIT)
    wide, wider = (
        show(BlurredImage(radius_pixels=radius, kernel=kernel), images, UNIT, make_step) for radius in (30, 10**9)
    )
    assert np.array_equal(wide, wider)


def test_a_kernel_that_does_not_exist():
    with pytest.raises(UserError, match="`kernel` cannot be 'gausian'; did you mean `gaussian`"):
        BlurredImage(radius_pixels=1.0, kernel="gausian")


def coded(picture, quality):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


@pytest.mark.parametrize(("loss", "level", "quality"), [(80.0, 1.0, 20), (80.0, 0.25, 80), (99.0, 1.0, 1)])
def test_colour_goes_through_the_codec_together_and_other_channels_one_by_one(loss, level, quality, make_step):
    images = pictures(COLOUR)
    seen = show(JpegImage(loss=loss), images, COLOUR, make_step, level=level)
    assert np.array_equal(seen, [coded(image, quality) for image in images])
    images = pictures(STACK)
    seen = show(JpegImage(loss=loss), images, STACK, make_step, level=level)
    for channel in range(4):
        expected = [coded(np.ascontiguousarray(image[..., channel]), quality) for image in images]
        assert np.array_equal(seen[..., channel], expected)


def test_more_loss_is_more_change(make_step):
    images = pictures(COLOUR)
    errors = [
        np.abs(show(JpegImage(loss=loss), images, COLOUR, make_step).astype(int) - images).mean()
        for loss in (0.0, 0.4, 20.0, 60.0, 95.0)
    ]
    assert errors[:2] == [0, 0]
    assert errors == sorted(errors)
    assert errors[1] < errors[2] < errors[3] < errors[4]


def covered(part, make_step, space=UNIT, lanes=50, **options):
    """Returns which pixels of grey images were painted."""
    part.bind(space, spaces.Discrete(2), lanes)
    images = np.full((lanes, *space.shape), 100 if space is GREY else 0.4, space.dtype)
    return part.perturb_observation(images, make_step(lanes, **options)) != images


@pytest.mark.parametrize(("share", "level", "side"), [(0.5, 1.0, 10), (0.5, 0.5, 5), (1.0, 1.0, 20), (0.01, 1.0, 0)])
def test_a_patch_is_a_square_of_its_share(share, level, side, make_step):
    masks = covered(PatchImage(share=share), make_step, level=level)
    assert (masks.sum(axis=(1, 2)) == side**2).all()
    assert (masks.any(axis=2).sum(axis=1) == side).all()
    assert (masks.any(axis=1).sum(axis=1) == side).all()


@pytest.mark.parametrize(
    ("space", "fill", "value"), [(GREY, 0.0, 0), (GREY, 0.5, 128), (GREY, 1.0, 255), (UNIT, 0.5, 0.5)]
)
def test_a_patch_has_its_colour(space, fill, value, make_step):
    part = PatchImage(share=1.0, fill=fill)
    part.bind(space, spaces.Discrete(2), 1)
    seen = part.perturb_observation(np.full((1, *space.shape), 0.25).astype(space.dtype), make_step(1))
    assert (seen[:, :, 10:20] == value).all()


@pytest.mark.parametrize("per_episode", [True, False])
def test_a_patch_stays_for_a_step_or_an_episode(per_episode, make_step):
    part = PatchImage(share=0.3, per_episode=per_episode)
    start, later = (covered(part, make_step, step=t) for t in (0, 9))
    assert np.array_equal(start, later) == per_episode


@pytest.mark.parametrize(
    "make",
    [
        lambda strength: PatchImage(share=strength),
        lambda strength: ErasedImage(area=strength, aspect=4.0),
        lambda strength: ErasedImage(area=0.1, p=strength),
        lambda strength: ErasedImage(area=0.1, rectangles=1 + int(5 * strength)),
    ],
)
def test_stronger_covers_what_weaker_covers(make, make_step):
    masks = [covered(make(strength), make_step) for strength in (0.1, 0.3, 0.35, 0.6, 0.9)]
    for weaker, stronger in pairwise(masks):
        assert (stronger >= weaker).all()
    assert masks[-1].sum() > masks[0].sum()


def test_a_patch_is_anywhere(make_step):
    masks = covered(PatchImage(share=0.25), make_step, lanes=4000)
    rows, columns = masks.any(axis=2).argmax(axis=1), masks.any(axis=1).argmax(axis=1)
    for places, count in ((rows, 16), (columns, 26)):
        shares = np.bincount(places, minlength=count) / 4000
        assert len(shares) == count
        np.testing.assert_allclose(shares, 1 / count, atol=0.02)


def test_rectangles_have_their_area_and_aspect(make_step):
    masks = covered(ErasedImage(area=0.1, aspect=4.0), make_step, lanes=3000)
    assert masks.mean() == pytest.approx(0.1, rel=0.03)
    height, width = masks.any(axis=2).sum(axis=1) / 20, masks.any(axis=1).sum(axis=1) / 30
    ratio = height / width
    assert 0.2 < ratio.min() < 0.3
    assert 3.3 < ratio.max() < 5
    assert np.log(ratio).mean() == pytest.approx(0, abs=0.06)


def test_rectangles_come_with_probability_p(make_step):
    masks = covered(ErasedImage(area=0.1, p=0.3), make_step, lanes=3000)
    assert masks.any(axis=(1, 2)).mean() == pytest.approx(0.3, abs=0.035)
    assert ErasedImage(area=0.1, p=0.0).is_identity


def test_erased_pixels_are_random_bytes(make_step):
    part = ErasedImage(area=1.0, aspect=1.0)
    part.bind(GREY, spaces.Discrete(2), 20)
    seen = part.perturb_observation(np.zeros((20, 20, 30), np.uint8), make_step(20))
    assert len(np.unique(seen)) == 256
    assert seen.mean() == pytest.approx(127.5, abs=3)


@pytest.mark.parametrize("size", [0, 1, 3, 4])
def test_a_rectangle_is_inside_wherever_it_is(size):
    drawn = np.random.default_rng(0).random((100, 2))
    assert (rectangle(drawn, size, size, (100, 4, 4, 1)).sum(axis=(1, 2, 3)) == size**2).all()
