import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.perturbations import FoggyImage
from brittlestar.perturbations.fog import plasma, plasma_size

GREY = spaces.Box(0, 255, (24, 32), np.uint8)


def show(part, images, make_step, space=GREY, **options):
    part.bind(space, spaces.Discrete(2), len(images))
    return part.perturb_observation(images, make_step(len(images), **options))


def fields(decay, shape=(24, 32), lanes=200, seed=0):
    numbers = np.random.default_rng(seed).random((lanes, plasma_size(shape)))
    return plasma(numbers, np.full(lanes, decay), shape)


@pytest.mark.parametrize(
    ("thickness", "level", "before", "low", "high"),
    [
        (1.0, 1.0, 0, 0, 128),  # (0 + 0..255) / 2, and 127.5 is rounded to an even number
        (1.0, 1.0, 200, 100, 228),  # (200 + 0..255) / 2
        (4.0, 1.0, 200, 40, 244),  # (200 + 4 * 0..255) / 5
        (4.0, 0.25, 200, 100, 228),
        (4.0, 0.0, 200, 200, 200),
    ],
)
def test_fog_is_mixed_with_the_image(thickness, level, before, low, high, make_step):
    seen = show(FoggyImage(thickness=thickness), np.full((3, 24, 32), before, np.uint8), make_step, level=level)
    assert set(seen.min(axis=(1, 2)).tolist()) == {low}
    assert set(seen.max(axis=(1, 2)).tolist()) == {high}


def test_clouds_are_the_same_at_every_thickness(make_step):
    space, black = spaces.Box(0.0, 1.0, (24, 32), np.float64), np.zeros((2, 24, 32))
    thin, thick = (show(FoggyImage(thickness=t), black, make_step, space) for t in (0.5, 3.0))
    np.testing.assert_allclose(thin * 1.5 / 0.5, thick * 4 / 3, atol=1e-12)


def test_all_channels_have_the_same_fog(make_step):
    space = spaces.Box(0, 255, (16, 20, 3), np.uint8)
    seen = show(FoggyImage(thickness=1.0), np.zeros((2, 16, 20, 3), np.uint8), make_step, space)
    assert (seen == seen[..., :1]).all()


@pytest.mark.parametrize("shape", [(24, 32), (33, 8), (64, 64), (1, 9), (2, 2)])
def test_clouds_reach_from_0_to_1(shape):
    clouds = fields(2.0, shape)
    assert clouds.shape == (200, *shape)
    assert (clouds.min(axis=(1, 2)) == 0).all()
    assert (clouds.max(axis=(1, 2)) == 1).all()


def test_an_image_of_one_pixel_has_no_clouds():
    assert (fields(2.0, (1, 1)) == 0).all()


def test_a_larger_decay_is_smoother():
    steps = [np.abs(np.diff(fields(decay), axis=2)).mean() for decay in (1.0, 1.3, 2.0, 3.0)]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 3 * steps[-1]


def test_clouds_are_linear_between_the_points_of_the_coarsest_grid():
    # Grids of 2 and 4 cells; the finer one is 10^-12 times weaker.
    clouds = fields(1e6, (5, 5))
    np.testing.assert_allclose(clouds[:, :, 1], (clouds[:, :, 0] + clouds[:, :, 2]) / 2, atol=1e-9)
    np.testing.assert_allclose(clouds[:, 3], (clouds[:, 2] + clouds[:, 4]) / 2, atol=1e-9)


def test_clouds_are_anywhere():
    mean = fields(2.0, lanes=3000).mean(axis=0)
    assert mean.mean() == pytest.approx(0.5, abs=0.02)
    assert mean.max() - mean.min() < 0.15


def test_episodes_have_their_own_clouds(make_step):
    black = np.zeros((2, 24, 32), np.uint8)
    first, second = show(FoggyImage(thickness=1.0), black, make_step)
    assert not np.array_equal(first, second)
