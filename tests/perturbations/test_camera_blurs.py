import numpy as np
import pytest
from gymnasium import spaces
from scipy.ndimage import gaussian_filter, map_coordinates

from brittlestar.errors import UserError
from brittlestar.perturbations import GlassBlurredImage, MotionBlurredImage, ZoomBlurredImage
from brittlestar.perturbations.image_filters import smear_images

LINE = spaces.Box(0, 255, (1, 7), np.uint8)
UNIT = spaces.Box(0.0, 1.0, (20, 30), np.float64)


def show(part, images, space, make_step, **options):
    part.bind(space, spaces.Discrete(2), len(images))
    return part.perturb_observation(images, make_step(len(images), **options))


def pictures(lanes=2, space=UNIT):
    return np.random.default_rng(3).random((lanes, *space.shape))


@pytest.mark.parametrize(
    ("kernel", "motion", "level", "expected"),
    [
        ("box", 1, 1.0, [0, 60, 60, 0, 0, 0, 0]),
        ("box", 2, 1.0, [0, 40, 40, 40, 0, 0, 0]),
        ("box", 2, 0.5, [0, 60, 60, 0, 0, 0, 0]),
        ("box", 0.5, 1.0, [0, 80, 40, 0, 0, 0, 0]),
        ("box", 100, 0.0, [0, 120, 0, 0, 0, 0, 0]),
        # exp(-k^2 / 2) for k = 0, 1, 2, 3, divided by their sum.
        ("gaussian", 1, 1.0, [0, 68, 42, 9, 1, 0, 0]),
    ],
)
def test_a_point_leaves_a_trail_to_the_right(kernel, motion, level, expected, make_step):
    point = np.array([[[0, 120, 0, 0, 0, 0, 0]]], np.uint8)
    part = MotionBlurredImage(motion_pixels=motion, kernel=kernel, angle_degrees=0)
    assert show(part, point, LINE, make_step, level=level)[0, 0].tolist() == expected


def test_the_edge_of_an_image_continues_under_a_trail(make_step):
    line = np.array([[[90, 0, 0, 0, 0, 0, 60]]], np.uint8)
    part = MotionBlurredImage(motion_pixels=2, angle_degrees=0)
    assert show(part, line, LINE, make_step)[0, 0].tolist() == [90, 60, 30, 0, 0, 0, 20]


@pytest.mark.parametrize(
    ("degrees", "places"),
    [
        (0, [(3, 3), (3, 4), (3, 5)]),
        (45, [(3, 3), (2, 4), (2, 4)]),
        (90, [(3, 3), (2, 3), (1, 3)]),
        (180, [(3, 3), (3, 2), (3, 1)]),
        (-90, [(3, 3), (4, 3), (5, 3)]),
    ],
)
def test_a_trail_has_its_angle(degrees, places):
    image = np.zeros((1, 7, 7, 1))
    image[0, 3, 3] = 3.0
    expected = np.zeros((7, 7))
    for place in places:
        expected[place] += 1
    seen = smear_images(image, np.ones((1, 3)), np.deg2rad([float(degrees)]))[0, ..., 0]
    # At 45 degrees, steps of 1 and 2 pixels are both nearest to the first diagonal neighbour.
    np.testing.assert_allclose(seen, expected, atol=1e-12)


@pytest.mark.parametrize(("limit", "reached"), [(45.0, 45.0), (180.0, 180.0)])
def test_angles_fill_their_range_evenly(limit, reached, make_step):
    space, lanes = spaces.Box(0.0, 1.0, (41, 41), np.float64), 2000
    images = np.zeros((lanes, 41, 41))
    images[:, 20, 20] = 1.0
    seen = show(MotionBlurredImage(motion_pixels=20, angle_degrees=limit), images, space, make_step)
    rows, columns = np.mgrid[20:-21:-1, -20:21]
    angles = np.rad2deg(np.arctan2((seen * rows).sum(axis=(1, 2)), (seen * columns).sum(axis=(1, 2))))
    assert np.abs(angles).max() == pytest.approx(reached, abs=2)
    shares = np.histogram(angles, bins=6, range=(-limit, limit))[0] / lanes
    np.testing.assert_allclose(shares, 1 / 6, atol=0.035)


def test_the_direction_is_the_same_at_every_strength(make_step):
    images = np.zeros((1, 20, 30))
    images[0, 10, 15] = 1.0
    short, long = (show(MotionBlurredImage(motion_pixels=n), images, UNIT, make_step)[0] > 0 for n in (3, 8))
    assert (long >= short).all() and long.sum() > short.sum() > 2


def test_a_trail_far_longer_than_the_picture_costs_no_more_than_one_as_long(make_step):
    images = pictures()
    long, longer = (show(MotionBlurredImage(motion_pixels=n), images, UNIT, make_step) for n in (30, 10**9))
    assert np.array_equal(long, longer)


def test_a_kernel_that_does_not_exist():
    with pytest.raises(UserError, match="`kernel` cannot be 'bx'; did you mean `box`"):
        MotionBlurredImage(motion_pixels=1.0, kernel="bx")


def enlarged(image, factor):
    height, width = image.shape
    rows, columns = np.mgrid[:height, :width]
    centre = (height - 1) / 2, (width - 1) / 2
    places = [centre[0] + (rows - centre[0]) / factor, centre[1] + (columns - centre[1]) / factor]
    return map_coordinates(image, places, order=1)


@pytest.mark.parametrize(
    ("zoom", "level", "expected"),
    [
        (1.0, 1.0, [15, 60, 105]),  # the mean of [0, 60, 120] and [30, 60, 90]
        (0.5, 1.0, [10, 60, 110]),  # the mean of [0, 60, 120] and [20, 60, 100]
        (1.0, 0.5, [10, 60, 110]),
        (1.0, 0.0, [0, 60, 120]),
    ],
)
def test_a_zoom_is_the_mean_of_enlargements(zoom, level, expected, make_step):
    line, space = np.array([[[0, 60, 120]]], np.uint8), spaces.Box(0, 255, (1, 3), np.uint8)
    assert show(ZoomBlurredImage(zoom=zoom), line, space, make_step, level=level)[0, 0].tolist() == expected


@pytest.mark.parametrize(("zoom", "level", "count"), [(0.05, 1.0, 2), (0.2, 1.0, 4), (0.56, 1.0, 8), (1.12, 0.5, 8)])
def test_a_zoom_has_a_factor_for_every_pixel_of_the_way(zoom, level, count, make_step):
    # Smooth pictures, because each pass interpolates once more.
    images = np.stack([gaussian_filter(image, 2.0) for image in pictures()])
    seen = show(ZoomBlurredImage(zoom=zoom), images, UNIT, make_step, level=level)
    factors = (1 + zoom * level) ** np.linspace(0, 1, count)
    for image, blurred in zip(images, seen, strict=True):
        expected = np.mean([enlarged(image, factor) for factor in factors], axis=0)
        np.testing.assert_allclose(blurred, expected, atol=0.004)
        assert np.abs(expected - image).max() > 0.004


def test_a_zoom_keeps_the_centre_sharp(make_step):
    image, space = np.zeros((1, 41, 41)), spaces.Box(0.0, 1.0, (41, 41), np.float64)
    image[0, 20, 20] = image[0, 20, 38] = 1.0
    seen = show(ZoomBlurredImage(zoom=0.5), image, space, make_step)[0]
    assert seen[20, 20] == 1.0
    assert seen[20, 30:].max() < 0.5


def shuffled(make_step, lanes=400, **fields):
    """Returns by how many columns pixels of a ramp have moved; its edges do not count."""
    space = spaces.Box(0, 255, (1, 200), np.uint8)
    ramp = np.tile(np.arange(200, dtype=np.uint8), (lanes, 1, 1))
    seen = show(GlassBlurredImage(blur=0.0, **fields), ramp, space, make_step)
    return (seen.astype(int) - ramp)[:, 0, 30:-30]


@pytest.mark.parametrize(
    ("reach", "shares"),
    [
        (0.0, {0: 1.0}),
        (0.5, {-1: 1 / 24, 0: 22 / 24, 1: 1 / 24}),
        (1.0, {-1: 1 / 6, 0: 4 / 6, 1: 1 / 6}),
        (2**0.5, {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}),
        (2.0, {-2: 0.1, -1: 4 / 15, 0: 4 / 15, 1: 4 / 15, 2: 0.1}),
        (6**0.5, {-2: 0.2, -1: 0.2, 0: 0.2, 1: 0.2, 2: 0.2}),
    ],
)
def test_distances_have_the_variance_of_a_uniform_number(reach, shares, make_step):
    moved = shuffled(make_step, reach_pixels=reach, rounds=1)
    places, counts = np.unique(moved, return_counts=True)
    assert places.tolist() == list(shares)
    np.testing.assert_allclose(counts / moved.size, list(shares.values()), atol=0.006)
    assert sum(place**2 * share for place, share in shares.items()) == pytest.approx(reach**2 / 3)


@pytest.mark.parametrize("reach", [0.3, 2.6, 7.0, 9.5])
def test_distances_never_exceed_the_reach(reach, make_step):
    moved = shuffled(make_step, reach_pixels=reach, rounds=1)
    assert np.abs(moved).max() <= np.ceil(reach)
    assert moved.var() == pytest.approx(reach**2 / 3, rel=0.05)


def test_rounds_add_up(make_step):
    once, twice = (shuffled(make_step, reach_pixels=2, rounds=n) for n in (1, 2))
    assert np.abs(twice).max() == 4
    assert twice.var() == pytest.approx(2 * once.var(), rel=0.03)


def test_glass_is_paired_across_reaches(make_step):
    near, far = (shuffled(make_step, reach_pixels=n, rounds=1) for n in (1, 4))
    assert (near * far >= 0).all() and (np.abs(far) >= np.abs(near)).all()
    assert near.any()


def test_glass_blurs_before_and_after(make_step):
    images = pictures()
    seen = show(GlassBlurredImage(reach_pixels=0.001, blur=2000.0, rounds=1), images, UNIT, make_step)
    once = [gaussian_filter(image, 2.0, mode="nearest") for image in images]
    expected = [gaussian_filter(image, 2.0, mode="nearest") for image in once]
    # Such a short reach moves no pixel.
    np.testing.assert_allclose(seen, expected, atol=0.002)
