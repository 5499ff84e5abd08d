"""The base classes of observation perturbations: chosen entries, leak-free copies, units of noise."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Bound, UserError, nearest
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.step import Step

Scale = Literal["absolute", "std"]
"""Unit of noise: that of the observation, or standard deviations of each number."""
MAIN_ENTRY = "observation"
"""The entry that most parts touch; a plain observation counts as this entry."""
EntryKeys = Annotated[list[str], Bound("at least one entry", bool)]
"""Entries of a dict observation."""


@dataclass
class ObservationPerturbation(Perturbation):
    """Perturbs one array at a time: a subclass implements `perturb(array, step)`; `step.key` names the array.

    State that it keeps from step to step belongs into `self.memory[step.key]`, which `bind` empties.
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box,)
    """Kinds of spaces that it can perturb."""
    keys: EntryKeys = field(default_factory=lambda: [MAIN_ENTRY], kw_only=True)
    """Entries of a dict observation to perturb; a plain observation is perturbed whole."""
    leak_free: bool = field(default=False, kw_only=True)
    """Whether entries that repeat numbers of a perturbed one (an achieved goal inside the observation) show the
    perturbed numbers too. Reward and success use the true ones."""

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed array; the caller restores the dtype."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks that every key exists and has a supported space, and resets the state of all lanes."""
        check_kinds(self, self.touched(observation_space), self.takes)
        self.memory: dict[str, Any] = {}
        self._copies: dict[str, np.ndarray] = {}

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Returns the space without the bounds of perturbed entries: a disturbed sensor may leave its range."""
        if isinstance(space, spaces.Dict):
            free = space if self.leak_free else dict(self.touched(space))
            return spaces.Dict({k: _unbounded(s) if k in free else s for k, s in space.items()})
        return _unbounded(space)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        if not isinstance(observation, dict):
            return as_dtype(self.perturb(observation, step), observation.dtype)
        perturbed = dict(observation)
        for step.key in self.keys:
            array = observation[step.key]
            perturbed[step.key] = as_dtype(self.perturb(array, step), array.dtype)
        return self._without_leaks(observation, perturbed, step) if self.leak_free else perturbed

    def _without_leaks(self, true: dict[str, np.ndarray], perturbed: dict[str, np.ndarray], step: Step) -> Any:
        for key, touched, lanes, columns in self._repeats(true, step.first):
            perturbed[key] = perturbed[key].copy()
            perturbed[key][lanes] = perturbed[touched][lanes[:, None], columns]
            if touched in step.masks:
                mask = np.zeros(perturbed[key].shape, dtype=bool)
                mask[lanes] = step.masks[touched][lanes[:, None], columns]
                replace(step, key=key).report_mask(mask)
        return perturbed

    def _repeats(self, true: dict[str, np.ndarray], first: np.ndarray) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
        """Returns which lanes of which entry repeat which columns of a perturbed entry."""
        repeats = []
        for key in [key for key in true if key not in self.keys and true[key].ndim == 2]:
            for touched in [touched for touched in self.keys if true[touched].ndim == 2]:
                places = self._find_copies(true[key], true[touched], f"{touched}/{key}", first)
                lanes = np.flatnonzero(places >= 0)
                if len(lanes):
                    repeats.append((key, touched, lanes, places[lanes, None] + np.arange(true[key].shape[1])))
        return repeats

    def _find_copies(self, part: np.ndarray, whole: np.ndarray, name: str, first: np.ndarray) -> np.ndarray:
        """Returns the column of `whole` at which `part` has been since the episode started, -1 for none, per lane."""
        width, places = part.shape[1], whole.shape[1] - part.shape[1] + 1
        same = self._copies.setdefault(name, np.zeros((len(part), max(places, 0)), dtype=bool))
        same[first] = True
        # Two sensors that are both 0 at first differ as soon as one of them moves.
        for place in np.flatnonzero(same.any(axis=0)).tolist():
            same[:, place] &= (whole[:, place : place + width] == part).all(axis=1)
        return np.where(same.any(axis=1), same.argmax(axis=1), -1) if places > 0 else np.full(len(part), -1)

    def touched(self, space: spaces.Space) -> list[tuple[str, spaces.Space]]:
        """Returns key and space of every perturbed array; the key of a plain observation is empty."""
        return chosen_entries(space, self.keys)


@dataclass
class ScaledObservation(ObservationPerturbation):
    """Noise whose size has a unit: a subclass multiplies it by `self.unit(step)`."""

    scale: Scale = field(default="absolute", kw_only=True)
    """`absolute`: in units of the observation; `std`: in standard deviations of each observed number, from a short
    clean pass of the same policy."""

    def prepare(self, context: Context) -> None:
        if self.scale == "std":
            self._std = context.calibrate().std

    def unit(self, step: Step) -> Any:
        """Returns one unit of noise: 1, or the standard deviation of each number."""
        return self._std[step.key] if self.scale == "std" else 1.0


def chosen_entries(space: spaces.Space, keys: list[str]) -> list[tuple[str, spaces.Space]]:
    """Returns key and space of the chosen entries of an observation; the key of a plain observation is empty.

    Example:
        >>> chosen_entries(spaces.Discrete(2), ["observation"])
        [('', Discrete(2))]
    """
    if not isinstance(space, spaces.Dict):
        if MAIN_ENTRY not in keys:
            kind = type(space).__name__
            raise UserError(f"`keys` must have `{MAIN_ENTRY}`, because a {kind} has no entries, got {keys}")
        return [("", space)]
    for key in keys:
        if key not in space.spaces:
            raise UserError(f"`keys` has no entry of the observation: {key}; {nearest(key, space.spaces)}")
    return [(key, space[key]) for key in keys]


def check_kinds(
    owner: Any, entries: list[tuple[str, spaces.Space]], kinds: tuple[type[spaces.Space], ...] = (spaces.Box,)
) -> None:
    """Refuses entries of an observation whose space is none of `kinds`."""
    for key, space in entries:
        if not isinstance(space, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise UserError(f"{type(owner).__name__} needs a {names} observation, {entry_name(key)} is {space}")


def entry_name(key: str) -> str:
    """Returns the name of an entry of the observation for messages."""
    return f"`{key}`" if key else "the observation"


def as_dtype(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns numbers in a dtype; integers are rounded and clipped to its range.

    Example:
        >>> as_dtype(np.array([1.6, 300.0]), np.dtype(np.uint8)).tolist()
        [2, 255]
    """
    if dtype.kind in "iu" and values.dtype.kind == "f":
        # A cast would truncate fractions and wrap numbers out of range.
        values = np.clip(np.rint(values), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype, copy=False)


def _unbounded(space: spaces.Space) -> spaces.Space:
    if not isinstance(space, spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        return space
    return spaces.Box(-np.inf, np.inf, space.shape, space.dtype.type)
