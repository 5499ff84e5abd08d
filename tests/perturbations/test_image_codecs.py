import io

import numpy as np
import pytest
from gymnasium import spaces
from PIL import Image
from scipy.ndimage import gaussian_filter, uniform_filter

from brittlestar.errors import UserError
from brittlestar.perturbations import BlurredImage, JpegImage

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
