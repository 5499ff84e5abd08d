import dataclasses

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hydra import compose, initialize_config_dir

from brittlestar.config import config_folder, register
from brittlestar.engine.delivery import measure, result_notes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BlurredImage,
    FoggyImage,
    GlassBlurredImage,
    LiberoPlusImage,
    MotionBlurredImage,
    ZoomBlurredImage,
)
from brittlestar.perturbations.libero_plus import SEVERITIES, parameters_at
from brittlestar.policies import RandomPolicy

SPACE = spaces.Box(0, 255, (64, 64, 3), np.uint8)
KINDS = {
    "motion_blur": MotionBlurredImage,
    "gaussian_blur": BlurredImage,
    "zoom_blur": ZoomBlurredImage,
    "fog": FoggyImage,
    "glass_blur": GlassBlurredImage,
}
MOTION = {"kernel": "gaussian", "angle_degrees": 45.0}
CASES = [(name, severity) for name in KINDS for severity in range(1, 11)]


def show(part, make_step, **options):
    blocks = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3), np.uint8)
    images = blocks.repeat(8, axis=1).repeat(8, axis=2)
    part.bind(SPACE, spaces.Discrete(2), 2)
    return part.perturb_observation(images, make_step(2, **options)), images


def test_the_published_ends():
    assert set(SEVERITIES) == set(KINDS)
    assert {len(column) for table in SEVERITIES.values() for column in table.values()} == {10}
    assert SEVERITIES["gaussian_blur"]["radius_pixels"] == list(range(1, 11))
    assert 1 + SEVERITIES["zoom_blur"]["zoom"][-1] == pytest.approx(1.56)
    fog = SEVERITIES["fog"]
    assert [(fog["thickness"][i], fog["decay"][i]) for i in (0, -1)] == [(0.5, 3.0), (5.0, 1.3)]


@pytest.mark.parametrize("name", KINDS)
def test_strengths_never_fall(name):
    column = SEVERITIES[name][KINDS[name].strength_field]
    assert column == sorted(column) and column[0] > 0


@pytest.mark.parametrize(("name", "severity"), CASES)
def test_every_severity_is_the_perturbation_with_its_parameters(name, severity, make_step):
    seen, images = show(LiberoPlusImage(severity=severity, corruption=name, radii="published"), make_step)
    values = {field: column[severity - 1] for field, column in SEVERITIES[name].items()}
    same = KINDS[name](**values, **(MOTION if name == "motion_blur" else {}))
    if hasattr(same, "per_episode"):
        same = dataclasses.replace(same, per_episode=False)
    assert np.array_equal(seen, show(same, make_step)[0])
    assert not np.array_equal(seen, images)


@pytest.mark.parametrize(
    ("name", "field"),
    [("motion_blur", "motion_pixels"), ("gaussian_blur", "radius_pixels"), ("glass_blur", "reach_pixels")],
)
def test_lengths_are_scaled_to_the_size_of_the_image(name, field, make_step):
    scaled, _ = show(LiberoPlusImage(severity=8, corruption=name, per_episode=True), make_step)
    values = {key: column[7] for key, column in SEVERITIES[name].items()}
    # A side of 64 is a quarter of the published 256.
    values[field] /= 4
    options = MOTION | {"per_episode": True} if name == "motion_blur" else {}
    assert np.array_equal(scaled, show(KINDS[name](**values, **options), make_step)[0])


@pytest.mark.parametrize("name", ["zoom_blur", "fog"])
def test_what_has_no_length_is_the_same_at_any_size(name, make_step):
    scaled, published = (
        show(LiberoPlusImage(severity=8, corruption=name, radii=radii), make_step)[0]
        for radii in ("scaled", "published")
    )
    assert np.array_equal(scaled, published)


@pytest.mark.parametrize(("name", "severity"), [(name, severity) for name in KINDS for severity in (6, 10)])
def test_a_higher_severity_changes_more(name, severity, make_step):
    weak, strong = (
        np.abs(seen.astype(int) - images).mean()
        for seen, images in (
            show(LiberoPlusImage(severity=s, corruption=name), make_step) for s in (severity / 2, severity)
        )
    )
    assert 0 < weak < strong


@pytest.mark.parametrize("name", KINDS)
def test_the_level_multiplies_the_severity(name, make_step):
    half, _ = show(LiberoPlusImage(severity=9, corruption=name), make_step, level=0.5)
    expected, _ = show(LiberoPlusImage(severity=4.5, corruption=name), make_step)
    assert np.array_equal(half, expected)


@pytest.mark.parametrize(
    ("severity", "expected"),
    [(0, (0.0, 3.0)), (0.5, (0.25, 3.0)), (1, (0.5, 3.0)), (5.5, (2.75, 1.9)), (10, (5.0, 1.3))],
)
def test_parameters_between_severities_are_interpolated(severity, expected):
    values = parameters_at("fog", np.array([float(severity)]))
    assert (values["thickness"][0], values["decay"][0]) == pytest.approx(expected)


@pytest.mark.parametrize("name", KINDS)
def test_a_blur_too_short_to_change_a_byte_is_a_level_without_effect(name, make_step):
    part = LiberoPlusImage(severity=1, corruption=name)
    seen, images = show(part, make_step)
    # A radius of 1 pixel of 256 is a quarter of a pixel of 64.
    idle = name == "gaussian_blur"
    assert np.array_equal(seen, images) == idle
    reason = "`severity` 1 of gaussian_blur is 0.25 pixels in images of this size"
    assert part.idle_reason == (reason if idle else "")
    show(part := LiberoPlusImage(severity=5, corruption=name), make_step)
    assert part.idle_reason == ""


class Flicker(gym.Env):
    """Shows random pictures."""

    observation_space, action_space = SPACE, spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.integers(0, 256, SPACE.shape, np.uint8), {}

    def step(self, action):
        return self.np_random.integers(0, 256, SPACE.shape, np.uint8), 0.0, False, False, {}


gym.register("Flicker-v0", Flicker, max_episode_steps=3)


@pytest.mark.parametrize(("severity", "notes"), [(1, ["a level without effect: `severity` 1"]), (5, [])])
def test_a_cell_of_such_a_level_runs_with_a_note(severity, notes):
    part = LiberoPlusImage(severity=severity, corruption="gaussian_blur")
    rows = rollout(Lanes(EnvSpec(id="Flicker-v0"), 1), Parts(policy := RandomPolicy(), part), Plan(2))
    assert bool(measure(part, rows)["pixels_changed"]) == (severity > 1)
    assert [note[: len(text)] for note, text in zip(result_notes(policy, part, rows), notes, strict=True)] == notes


def test_a_corruption_that_does_not_exist():
    with pytest.raises(UserError, match="`corruption` cannot be 'glas_blur'; did you mean `glass_blur`"):
        LiberoPlusImage(severity=1, corruption="glas_blur")


def test_the_experiment_sweeps_all_corruptions_and_severities():
    register()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose("config", ["experiment=libero_plus_images"], return_hydra_config=True)
    params = config.hydra.sweeper.params
    assert params["perturbation.corruption"] == ",".join(SEVERITIES)
    assert params["perturbation.severity"] == ",".join(map(str, range(11)))
