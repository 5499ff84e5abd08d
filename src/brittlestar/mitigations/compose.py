"""Several mitigations as one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.compose import Composition, named_parts
from brittlestar.perturbations.step import Step
from brittlestar.policies.base import DelegatingPolicy, Policy, Prediction
from brittlestar.randomness import LaneDraws


@dataclass
class ComposedMitigation(Composition, Mitigation):
    """Applies `parts` in order: to observations `f_n(... f_1(o))`, to actions `g_n(... g_1(a))`.

    A part that wraps the policy (an ensemble) receives the observation after all filters, and wraps the parts after it.

    Example:
        >>> from brittlestar.mitigations import ExponentialObservation, LowPass
        >>> pair = ComposedMitigation({"sensor": ExponentialObservation(alpha=0.5), "motor": LowPass(alpha=0.5)})
        >>> list(pair.parts), list(ComposedMitigation([LowPass(alpha=0.5)]).parts)
        (['sensor', 'motor'], ['0'])
    """

    parts: dict[str, Mitigation]
    """Name to mitigation; the names of a list are its positions."""

    def __post_init__(self) -> None:
        self.acting = self.parts = named_parts(self.parts, Mitigation)

    @property
    def wraps_policy(self) -> bool:
        return any(part.wraps_policy for part in self.parts.values())

    def around(self, policy: Policy, draws: LaneDraws) -> Policy:
        """Wraps the policy by the last part, then by the one before it, and so on."""
        outer = policy
        for name, part in reversed(self.parts.items()):
            outer = part.around(outer, draws.child(name))
        return policy if outer is policy else _InStep(outer, draws, list(self.parts))

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        for name, part in self.parts.items():
            action = part.mitigate_action(action, step.part(name))
        return action

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        for name, part in self.parts.items():
            observation = part.mitigate_observation(observation, step.part(name))
        return observation


class _InStep(DelegatingPolicy):
    """Moves the random streams of the parts to the step of the composition's stream."""

    def __init__(self, policy: Policy, draws: LaneDraws, names: list[str]) -> None:
        self._policy, self._draws, self._names = policy, draws, names

    def predict(self, *args: Any, **kwargs: Any) -> Prediction:
        for name in self._names:
            self._draws.child(name)
        return super().predict(*args, **kwargs)
