"""A policy that sees pictures: the sweep against a loop that steps, draws and evaluates the network, and the study."""

import contextlib
import functools
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from brittlestar.config.build import build
from brittlestar.engine.cores import cores
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.camera_env import CameraEnv
from brittlestar.envs.gl import make_context
from brittlestar.envs.pixels import Pixels
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.sweeps.compose import Composer

from .bare_loop import Episode, bare_env, record
from .sweep_ratio import PHYSICS, against_bare_loops
from .sweeps import SeedSweep, make_launcher
from .timing import Figure, run_brittlestar

_VISION = "fetch_reach_vision"
"""The environment with two cameras, and the shipped policy."""
_DRAWING: dict[str, tuple[str, ...]] = {"rendering": ("mjv_updateScene", "mjr_render", "mjr_readPixels")}
_NETWORK = {"features_extractor_kwargs": {"cnn_output_dim": 32}, "net_arch": {"pi": [128, 128], "vf": []}}
"""That of the shipped policy, whose file is only for the safe loader."""


def perception(quick: bool) -> list[Figure]:
    """FetchReach seen by two cameras, with an untrained network, and the whole study of the shipped policy."""
    with tempfile.TemporaryDirectory() as folder:
        figures = _against_bare_loops(folder, quick)
    episodes = 1 if quick else 20
    run = run_brittlestar("-m", "experiment=perception", f"policy=zoo/{_VISION}", f"episodes={episodes}")
    what = f"experiment=perception, {episodes} episodes a level, tables and report"
    return [*figures, Figure(what, run.seconds, "s", at_most=300)]


def _against_bare_loops(folder: str, quick: bool) -> list[Figure]:
    config = Composer(make_launcher(Path(folder) / "spec")).job([f"env={_VISION}"], 0).config
    spec = build(config["env"], "env")
    path, cells, episodes = save_untrained(spec, folder), 2 * cores(), 4 if quick else 20
    recorded = [record(spec, Parts(Sb3Policy(path)), Plan(episodes, seed)) for seed in range(cells)]
    words = (f"env={_VISION}", "policy=sb3", f"policy.path={path}", "perturbation=none", f"episodes={episodes}")
    bare = functools.partial(drawn_speed, spec.id, spec.pixels, path)
    return against_bare_loops(SeedSweep(folder, cells, *words), bare, recorded, 1 if quick else 3, _DRAWING | PHYSICS)


def save_untrained(spec: EnvSpec, folder: str) -> str:
    """Saves an untrained network of PPO that sees what the environment shows, and returns the path."""
    from stable_baselines3 import PPO

    path = f"{folder}/model.zip"
    with contextlib.closing(CameraEnv(spec.make(), spec.pixels)) as env:
        PPO("MultiInputPolicy", env, policy_kwargs=_NETWORK, seed=0, device="cpu").save(path)
    return path


def drawn_speed(env_id: str, pixels: Pixels, path: str, episodes: list[Episode]) -> float:
    """Replays episodes with pictures and a network of Stable-Baselines3, and returns steps per second."""
    from stable_baselines3 import PPO

    env, model = bare_env(env_id), PPO.load(path, device="cpu")
    with contextlib.closing(HandmadeCameras(env, pixels)) as cameras:
        started = time.perf_counter()
        for episode in episodes:
            state, _ = env.reset(seed=episode.seed)
            for action in episode.actions:
                model.predict(cameras.look(state), deterministic=True)
                state = env.step(action)[0]
        return sum(len(episode.actions) for episode in episodes) / (time.perf_counter() - started)


class HandmadeCameras:
    """Free cameras as a user draws them: `mujoco.Renderer` on the simulation itself."""

    def __init__(self, env: Any, pixels: Pixels) -> None:
        import mujoco
        from mujoco.rendering.classic import gl_context

        self._env = env.unwrapped
        self._env.model.vis.quality.offsamples = pixels.samples
        # MuJoCo takes GLFW unless MUJOCO_GL is set before it is imported.
        with mock.patch.object(gl_context, "GLContext", make_context):
            self._renderer = mujoco.Renderer(self._env.model, pixels.height, pixels.width)
        self._cameras = []
        for place in pixels.cameras:
            camera = mujoco.MjvCamera()
            camera.lookat[:], camera.distance = place["lookat"], place["distance"]
            camera.azimuth, camera.elevation = place["azimuth"], place["elevation"]
            self._cameras.append(camera)

    def look(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the pictures, and the position of the gripper."""
        # Places the ball at the goal.
        self._env._render_callback()
        seen = {}
        for number, camera in enumerate(self._cameras):
            self._renderer.update_scene(self._env.data, camera)
            seen[f"image_{number}"] = self._renderer.render()
        return seen | {"observation": state["observation"][:3]}

    def close(self) -> None:
        """Frees the renderer, which must happen before Python ends."""
        self._renderer.close()
