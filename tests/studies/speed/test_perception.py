"""The loop that the sweep of a policy with cameras is compared with."""

import contextlib

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.envs import EnvSpec
from brittlestar.envs.camera_env import CameraEnv
from brittlestar.envs.pixels import Pixels
from brittlestar.studies.speed.bare_loop import Episode, bare_env
from brittlestar.studies.speed.perception import HandmadeCameras, drawn_speed, save_untrained

PIXELS = Pixels(
    camera=[
        {"lookat": [1.34, 0.75, 0.5], "distance": 0.9, "azimuth": 90, "elevation": -25},
        {"lookat": [1.34, 0.75, 0.5], "distance": 0.9, "azimuth": 150, "elevation": -30},
    ],
    size=40,
    keep=["observation[0:3]"],
    samples=0,
)
SPEC = EnvSpec(id="FetchReach-v4", pixels=PIXELS)


def test_the_bare_loop_draws_what_the_sweep_draws():
    bare, action = bare_env(SPEC.id), np.array([0.5, -1.0, 0.2, 0.0], np.float32)
    with (
        contextlib.closing(HandmadeCameras(bare, PIXELS)) as cameras,
        contextlib.closing(CameraEnv(SPEC.make(), PIXELS)) as env,
    ):
        seen = [(env.reset(seed=3)[0], cameras.look(bare.reset(seed=3)[0]))]
        seen += [(env.step(action)[0], cameras.look(bare.step(action)[0])) for _ in range(3)]
    for ours, theirs in seen:
        assert list(ours) == list(theirs)
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours)


def test_the_bare_loop_replays_episodes_with_a_network(tmp_path):
    path = save_untrained(SPEC, str(tmp_path))
    assert drawn_speed(SPEC.id, PIXELS, path, [Episode(0, [np.zeros(4, np.float32)] * 2)]) > 0
