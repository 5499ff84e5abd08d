"""The behaviour of an episode: a few numbers about its actions and rewards, enough for every scoring."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from gymnasium import spaces

from brittlestar.engine.entropy import action_entropy, axis_entropy, count_entropy
from brittlestar.errors import UserError, require

_SCALARS = (
    "length", "return", "return_seen", "violation", "regret", "entropy", "entropy_axes", "roughness", "digest",
)  # fmt: skip
_DIGEST_BYTES = 6
"""A float64 holds every whole number of 48 bits."""


@dataclass(frozen=True)
class Layout:
    """Columns of the behaviour table, for one action space.

    - `length`, `return` (true rewards), `return_seen` (stressed rewards): of the episode.
    - `violation`, `regret`: sums of what a stressor reports; only the compat scorings read them.
    - `entropy`, `entropy_axes`: of the actions, see `action_entropy` and `axis_entropy`; the same for Discrete.
    - `roughness`: Discrete: share of steps whose action differs from the one before; else the mean norm of the second
      difference of the actions.
    - `digest`: 48 bits of a hash of the actions: equal digests, equal actions.
    - `signature_*`: as the benchmark has it: Discrete `mean, std, switch rate`, else `mean per number, std per number,
      roughness`; then mean and standard deviation of the stressed rewards. In float32.
    - `entry_*`: Discrete: share of each action, then the switch rate; else the mean of each number, the standard
      deviation of each, and the mean absolute second difference of each.
    - `change_*`: how far each entry of the second half of the episode is from that of the first.

    Attributes:
        actions: number of discrete actions; 0 for vectors.
        size: numbers in an action.
        start: the smallest discrete action.

    Example:
        >>> Layout(actions=2).columns[-6:]
        ('entry_0', 'entry_1', 'entry_2', 'change_0', 'change_1', 'change_2')
    """

    actions: int = 0
    size: int = 1
    start: int = 0

    def __post_init__(self) -> None:
        require(self.actions >= 0, "actions", "at least 0", self.actions)
        require(self.size >= 1, "size", "at least 1", self.size)

    @classmethod
    def of(cls, space: spaces.Space) -> Layout:
        """Returns the layout of an action space."""
        if isinstance(space, spaces.Discrete):
            return cls(int(space.n), 1, int(space.start))
        if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
            return cls(size=max(1, int(np.prod(space.shape))))
        raise UserError(f"a record of behaviour needs Box, Discrete, MultiDiscrete or MultiBinary actions, got {space}")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return _SCALARS + tuple(f"{block}_{i}" for block, size in self.blocks.items() for i in range(size))

    @property
    def blocks(self) -> dict[str, int]:
        """Columns that belong together, and how many."""
        entries = self.actions + 1 if self.actions else 3 * self.size
        return {"signature": 5 if self.actions else 2 * self.size + 3, "entry": entries, "change": entries}


@dataclass(frozen=True)
class Behaviour:
    """One row per episode, in order: `values` is `(episodes, len(layout.columns))`."""

    layout: Layout
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def column(self, name: str) -> np.ndarray:
        """Returns one column."""
        return self.values[:, self.layout.columns.index(name)]

    def block(self, name: str) -> np.ndarray:
        """Returns the columns of `signature`, `entry` or `change`, `(episodes, size)`."""
        first = self.layout.columns.index(f"{name}_0")
        return self.values[:, first : first + self.layout.blocks[name]]

    def pick(self, rows: slice | np.ndarray) -> Behaviour:
        """Returns some of the episodes."""
        return Behaviour(self.layout, self.values[rows])


def describe_episode(
    layout: Layout, actions: np.ndarray, rewards: np.ndarray, seen_rewards: np.ndarray, sums: tuple[float, float]
) -> np.ndarray:
    """Returns the row of one episode, from actions `(steps, ...)`, rewards `(steps,)`, and violation and regret.

    Example:
        >>> layout, rewards = Layout(actions=2), np.ones(4)
        >>> row = describe_episode(layout, np.array([0, 1, 1, 1]), rewards, rewards, (0.0, 0.0))
        >>> Behaviour(layout, row[None]).block("entry").round(3).tolist()
        [[0.25, 0.75, 0.333]]
    """
    total = _total(rewards)
    seen_total = total if seen_rewards is rewards else _total(seen_rewards)
    actions = np.ascontiguousarray(actions.reshape(len(actions), -1))
    described = _discrete(layout, actions[:, 0]) if layout.actions else _vector(actions)
    entropies, roughness, moments, entries, change = described
    seen = seen_rewards.astype(np.float32)
    scalars = (len(actions), total, seen_total, *sums, *entropies, roughness, _digest(actions))
    signature = np.concatenate([moments, [roughness, seen.mean(), seen.std()]]).astype(np.float32)
    return np.concatenate([scalars, signature, entries, change])


_Described = tuple[tuple[float, float], float, np.ndarray, np.ndarray, np.ndarray]
"""Both entropies, roughness, moments, entries and change."""


def _discrete(layout: Layout, actions: np.ndarray) -> _Described:
    whole = actions.astype(np.int64)
    half, steps, switches = len(whole) // 2, len(whole), whole[1:] != whole[:-1]
    # Agents of Stable-Baselines3 count from 0 in spaces that start elsewhere: each choice still has a place of its own.
    places = (whole - layout.start) % layout.actions
    counts = [np.bincount(part, minlength=layout.actions) for part in (places[:half], places[half:])]
    both = counts[0] + counts[1]
    entries = _shares(both, switches)
    change = np.zeros_like(entries)
    if half:
        change = np.abs(_shares(counts[1], switches[half:]) - _shares(counts[0], switches[: half - 1]))
    moments = np.array([whole.sum() / steps, whole.std()])
    return (count_entropy(both),) * 2, float(entries[-1]), moments, entries, change


def _shares(counts: np.ndarray, switches: np.ndarray) -> np.ndarray:
    return np.append(counts / counts.sum(), np.count_nonzero(switches) / max(len(switches), 1))


def _vector(actions: np.ndarray) -> _Described:
    # In single precision from the start, as the benchmark does: the sums of long episodes show it.
    single, half = actions.astype(np.float32), len(actions) // 2
    jerks = np.diff(single, n=2, axis=0)
    roughness = float(np.mean(np.linalg.norm(jerks, axis=1))) if len(jerks) else 0.0
    moments = np.concatenate([single.mean(axis=0), single.std(axis=0)])
    entries = _entries(actions)
    change = np.abs(_entries(actions[half:]) - _entries(actions[:half])) if half else np.zeros_like(entries)
    return (action_entropy(actions), axis_entropy(actions)), roughness, moments, entries, change


def _entries(actions: np.ndarray) -> np.ndarray:
    table = actions.astype(np.float64)
    jerks = np.abs(np.diff(table, n=2, axis=0))
    jerk = jerks.mean(axis=0) if len(jerks) else np.zeros(table.shape[1])
    return np.concatenate([table.mean(axis=0), table.std(axis=0), jerk])


def _total(rewards: np.ndarray) -> float:
    # One after the other, as a loop over steps adds them: a pairwise sum rounds differently.
    return float(np.add.accumulate(rewards, dtype=np.float64)[-1])


def _digest(actions: np.ndarray) -> float:
    kind = np.int64 if actions.dtype.kind in "iub" else np.float64
    digest = hashlib.blake2b(actions.astype(kind).tobytes(), digest_size=_DIGEST_BYTES).digest()
    return float(int.from_bytes(digest, "big"))
