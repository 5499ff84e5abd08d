"""Missing sensors: at random steps, some observed numbers are replaced by values without information."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Fraction, UserError, nearest, require, require_choice
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.observations import ObservationPerturbation
from brittlestar.perturbations.step import Step
from brittlestar.randomness import LaneDraws

_NOISY = ("noise", "additive")
_ROUNDING = 1e-9
"""Added before rounding down, so that 0.29 of 100 numbers are 29 although the product is slightly less."""
Ratio = float | np.ndarray


@dataclass
class MaskObservation(ObservationPerturbation):
    """Masks a share `r` of the observed numbers at each step with probability `level * p`.

    On average it masks `p r D` of `D` numbers. Steps and numbers that are masked at some `p` and `r` are also masked
    at every higher one. All entries of a dict observation are masked at the same steps.

    Example:
        >>> mask, step = MaskObservation(p=1.0, r=0.5), Step.full()
        >>> mask.bind(spaces.Box(-9, 9, (4,)), spaces.Discrete(2), lanes=1)
        >>> seen = mask.perturb_observation(np.array([[1.0, 2.0, 3.0, 4.0]]), step)
        >>> int((seen == 0).sum()), step.effects["masked_fraction"].tolist()
        (2, [0.5])
    """

    strength_field: ClassVar[str] = "p"
    p: Fraction
    r: Fraction = 0.3
    """Share of masked numbers."""
    kind: Literal["channel", "random", "block", "group"] = "channel"
    """`channel`: exactly `floor(r D)` numbers; `random`: each with probability r; `block`: `floor(r D)` neighbours;
    `group`: `floor(r G)` of G groups of sensors, at least one."""
    fill: str = "zero"
    """Value of a masked number: `zero`, the `mean` of a clean pass, its `last` shown value, `noise` around the mean
    with the standard deviation of a clean pass, the true value plus `additive` noise of that deviation, or the true
    value times `1 + N(0, 1)` (`multiplicative`)."""
    where: Literal["before", "after"] = "before"
    """Whether zero, mean and deviation are in units of the observation (`before` the policy normalises it) or of the
    normalised one (`after`)."""
    groups: dict[str, list[int]] | list[str] | None = None
    """Groups of sensors: None takes all groups of the environment, a list some of them, and a dict gives the positions
    in the observation by name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("fill", self.fill, MASK_FILLS)
        if self.groups is not None and self.kind != "group":
            raise UserError(f"`groups` are for `kind: group`, got `kind` {self.kind} and `groups` {self.groups}")
        require(self.groups is None or len(self.groups) > 0, "groups", "null or name at least one", self.groups)
        if self.kind == "group" and len(self.keys) > 1:
            raise UserError(f"groups are positions in one entry of the observation, got `keys` {self.keys}")
        self._mean: dict[str, Any] = {}
        self._std: dict[str, Any] = {}
        self._zero: dict[str, Any] = {}
        self._most, self._largest_ratio = 0, 0.0

    @property
    def is_identity(self) -> bool:
        return self.p == 0 or self.r == 0

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._space = observation_space
        sizes = [int(np.prod(space.shape or (1,))) for _, space in self.touched(observation_space)]
        self._size = sum(sizes)
        if isinstance(self.groups, dict):
            self._members = _members("groups", self.groups, self._size)
        self._most, self._largest_ratio = max(sizes), 0.0

    @property
    def idle_reason(self) -> str:
        return self._empty_masks(self._largest_ratio)

    def _empty_masks(self, ratio: float) -> str:
        """Returns why masks of a share of the numbers are empty; empty if they are not."""
        if self.kind not in ("channel", "block") or ratio * self._most == 0 or whole(ratio, self._most):
            return ""
        return f"`r` = {ratio:g} of {self._most} numbers masks none; at least 1 / {self._most} masks one"

    def prepare(self, context: Context) -> None:
        if context.policy is None and self._empty_masks(self.r) and not self.is_identity:
            # A result has a note on it, but a training would be without masks and without a word.
            raise UserError(self._empty_masks(self.r))
        if self.kind == "group" and not isinstance(self.groups, dict):
            self._members = _members("env.sensor_groups", _choose(self.groups, context.sensor_groups), self._size)
        if self.fill == "mean" or (self.fill in _NOISY and self.where == "before"):
            calibration = context.calibrate()
            self._mean = {key: mean.ravel() for key, mean in calibration.mean.items()}
            self._std = {key: std.ravel() for key, std in calibration.std.items()}
        if self.where == "after":
            self._take_statistics(context)

    def _take_statistics(self, context: Context) -> None:
        statistics = context.policy.statistics_of(self._space) if context.policy else {}
        for key, _ in self.touched(self._space):
            if key not in statistics:
                entry = f" of `{key}`" if key else ""
                raise UserError(
                    f"`where: after` needs a policy with normalisation statistics{entry}, and this one has none: "
                    "take `where: before`, or a checkpoint with its VecNormalize file"
                )
            self._zero[key], std = statistics[key]
            if self.fill in _NOISY:
                self._mean[key], self._std[key] = self._zero[key], std

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        self._hit = step.draws.uniform() < step.of(self, "p", step.level)
        return super().perturb_observation(observation, step)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        flat = array.reshape(len(array), -1)
        mask = self._hit[:, None] & self._mask(flat, step)
        step.report_effect("masked_fraction", mask.sum(axis=1) / self._size)
        step.report_mask(mask)
        perturbed = np.where(mask, MASK_FILLS[self.fill](self, flat, step), flat)
        self.memory[step.key] = perturbed
        return perturbed.reshape(array.shape)

    def _mask(self, flat: np.ndarray, step: Step) -> np.ndarray:
        ratio = step.of(self, "r", flat)
        largest = float(ratio.max()) if isinstance(ratio, np.ndarray) else ratio
        self._largest_ratio = max(self._largest_ratio, largest)
        if self.kind == "group":
            return group_mask(step.draws, self._members, ratio)
        return MASKS[self.kind](step.draws, flat.shape[1], ratio)

    def _noise(self, flat: np.ndarray, step: Step) -> np.ndarray:
        return np.asarray(self._std[step.key] * step.draws.normal(flat.shape[1:]))


MASK_FILLS: dict[str, Callable[[MaskObservation, np.ndarray, Step], Any]] = {
    "zero": lambda mask, flat, step: mask._zero.get(step.key, 0.0),
    "mean": lambda mask, flat, step: mask._mean[step.key],
    "last": lambda mask, flat, step: np.where(step.first_for(flat), flat, mask.memory.get(step.key, flat)),
    "noise": lambda mask, flat, step: mask._mean[step.key] + mask._noise(flat, step),
    "additive": lambda mask, flat, step: flat + mask._noise(flat, step),
    "multiplicative": lambda mask, flat, step: flat * (1.0 + step.draws.normal(flat.shape[1:])),
}


def _choose(names: list[str] | None, groups: dict[str, list[int]] | None) -> dict[str, list[int]]:
    if not groups:
        raise UserError(
            "`kind: group` needs groups of sensors, and the environment names none: set `groups`, each with the "
            "positions of its numbers, or `env.sensor_groups`"
        )
    for name in names or []:
        if name not in groups:
            raise UserError(f"`groups`: the environment has no group {name!r}; {nearest(name, groups)}")
    return {name: groups[name] for name in names or groups}


def _members(where: str, groups: dict[str, list[int]], size: int) -> np.ndarray:
    members = np.zeros((len(groups), size), dtype=bool)
    for row, (name, places) in zip(members, groups.items(), strict=True):
        for place in places:
            require(0 <= place < size, f"{where}.{name}", f"positions in 0..{size - 1}", place)
            row[place] = True
    return members


def whole(ratio: Ratio, size: int) -> Any:
    """Returns `ratio * size`, rounded down."""
    return np.floor(np.asarray(ratio) * size + _ROUNDING)


def channel_mask(draws: LaneDraws, size: int, ratio: Ratio) -> np.ndarray:
    """Masks exactly `floor(ratio * size)` random numbers."""
    numbers, count = draws.uniform((size,)), whole(ratio, size)
    if count.ndim == 0 and count > 0:
        # With one count for all lanes, the count-th smallest draw is found faster than the order of all draws.
        last = int(count) - 1
        return np.asarray(numbers <= np.partition(numbers, last, axis=1)[:, last : last + 1])
    return _ranks(numbers) < count


def random_mask(draws: LaneDraws, size: int, ratio: Ratio) -> np.ndarray:
    """Masks each number with probability `ratio`."""
    return draws.uniform((size,)) < ratio


def block_mask(draws: LaneDraws, size: int, ratio: Ratio) -> np.ndarray:
    """Masks `floor(ratio * size)` neighbours."""
    count = whole(ratio, size)
    start = np.floor(draws.uniform((1,)) * (size - count + 1))
    places = np.arange(size)
    return (places >= start) & (places < start + count)


def group_mask(draws: LaneDraws, members: np.ndarray, ratio: Ratio) -> np.ndarray:
    """Masks `floor(ratio * groups)` groups, at least one if the ratio is above 0; `members` is `(groups, size)`."""
    count = np.where(np.asarray(ratio) > 0, np.maximum(whole(ratio, len(members)), 1), 0)
    masked = _ranks(draws.uniform((len(members),))) < count
    return np.asarray((masked[:, :, None] & members).any(axis=1))


def _ranks(numbers: np.ndarray) -> np.ndarray:
    return numbers.argsort(axis=1).argsort(axis=1)


MASKS: dict[str, Callable[[LaneDraws, int, Ratio], np.ndarray]] = {
    "channel": channel_mask,
    "random": random_mask,
    "block": block_mask,
}
