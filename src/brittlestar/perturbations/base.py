"""What a perturbation is: array code over lanes, a strength, and five channels it may touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, nearest
from brittlestar.randomness import LaneDraws

if TYPE_CHECKING:
    from brittlestar.envs.worlds import World
    from brittlestar.perturbations.context import Context


@dataclass
class Step:
    """Where the lanes are: what a perturbation or mitigation gets beside the data.

    Attributes:
        level: `(lanes,)` in [0, 1], from the stress schedule; multiplies the strength.
        first: `(lanes,)`, true at the first call of an episode: forget the lane's past.
        draws: random numbers, one stream per lane; `draws.episodes` and `draws.steps` say where each lane is.
        parameter: name of the field that the level multiplies in place of the strength.
        effects: what a perturbation reports about its effect, for the proof of delivery: name to `(lanes,)`.
        key: the entry of a dict observation that is perturbed now; empty for a plain observation.
        observation: for `perturb_reward` only: the true observation that came with the reward.
    """

    level: np.ndarray
    first: np.ndarray
    draws: LaneDraws
    parameter: str | None = None
    effects: dict[str, np.ndarray] = field(default_factory=dict)
    key: str = ""
    observation: Any = None

    def of(self, owner: Perturbation, name: str, array: np.ndarray) -> Any:
        """Returns a numeric field of a perturbation at this step, scheduled if it is the scheduled one.

        Args:
            owner: the perturbation.
            name: its field.
            array: what the value will meet; a scheduled value has as many axes, with the lanes first.

        Example:
            >>> from brittlestar.perturbations import GaussianObservation
            >>> step = Step(np.array([0.0, 0.5]), np.ones(2, bool), LaneDraws(0, "noise", 2))
            >>> step.of(GaussianObservation(sigma=0.1), "sigma", np.zeros((2, 3))).tolist()
            [[0.0], [0.05]]
        """
        value = getattr(owner, name)
        if name != (self.parameter or owner.strength_field):
            return value
        return value * _for_lanes(self.level, array)

    def level_for(self, array: np.ndarray) -> np.ndarray:
        """Returns the level of the strength with as many axes as `array`, to multiply with it."""
        return _for_lanes(self.level if self.parameter is None else np.ones_like(self.level), array)

    def first_for(self, array: np.ndarray) -> np.ndarray:
        """Returns `first` with as many axes as `array`, to choose with it."""
        return _for_lanes(self.first, array)

    def report_effect(self, name: str, values: np.ndarray) -> None:
        """Reports to the proof of delivery what was done in each lane; the mean over a cell is recorded."""
        self.effects[name] = self.effects[name] + values if name in self.effects else values

    def part(self, name: str) -> Step:
        """Returns the step as one part of a composition sees it."""
        return Step(self.level, self.first, self.draws.child(name), effects=self.effects, observation=self.observation)


def _for_lanes(values: np.ndarray, array: np.ndarray) -> np.ndarray:
    return values.reshape(-1, *[1] * (array.ndim - 1))


@dataclass
class Perturbation:
    """The identity: changes nothing.

    A subclass is a dataclass whose fields are its parameters, checked in `__post_init__`, and overrides
    the channels that it touches. Arrays carry a leading lane axis; dtype, shape and keys are kept.
    """

    strength_field: ClassVar[str | None] = None
    """Name of the field that is the strength: the x axis of the curve. 0 is exactly the identity."""

    @property
    def strength(self) -> float:
        """The value of the strength field."""
        return 0.0 if self.strength_field is None else float(getattr(self, self.strength_field))

    @property
    def is_identity(self) -> bool:
        """Whether nothing can be changed: then the cell is the same as one without a perturbation."""
        return self.strength == 0

    def scaled(self, factor: float) -> Perturbation:
        """Returns the same perturbation with another strength, which is checked like any other.

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

    @property
    def needs_world(self) -> bool:
        """Whether it edits the simulator: then every lane has a model of its own, and EnvPool cannot run it."""
        return False

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and forgets all lanes; called once before a rollout."""

    def prepare(self, context: Context) -> None:
        """Takes what it needs beyond the spaces (policy, calibration); called once after `bind`."""

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Returns the space that perturbed observations lie in."""
        return space

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Returns what the policy will see in place of `observation`."""
        return observation

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns what the environment will get in place of `action`."""
        return action

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Returns the reward a learner will see in place of `reward`; scores use the true one."""
        return reward

    def perturb_world(self, worlds: Sequence[World], step: Step) -> None:
        """Edits the simulators before they step; every edit is undone at the end of the episode."""

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        """Returns which of the first `episodes` must run again; most perturbations start each one anew, so none.

        See `CarriedState`: what goes on from one episode to the next is not known while both run side by side.
        """
        return []


@dataclass
class ObservationPerturbation(Perturbation):
    """Perturbs one array at a time: a subclass writes `perturb(array, step)` only; `step.key` names the array.

    What it keeps from step to step goes into `self.kept[step.key]`, which `bind` empties.
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box,)
    """Kinds of spaces whose numbers it can perturb."""
    keys: list[str] = field(default_factory=lambda: ["observation"], kw_only=True)
    """Which entries of a dict observation to touch; a plain observation is touched whole."""
    leak_free: bool = field(default=False, kw_only=True)
    """Whether entries that repeat a touched one (an achieved goal that stands in the observation, too) show what
    the touched one shows. Reward and success stay on the truth."""

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed array; the dtype is restored by the caller."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks that every key exists and holds numbers, and forgets all lanes."""
        for key, space in self.touched(observation_space):
            if not isinstance(space, self.takes):
                where = f"`{key}`" if key else "the observation"
                kinds = " or ".join(kind.__name__ for kind in self.takes)
                raise UserError(f"{type(self).__name__} needs a {kinds} observation, {where} is {space}")
        self.kept: dict[str, Any] = {}
        self._copies: dict[str, np.ndarray] = {}

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Removes the bounds of what is touched: a disturbed sensor may leave its range."""
        if isinstance(space, spaces.Dict):
            touched = dict(self.touched(space))
            free = space if self.leak_free else touched
            return spaces.Dict({k: _unbounded(s) if k in free else s for k, s in space.items()})
        return _unbounded(space)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Applies `perturb` to every touched array."""
        if not isinstance(observation, dict):
            return self._kept_dtype(observation, step)
        seen = dict(observation)
        for step.key in self.keys:
            seen[step.key] = self._kept_dtype(observation[step.key], step)
        return self._without_leaks(observation, seen, step.first) if self.leak_free else seen

    def _kept_dtype(self, array: np.ndarray, step: Step) -> np.ndarray:
        seen = self.perturb(array, step)
        if array.dtype.kind in "iu" and seen.dtype.kind == "f":
            # A cast would cut the fraction off, and wrap what is out of range.
            seen = np.clip(np.rint(seen), np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        return seen.astype(array.dtype, copy=False)

    def _without_leaks(self, true: dict[str, np.ndarray], seen: dict[str, np.ndarray], first: np.ndarray) -> Any:
        for key in [key for key in true if key not in self.keys and true[key].ndim == 2]:
            for touched in [touched for touched in self.keys if true[touched].ndim == 2]:
                places = self._find_copies(true[key], true[touched], f"{touched}/{key}", first)
                lanes = np.flatnonzero(places >= 0)
                if len(lanes):
                    columns = places[lanes, None] + np.arange(true[key].shape[1])
                    seen[key] = seen[key].copy()
                    seen[key][lanes] = seen[touched][lanes[:, None], columns]
        return seen

    def _find_copies(self, part: np.ndarray, whole: np.ndarray, name: str, first: np.ndarray) -> np.ndarray:
        """Returns per lane where `part` has stood in `whole` since the episode started, -1 for nowhere."""
        width, places = part.shape[1], whole.shape[1] - part.shape[1] + 1
        same = self._copies.setdefault(name, np.zeros((len(part), max(places, 0)), dtype=bool))
        same[first] = True
        # Two sensors that show 0 at first are told apart as soon as one of them moves.
        for place in np.flatnonzero(same.any(axis=0)).tolist():
            same[:, place] &= (whole[:, place : place + width] == part).all(axis=1)
        return np.where(same.any(axis=1), same.argmax(axis=1), -1) if places > 0 else np.full(len(part), -1)

    def touched(self, space: spaces.Space) -> list[tuple[str, spaces.Space]]:
        """Returns key and space of every array that is perturbed; the key of a plain observation is empty."""
        if not isinstance(space, spaces.Dict):
            return [("", space)]
        for key in self.keys:
            if key not in space.spaces:
                raise UserError(f"`keys` has no entry of the observation: {key}; {nearest(key, space.spaces)}")
        return [(key, space[key]) for key in self.keys]


SCALES = ("absolute", "std")


@dataclass
class ScaledObservation(ObservationPerturbation):
    """Noise whose size has a unit: a subclass multiplies it by `self.unit(step)`."""

    scale: str = field(default="absolute", kw_only=True)
    """`absolute`: in the units of the observation; `std`: in standard deviations of each observed number, from a
    short clean pass of the same policy."""

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise UserError(f"`scale` cannot be {self.scale!r}; {nearest(str(self.scale), SCALES)}")
        self._std: dict[str, np.ndarray] = {}

    def prepare(self, context: Context) -> None:
        """Calibrates, where the unit is the spread of each number."""
        if self.scale == "std":
            self._std = context.calibrate().std

    def unit(self, step: Step) -> Any:
        """Returns what one unit of noise is: 1, or the standard deviation of each number."""
        return self._std[step.key] if self.scale == "std" else 1.0


def check_parameter(perturbation: Perturbation, name: str | None, where: str = "stress_schedule.parameter") -> None:
    """Refuses a schedule for a field that a perturbation does not have, or that is no number."""
    if name is None:
        return
    # A seed is a name, and half of it means nothing.
    names = [f.name for f in fields(perturbation) if f.name != "seed"]
    numbers = [field_name for field_name in names if type(getattr(perturbation, field_name)) in (int, float)]
    if name not in numbers:
        owner = type(perturbation).__name__
        raise UserError(f"`{where}`: {owner} has no number {name!r}; {nearest(name, numbers)}")


def _unbounded(space: spaces.Space) -> spaces.Space:
    if not isinstance(space, spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        return space
    return spaces.Box(-np.inf, np.inf, space.shape, space.dtype.type)
