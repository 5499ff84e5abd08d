"""Several perturbations as one, each on a schedule of its own if it has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import NonNegative, UserError, require_choice
from brittlestar.perturbations.base import Perturbation, scheduled_fields
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.step import Step
from brittlestar.schedules import StressSchedule

if TYPE_CHECKING:
    from brittlestar.envs.scenes import SceneEdits
    from brittlestar.envs.worlds import World

ALL_PARTS = "all"
DELIVERED = "delivered/"
"""Prefix of the effects of a composition: the share of the steps in which a part changed anything."""


class Composition:
    """Several parts that are bound and prepared together: a subclass sets `acting`."""

    acting: dict[str, Any]
    """The parts that act, by name."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        for part in self.acting.values():
            part.bind(observation_space, action_space, lanes)

    def prepare(self, context: Context) -> None:
        for part in self.acting.values():
            part.prepare(context)


@dataclass
class ComposedPerturbation(Composition, Perturbation):
    """Applies `parts` in order, each with its own strength times `scale`.

    Example:
        >>> from brittlestar.perturbations import GaussianAction, GaussianObservation
        >>> pair = ComposedPerturbation({"sensor": GaussianObservation(sigma=0.05), "motor": GaussianAction(sigma=0.1)})
        >>> pair.is_identity, ComposedPerturbation(pair.parts, scale=0).is_identity
        (False, True)
    """

    strength_field: ClassVar[str] = "scale"
    parts: dict[str, Perturbation]
    """Name to perturbation; the names of a list are its positions."""
    scale: NonNegative = 1.0
    only: str | list[str] = ALL_PARTS
    """The part that acts, or a list of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.parts = named_parts(self.parts, Perturbation)
        self.acting = {name: self._scaled(name, self.parts[name]) for name in self._chosen()}
        self.needs_world = any(part.needs_world for part in self.acting.values())
        self.needs_scene = any(part.needs_scene for part in self.acting.values())

    def _chosen(self) -> list[str]:
        if self.only == ALL_PARTS:
            return list(self.parts)
        chosen = [self.only] if isinstance(self.only, str) else self.only
        for name in chosen:
            require_choice("only", name, [ALL_PARTS, *self.parts])
        return [name for name in self.parts if name in chosen]

    def _scaled(self, name: str, part: Perturbation) -> Perturbation:
        # With scale 1 the parts are used as they are, whatever their class.
        if self.scale in (0, 1):
            return part
        try:
            return part.scaled(self.scale)
        except (UserError, ValueError) as error:
            raise UserError(f"`scale` {self.scale:g} is too much for `parts.{name}`: {error}") from None

    @property
    def is_identity(self) -> bool:
        return self.scale == 0 or all(part.is_identity for part in self.acting.values())

    @property
    def idle_reason(self) -> str:
        reasons = {name: part.idle_reason for name, part in self.acting.items() if not part.is_identity}
        return "; ".join(f"`parts.{name}`: {reason}" for name, reason in reasons.items() if reason)

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        for part in self.acting.values():
            space = part.observation_space(space)
        return space

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        return self._through(lambda part: part.perturb_observation, observation, step)

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        return self._through(lambda part: part.perturb_action, action, step)

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return self._through(lambda part: part.perturb_reward, reward, step)

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        for name, part in self.acting.items():
            if part.needs_world and not part.is_identity:
                part_step = step.part(name)
                part_step.effects = {}
                part.perturb_world(worlds, part_step)
                for effect, values in part_step.effects.items():
                    step.report_effect(effect, values)
                    step.report_effect(DELIVERED + name, (values != 0).astype(np.float64))

    def check_scene(self, names: Sequence[str]) -> None:
        for name, part in self.acting.items():
            try:
                part.check_scene(names)
            except UserError as error:
                raise UserError(f"`parts.{name}`: {error}") from None

    def perturb_scene(self, scenes: Sequence[SceneEdits], step: Step) -> None:
        for name, part in self.acting.items():
            if part.needs_scene and not part.is_identity:
                own = [type(scene)() for scene in scenes]
                part.perturb_scene(own, step.part(name))
                step.report_effect(DELIVERED + name, np.array([float(edits.acts) for edits in own]))
                for scene, edits in zip(scenes, own, strict=True):
                    scene.add(edits)

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        return sorted({episode for part in self.acting.values() for episode in part.episodes_to_rerun(episodes)})

    def _through(self, channel: Callable[[Perturbation], Callable], value: Any, step: Step) -> Any:
        for name, part in self.acting.items():
            if part.is_identity:
                continue
            after = channel(part)(value, step.part(name))
            if after is not value:
                step.report_effect(DELIVERED + name, _differs(value, after).astype(np.float64))
            value = after
        return value


@dataclass
class Scheduled(Composition, Perturbation):
    """A perturbation with a schedule of its own, for a part of a composition.

    Its level multiplies the level of the cell's `stress_schedule`.

    Example:
        >>> from brittlestar.perturbations import GaussianObservation
        >>> from brittlestar.schedules import StepSchedule
        >>> Scheduled(GaussianObservation(sigma=0.1), StepSchedule(onset_step=10)).strength
        0.1
    """

    perturbation: Perturbation
    schedule: StressSchedule

    def __post_init__(self) -> None:
        self._scheduled = scheduled_fields(self.perturbation, self.schedule.parameter, "schedule.parameter")
        self.acting, self.needs_world = {"": self.perturbation}, self.perturbation.needs_world
        self.needs_scene = self.perturbation.needs_scene

    @property
    def strength(self) -> float:
        return self.perturbation.strength

    def scaled(self, factor: float) -> Perturbation:
        return replace(self, perturbation=self.perturbation.scaled(factor))

    @property
    def is_identity(self) -> bool:
        return self.perturbation.is_identity

    @property
    def idle_reason(self) -> str:
        return self.perturbation.idle_reason

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        return self.perturbation.observation_space(space)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        return self.perturbation.perturb_observation(observation, self._step(step))

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        return self.perturbation.perturb_action(action, self._step(step))

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return self.perturbation.perturb_reward(reward, self._step(step))

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        self.perturbation.perturb_world(worlds, self._step(step))

    def check_scene(self, names: Sequence[str]) -> None:
        self.perturbation.check_scene(names)

    def perturb_scene(self, scenes: Sequence[SceneEdits], step: Step) -> None:
        self.perturbation.perturb_scene(scenes, self._step(step))

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        return self.perturbation.episodes_to_rerun(episodes)

    def _step(self, step: Step) -> Step:
        level = step.level * self.schedule.levels(step.draws.episodes, step.draws.steps)
        return replace(step, level=level, parameter=self._scheduled)


def named_parts(parts: Any, kind: type[Any]) -> dict[str, Any]:
    """Returns the parts of a composition by name, and refuses parts of another class.

    Example:
        >>> named_parts([Perturbation()], Perturbation)
        {'0': Perturbation()}
    """
    named = parts if isinstance(parts, dict) else {str(i): part for i, part in enumerate(parts)}
    for name, part in named.items():
        if not isinstance(part, kind):
            raise UserError(f"`parts.{name}` must be a {kind.__name__.lower()}, with a `_target_`, got {part!r}")
    return named


def _differs(before: Any, after: Any) -> np.ndarray:
    if not isinstance(before, dict):
        return np.asarray((before != after).reshape(len(before), -1).any(axis=1))
    changes = [_differs(before[key], after[key]) for key in before if after[key] is not before[key]]
    return np.any(changes, axis=0) if changes else np.zeros(len(next(iter(before.values()))), dtype=bool)
