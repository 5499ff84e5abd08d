"""Outdated data: the past of every lane in a ring buffer; delayed, held and stuck sensors."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.envs.batches import ARRAY_SPACES
from brittlestar.errors import Fraction, PositiveInt, UserError, require
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.observations import ObservationPerturbation
from brittlestar.perturbations.step import Step, for_lanes

_LONG_AGO = 2**40
_ROUNDING = 1e-9
_MOST_STEPS = 100_000
"""Longest delay, or time limit of an episode if that is longer: each step of it is an array in memory."""


class LaneRing:
    """The last `length` arrays of all lanes, in a ring; the past of a lane is empty where an episode starts.

    Args:
        length: how many arrays it keeps.
        fill: value of the steps before an episode started.
        dtype: dtype of the arrays; None takes that of the first one.

    Example:
        >>> ring = LaneRing(length=3, fill=0.0)
        >>> for x in (5.0, 6.0, 7.0):
        ...     ring.push(np.array([x, x]), first=np.array([x == 5.0, x == 6.0]))
        >>> ring.past(np.array([1, 2])).tolist(), ring.age.tolist()
        ([6.0, 0.0], [2, 1])
    """

    def __init__(self, length: int, fill: float = 0.0, dtype: Any = None) -> None:
        self._length, self._fill, self._dtype = length, fill, dtype
        self._now = 0
        self._arrays: np.ndarray | None = None
        self.age = np.zeros(0, dtype=np.int64)
        """Steps since the episode of each lane started."""

    def push(self, array: np.ndarray, first: np.ndarray) -> None:
        """Appends an array `(lanes, ...)`; `first`, `(lanes,)`, is true where an episode starts."""
        self._advance(array, first)[self._now] = array

    def add(self, array: np.ndarray, delay: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Adds each lane's value to the sum that is due `delay` steps from now, and returns the sums due now."""
        arrays = self._advance(array, first)
        arrays[self._now - 1] = self._fill
        arrays[(self._now + delay) % self._length, np.arange(len(array))] += array
        return arrays[self._now].copy()

    def past(self, delay: np.ndarray) -> np.ndarray:
        """Returns the array of `delay` steps ago, another delay for each lane."""
        assert self._arrays is not None
        return np.asarray(self._arrays[(self._now - delay) % self._length, np.arange(len(delay))])

    def newest_first(self) -> list[np.ndarray]:
        """Returns all arrays, newest first."""
        assert self._arrays is not None
        return [self._arrays[(self._now - age) % self._length] for age in range(self._length)]

    def _advance(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        if self._arrays is None:
            self._arrays = np.full((self._length, *array.shape), self._fill, self._dtype or array.dtype)
            self.age = np.zeros(len(array), dtype=np.int64)
        self._now = (self._now + 1) % self._length
        self.age = np.where(first, 0, self.age + 1)
        if first.any():
            self._arrays[:, first] = self._fill
        return self._arrays


@dataclass
class Delayed(Perturbation):
    """The base class of delays by `d = level * delay_steps + U{0..jitter_steps}` steps.

    A scheduled delay is rounded to whole steps. Where it is 0, there is no jitter. `delay_seconds` takes the place of
    `delay_steps`: what comes between two steps of the environment's clock waits for the next one, so that
    `d = ceil(level * delay_seconds / step_seconds)`.

    Example:
        >>> from brittlestar.perturbations import DelayedAction
        >>> late = DelayedAction(delay_steps=1, delay_seconds=0.05)
        >>> late.strength_field, late.strength
        ('delay_seconds', 0.05)
    """

    strength_field: ClassVar[str] = "delay_steps"
    delay_steps: int
    jitter_steps: int = 0
    delay_seconds: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delay_seconds is not None:
            require(self.delay_seconds >= 0, "delay_seconds", "at least 0", self.delay_seconds)
            # The steps mean nothing then: a schedule that names them is refused, because they are no number.
            vars(self).update(strength_field="delay_seconds", delay_steps=None)
        for name in ("delay_steps", "jitter_steps") if self.delay_seconds is None else ("jitter_steps",):
            value = getattr(self, name)
            require(value >= 0 and value % 1 == 0, name, "a whole number, at least 0", value)
        self._step_seconds: float | None = None

    def prepare(self, context: Context) -> None:
        super().prepare(context)
        self._step_seconds = context.step_seconds
        if self.delay_seconds is not None and context.step_seconds is None:
            raise UserError("`delay_seconds`: the time of a step of this environment is not known; use `delay_steps`")
        self._refuse_endless(context.max_steps)

    def new_ring(self, dtype: Any = None) -> LaneRing:
        """Returns a ring that holds the longest delay; call it after `prepare`."""
        return LaneRing(int(self._longest() + self.jitter_steps) + 1, dtype=dtype)

    def _longest(self) -> Any:
        return self.delay_steps if self.delay_seconds is None else self._in_steps(self.delay_seconds)

    def _refuse_endless(self, time_limit: int | None) -> None:
        """Refuses a delay that no episode can see the end of, before memory is allocated for it."""
        most = max(_MOST_STEPS, time_limit or 0)
        if self._longest() > most:
            name, value = self.strength_field, self.strength
            bound = most if self.delay_seconds is None else f"{most * (self._step_seconds or 1):g} s"
            raise UserError(f"`{name}` must be at most {bound} ({most} steps of the environment), got {value}")
        if self.jitter_steps > most:
            raise UserError(f"`jitter_steps` must be at most {most}, got {self.jitter_steps}")

    def _in_steps(self, seconds: Any) -> Any:
        assert self._step_seconds is not None, "`prepare` takes the step time"
        # Without the margin, rounding would make 0.3 s of steps of 0.1 s four steps.
        return np.ceil(seconds / self._step_seconds - _ROUNDING)

    def draw_delay(self, step: Step) -> np.ndarray:
        """Draws the delay of every lane at this step."""
        if self.delay_seconds is None:
            delay = np.rint(step.of(self, "delay_steps", step.level))
        else:
            delay = self._in_steps(step.of(self, "delay_seconds", step.level))
        delay = np.broadcast_to(delay, step.level.shape)
        if self.jitter_steps:
            jitter = np.rint(step.of(self, "jitter_steps", step.level))
            delay = np.where(delay > 0, delay + np.floor(step.draws.uniform() * (jitter + 1)), 0)
        return delay.astype(np.int64)


@dataclass
class DelayedObservation(Delayed, ObservationPerturbation):
    """Shows `x_{t-d}` with `d = level * delay_steps + U{0..jitter_steps}`; before that, `x_0`.

    Example:
        >>> late = DelayedObservation(delay_steps=2)
        >>> late.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> [late.perturb_observation(np.full((1, 1), t), Step.full(first=t == 0)).item() for t in range(5)]
        [0, 0, 0, 1, 2]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = ARRAY_SPACES

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Draws one delay for all entries, because they arrive in one message."""
        self._delay = self.draw_delay(step)
        return super().perturb_observation(observation, step)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        line = self.memory.setdefault(step.key, self.new_ring())
        line.push(array, step.first)
        return line.past(np.minimum(self._delay, line.age))


@dataclass
class HoldObservation(ObservationPerturbation):
    """Each observed number drops out with probability `level * p` per step and then shows its last value.

    A drop-out lasts `hold_steps` steps; another one in that time starts the count again. In the long run a share of
    `1 - (1 - p)^hold_steps` of the numbers is held. The first observation of an episode is never held.

    Example:
        >>> hold = HoldObservation(p=1.0, hold_steps=3)
        >>> hold.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> [hold.perturb_observation(np.full((1, 1), t), Step.full(first=t == 0)).item() for t in range(3)]
        [0, 0, 0]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = ARRAY_SPACES
    strength_field: ClassVar[str] = "p"
    p: Fraction
    hold_steps: PositiveInt = 5

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        dropped = step.draws.uniform(array.shape[1:]) < step.of(self, "p", array)
        since, last = self.memory.get(step.key, (np.full(array.shape, _LONG_AGO), array))
        since = np.where(step.first_for(array), _LONG_AGO, np.where(dropped, 0, since + 1))
        held = since < np.rint(step.of(self, "hold_steps", array))
        step.report_mask(held)
        perturbed = np.where(held, last, array)
        self.memory[step.key] = since, perturbed
        return perturbed


@dataclass
class StuckObservation(ObservationPerturbation):
    """Freezes every observed number with probability `level * p` for the rest of the episode.

    It freezes at a step drawn from `0..within_steps - 1`, with its value at that step, if the episode lasts that long.
    A frozen number remains frozen even if the level falls.

    Example:
        >>> stuck = StuckObservation(p=1.0, within_steps=1)
        >>> stuck.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> [stuck.perturb_observation(np.full((1, 1), t), Step.full(first=t == 7)).item() for t in (7, 8, 9)]
        [7, 7, 7]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = ARRAY_SPACES
    strength_field: ClassVar[str] = "p"
    p: Fraction
    within_steps: PositiveInt = 50

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        shape = array.shape[1:]
        fails = step.draws.uniform(shape, per_episode=True) < step.of(self, "p", array)
        onset = np.floor(step.draws.uniform(shape, per_episode=True) * np.rint(step.of(self, "within_steps", array)))
        due = fails & (for_lanes(step.draws.steps, array) >= onset)
        frozen, value = self.memory.get(step.key, (np.zeros(array.shape, dtype=bool), array))
        frozen = frozen & ~step.first_for(array)
        step.report_mask(frozen)
        perturbed = np.where(frozen, value, array)
        self.memory[step.key] = frozen | due, perturbed
        return perturbed
