"""What cameras show of the lanes, with the edits of a scene perturbation, and how much these change."""

from __future__ import annotations

from typing import Any

import numpy as np

from brittlestar.envs.batches import entries
from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import UserError
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.step import Step

SCENE_CHANGED, SCENE_DIFFERENCE = "scene_pixels_changed", "scene_difference"
"""Effects: the share of pixels that differ from the nominal picture, and the mean difference of all, white being 1."""
_MEASURED_STEPS = 10
"""The nominal picture is drawn too at every tenth step of an episode: drawing takes longest."""


class Look:
    """Draws what policies see in a `StackEnv` with a view, and measures how far a scene perturbation changes it."""

    def __init__(self, env: Any, perturbation: Perturbation) -> None:
        self._env, self._view, self._perturbation = env, env.view, perturbation
        self._edits = perturbation.needs_scene and not perturbation.is_identity
        if self._edits and not self._view.has_scene:
            refuse_scene(perturbation, env.spec.id)
        self._changed, self._difference = np.zeros(env.count), np.zeros(env.count)

    def __call__(self, state: Any, lanes: np.ndarray, step: Step, steps: np.ndarray, remember: bool) -> Any:
        """Returns the observations of policies; see `View.look`."""
        envs = self._env.envs
        edits = [SceneEdits() for _ in range(self._env.count)] if self._edits else None
        if edits is None:
            return self._view.look(state, envs, lanes.tolist(), step.first, remember=remember)
        self._perturbation.perturb_scene(edits, step)
        measured = lanes[steps[lanes] % _MEASURED_STEPS == 0]
        nominal = self._view.look(state, envs, measured.tolist(), step.first, remember=False) if len(measured) else None
        # A level of 0 leaves the nominal picture, bit for bit.
        present = [edit if edit.acts else None for edit in edits]
        seen = self._view.look(state, envs, lanes.tolist(), step.first, present, remember)
        if nominal is not None:
            self._measure(nominal, seen, measured)
        step.report_effect(SCENE_CHANGED, self._changed.copy())
        step.report_effect(SCENE_DIFFERENCE, self._difference.copy())
        return seen

    def _measure(self, nominal: Any, seen: Any, lanes: np.ndarray) -> None:
        before, after = (_pictures(batch, self._view.keys) for batch in (nominal, seen))
        gaps = [np.abs(after[key][lanes].astype(np.int16) - before[key][lanes]) for key in before]
        self._changed[lanes] = np.mean([gap.any(axis=3).mean(axis=(1, 2)) for gap in gaps], axis=0)
        self._difference[lanes] = np.mean([gap.mean(axis=(1, 2, 3)) / 255 for gap in gaps], axis=0)


def _pictures(batch: Any, keys: list[str]) -> dict[str, np.ndarray]:
    parts = entries(batch)
    return {key: parts[key] for key in keys} if len(parts) > 1 or keys[0] in parts else parts


def refuse_scene(perturbation: Perturbation, env_id: str) -> None:
    """Raises a `UserError` if a perturbation edits what cameras show where there are none."""
    if perturbation.needs_scene and not perturbation.is_identity:
        raise UserError(
            f"{type(perturbation).__name__} changes what cameras see, and the policy sees no camera of {env_id}: set "
            "`env.pixels.camera` to a camera of its MuJoCo model"
        )
