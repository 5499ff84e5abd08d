"""What cameras show of the lanes, with the edits of a scene perturbation, and how much these change."""

from __future__ import annotations

from typing import Any

import numpy as np

from brittlestar.envs.batches import entries
from brittlestar.envs.pixels import NOMINAL
from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import UserError
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.step import Step

SCENE_CHANGED, SCENE_DIFFERENCE = "scene_pixels_changed", "scene_difference"
"""Effects: the share of pixels that differ from the nominal picture, and the mean difference of all, white being 1."""
_MEASURED_STEPS, _MEASURED_LEVEL = 10, 0.2
"""The nominal picture is drawn too at every tenth step, when a perturbation starts to act, and when its level has
changed by so much: drawing takes longest."""


class Look:
    """Draws what policies see in a `StackEnv` with a view, and measures how far a scene perturbation changes it."""

    def __init__(self, env: Any, perturbation: Perturbation) -> None:
        self._env, self._view, self._perturbation = env, env.view, perturbation
        self._edits = perturbation.needs_scene and not perturbation.is_identity
        if self._edits and not self._view.has_scene:
            refuse_scene(perturbation, env.spec.id)
        else:
            perturbation.check_scene(self._view.scene_names)
        self._changed, self._difference = np.zeros(env.count), np.zeros(env.count)
        self._measured_level = np.zeros(env.count)
        self.draws_nominal = False
        """Whether the nominal pictures of all lanes are drawn at every step, for `nominal`."""
        self.nominal: Any = None
        """What policies would see without the perturbation; None if they see it, or if it is not drawn."""

    def __call__(self, state: Any, lanes: np.ndarray, step: Step, steps: np.ndarray, remember: bool) -> Any:
        """Returns the observations of policies; see `View.look`."""
        envs, first = self._env.envs, step.first
        if not self._edits:
            return self._view.look(state, envs, lanes.tolist(), first, remember=remember)
        # What was measured in the episode before must not count: which one that was depends on the number of lanes.
        self._changed[first] = self._difference[first] = self._measured_level[first] = 0
        edits = [SceneEdits() for _ in range(self._env.count)]
        self._perturbation.perturb_scene(edits, step)
        acts = np.array([edit.acts for edit in edits])
        measured = lanes[self._is_due(step.level, steps, acts)[lanes]]
        drawn = lanes if self.draws_nominal else measured
        nominal = None
        if len(drawn):
            memory = NOMINAL if self.draws_nominal else ""
            nominal = self._view.look(state, envs, drawn.tolist(), first, remember=remember, memory=memory)
        # A level of 0 leaves the nominal picture, bit for bit.
        present = [edit if edit.acts else None for edit in edits]
        seen = self._view.look(state, envs, lanes.tolist(), first, present, remember)
        if len(measured):
            self._measure(nominal, seen, measured)
            self._measured_level[measured] = step.level[measured]
        self.nominal = nominal if self.draws_nominal else None
        step.report_effect(SCENE_CHANGED, np.where(acts, self._changed, 0.0))
        step.report_effect(SCENE_DIFFERENCE, np.where(acts, self._difference, 0.0))
        return seen

    def _is_due(self, level: np.ndarray, steps: np.ndarray, acts: np.ndarray) -> np.ndarray:
        """Returns in which lanes the effect is to be measured in this step."""
        moved = np.abs(level - self._measured_level) >= _MEASURED_LEVEL
        starts = acts & (self._changed == 0)
        return np.asarray(acts & (moved | starts | (steps % _MEASURED_STEPS == 0)))

    def _measure(self, nominal: Any, seen: Any, lanes: np.ndarray) -> None:
        # Of a stack, only the present picture is drawn now.
        depth = 1 if self._view.pixels.grey else 3
        before, after = (_pictures(batch, self._view.keys) for batch in (nominal, seen))
        pairs = [(after[key][lanes][..., -depth:], before[key][lanes][..., -depth:]) for key in before]
        gaps = [np.abs(late.astype(np.int16) - early) for late, early in pairs]
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
