"""One step of all lanes: the level of stress, where episodes start, random numbers and reported effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar.randomness import LaneDraws


@dataclass
class Step:
    """What a perturbation or a mitigation receives next to the data.

    Attributes:
        level: `(lanes,)` in [0, 1], from the stress schedule; multiplies the strength.
        first: `(lanes,)`, true at the first call of an episode.
        draws: random numbers, one stream per lane; `draws.episodes` and `draws.steps` hold the position of each lane.
        parameter: name of the field that the level multiplies, or a list of them; None is the strength.
        effects: effects that perturbations report for the delivery check: name to `(lanes,)`.
        key: the perturbed entry of a dict observation; empty for a plain observation.
        observation: for `perturb_reward` only: the true observation of the same step.
        masks: which numbers of each entry of the observation are masked or held, `(lanes, numbers)`; films show them.
    """

    level: np.ndarray
    first: np.ndarray
    draws: LaneDraws
    parameter: str | Sequence[str | None] | None = None
    effects: dict[str, np.ndarray] = field(default_factory=dict)
    key: str = ""
    observation: Any = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def full(cls, lanes: int = 1, first: bool = True) -> Step:
        """Returns a step at full level with random numbers of seed 0, for examples and tests."""
        return cls(np.ones(lanes), np.full(lanes, first), LaneDraws(0, "noise", lanes))

    @property
    def scheduled(self) -> tuple[str | None, ...]:
        """The fields that the level multiplies; None is the strength."""
        if self.parameter is None or isinstance(self.parameter, str):
            return (self.parameter,)
        return tuple(self.parameter)

    def of(self, owner: Any, name: str, array: np.ndarray) -> Any:
        """Returns a numeric field of a perturbation, times the level if the schedule acts on this field.

        A scheduled value has as many axes as the `array` that it is combined with, lanes first.

        Example:
            >>> from brittlestar.perturbations import GaussianObservation
            >>> step = Step(np.array([0.0, 0.5]), np.ones(2, bool), LaneDraws(0, "noise", 2))
            >>> step.of(GaussianObservation(sigma=0.1), "sigma", np.zeros((2, 3))).tolist()
            [[0.0], [0.05]]
        """
        value, names = getattr(owner, name), self.scheduled
        if name in names or (name == owner.strength_field and None in names):
            return value * for_lanes(self.level, array)
        return value

    def level_for(self, array: np.ndarray) -> np.ndarray:
        """Returns the level of the strength with as many axes as `array`."""
        return for_lanes(self.level if None in self.scheduled else np.ones_like(self.level), array)

    def first_for(self, array: np.ndarray) -> np.ndarray:
        """Returns `first` with as many axes as `array`."""
        return for_lanes(self.first, array)

    def report_effect(self, name: str, values: np.ndarray) -> None:
        """Reports an effect of each lane, `(lanes,)`; the cell records the mean over its steps."""
        self.effects[name] = self.effects[name] + values if name in self.effects else values

    def report_mask(self, mask: np.ndarray) -> None:
        """Reports which numbers of the entry `key` are masked or held, `(lanes, ...)`; a film shows them."""
        flat = mask.reshape(len(mask), -1)
        self.masks[self.key] = self.masks[self.key] | flat if self.key in self.masks else flat

    def part(self, name: str) -> Step:
        """Returns the step for one part of a composition, with a random stream of its own."""
        draws, observation = self.draws.child(name), self.observation
        return Step(self.level, self.first, draws, effects=self.effects, observation=observation, masks=self.masks)


def for_lanes(values: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Returns `values`, `(lanes,)`, with as many axes as `array`.

    Example:
        >>> for_lanes(np.zeros(2), np.zeros((2, 3, 4))).shape
        (2, 1, 1)
    """
    return values.reshape(-1, *[1] * (array.ndim - 1))
