"""The base class of perturbations: array code over lanes, a strength, and five channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, check_fields, nearest
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.step import Step

if TYPE_CHECKING:
    from brittlestar.envs.scenes import SceneEdits
    from brittlestar.envs.worlds import World


@dataclass
class Perturbation:
    """The identity: changes nothing.

    A subclass is a dataclass whose fields are its parameters. Types such as `NonNegative` check them. It overrides the
    channels that it perturbs. Arrays have a leading lane axis. A perturbation keeps dtype, shape and keys.
    """

    strength_field: ClassVar[str | None] = None
    """Name of the field that is the strength, the x axis of the curve. Strength 0 is exactly the identity."""
    needs_world = False
    """Whether it edits the simulator. Every lane then has its own model, and EnvPool cannot run it."""
    needs_scene = False
    """Whether it edits what cameras show; the environment then needs `env.pixels`."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def strength(self) -> float:
        """The value of the strength field."""
        return 0.0 if self.strength_field is None else float(getattr(self, self.strength_field))

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing at all; such a cell equals one without a perturbation."""
        return self.strength == 0

    @property
    def idle_reason(self) -> str:
        """Why it changes nothing in this environment, by its definition; known after a rollout, empty if it has to."""
        return ""

    def scaled(self, factor: float) -> Perturbation:
        """Returns a copy with `factor` times the strength; the copy checks its parameters.

        Example:
            >>> from brittlestar.perturbations import DelayedObservation
            >>> DelayedObservation(delay_steps=2).scaled(1.5).delay_steps
            3
        """
        if self.strength_field is None:
            return self
        value, kinds = self.strength * factor, {f.name: f.type for f in fields(self)}
        whole = kinds[self.strength_field] in ("int", int)
        return replace(self, **{self.strength_field: round(value) if whole else value})

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and resets the state of all lanes; called once before a rollout."""

    def prepare(self, context: Context) -> None:
        """Takes what it needs beyond the spaces (policy, calibration); called once after `bind`."""

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Returns the space of perturbed observations."""
        return space

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Returns the observation that the policy receives."""
        return observation

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns the action that the environment receives."""
        return action

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Returns the reward that a learner receives; scores use the true one."""
        return reward

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        """Edits the simulators before they step; every edit is undone at the end of the episode."""

    def perturb_scene(self, scenes: Sequence[SceneEdits], step: Step) -> None:
        """Edits what the cameras of every lane show in this step; nothing of it remains for the next one."""

    def check_scene(self, names: Sequence[str]) -> None:
        """Refuses a name that nothing in the scene has; `names` are those of geoms, bodies, sites and materials."""

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        """Returns which of the first `episodes` must run again, if episodes pass state on; see `CarriedState`."""
        return []


def scheduled_fields(
    perturbation: Perturbation, parameter: str | Sequence[str] | None, where: str = "stress_schedule.parameter"
) -> tuple[str | None, ...]:
    """Returns the fields that the level of a schedule multiplies, None for the strength; refuses other than numbers.

    Example:
        >>> from brittlestar.perturbations import MaskObservation
        >>> scheduled_fields(MaskObservation(p=0.5), ["p", "r"])
        (None, 'r')
    """
    if parameter is None or (perturbation.strength_field is None and perturbation.is_identity):
        # Without a perturbation there is nothing to schedule: this is the clean cell of a sweep.
        return (None,)
    names = [parameter] if isinstance(parameter, str) else parameter
    # A seed is a label: half of it has no meaning.
    own = [f.name for f in fields(perturbation) if f.name != "seed"]
    numbers = [name for name in own if type(getattr(perturbation, name)) in (int, float)]
    for name in names:
        if name not in numbers:
            owner = type(perturbation).__name__
            raise UserError(f"`{where}`: {owner} has no number {name!r}; {nearest(name, numbers)}")
    return tuple(None if name == perturbation.strength_field else name for name in names)
