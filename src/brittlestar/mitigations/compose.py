"""Several mitigations in order, as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Step
from brittlestar.policies.base import DelegatingPolicy, Observation, Policy
from brittlestar.randomness import LaneDraws

if TYPE_CHECKING:
    from brittlestar.perturbations.context import Context


@dataclass
class ComposedMitigation(Mitigation):
    """Applies `parts` in order: to observations `f_n(... f_1(o))`, to actions `g_n(... g_1(a))`.

    A part that stands around the policy (an ensemble) sees what all filters of observations have left, and stands
    around those after it.

    Example:
        >>> from brittlestar.mitigations import ExponentialObservation, LowPass
        >>> pair = ComposedMitigation({"sensor": ExponentialObservation(alpha=0.5), "motor": LowPass(alpha=0.5)})
        >>> list(pair.parts), list(ComposedMitigation([LowPass(alpha=0.5)]).parts)
        (['sensor', 'motor'], ['0'])
    """

    parts: dict[str, Mitigation]
    """Name to mitigation; a list is taken too, with positions for names."""

    def __post_init__(self) -> None:
        if not isinstance(self.parts, dict):
            self.parts = {str(i): part for i, part in enumerate(self.parts)}
        for name, part in self.parts.items():
            if not isinstance(part, Mitigation):
                raise UserError(f"`parts.{name}` must be a mitigation, got {part!r}")

    @property
    def wraps_policy(self) -> bool:
        """Whether any part wraps the policy."""
        return any(part.wraps_policy for part in self.parts.values())

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Binds every part."""
        for part in self.parts.values():
            part.bind(observation_space, action_space, lanes)

    def prepare(self, context: Context) -> None:
        """Prepares every part."""
        for part in self.parts.values():
            part.prepare(context)

    def around(self, policy: Policy, draws: LaneDraws) -> Policy:
        """Puts the last part around the policy, the one before it around both, and so on."""
        outer = policy
        for name, part in reversed(self.parts.items()):
            outer = part.around(outer, draws.child(name))
        return policy if outer is policy else _InStep(outer, draws, list(self.parts))

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Passes the action through every part."""
        for name, part in self.parts.items():
            action = part.mitigate_action(action, step.part(name))
        return action

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        """Passes the observation through every part."""
        for name, part in self.parts.items():
            observation = part.mitigate_observation(observation, step.part(name))
        return observation


class _InStep(DelegatingPolicy):
    """Moves the streams of the parts to where the stream of the composition is, once per step."""

    def __init__(self, policy: Policy, draws: LaneDraws, names: list[str]) -> None:
        self._policy, self._draws, self._names = policy, draws, names

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
        **masks: Any,
    ) -> tuple[np.ndarray, Any]:
        for name in self._names:
            self._draws.child(name)
        return super().predict(observation, state, episode_start, deterministic, **masks)
