"""What one lane holds of a policy of the user during an episode."""

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from brittlestar.envs.batches import copy_batch, entries
from brittlestar.policies.call_forms import entry_point
from brittlestar.policies.episode_copies import EpisodeCopies
from brittlestar.policies.global_generators import seed_globally


class LaneMemory:
    """A copy of the object, its state and its last action; it changes with every call.

    Attributes:
        function: how the copy is called.
        state: what it returned with its last action.
        action: its last action.
        calls: number of calls in this episode.
    """

    function: Callable[..., Any]

    def __init__(self, copies: EpisodeCopies) -> None:
        self._copies, self._seed, self._episode = copies, 0, -1
        self._first: Any = None
        self.state: Any = None
        self.action: Any = None
        self.calls = 0

    def begin(self, seed: int, episode: int, row: Any) -> None:
        """Starts an episode with a new copy; `seed` is for its random numbers, `row` is the first observation."""
        self._seed, self._episode, self._first = seed, episode, copy_batch(row)
        self._renew()

    def _renew(self) -> None:
        self._thing = self._copies.make(self._seed)
        self.function, self.state, self.action, self.calls = entry_point(self._thing)[1], None, None, 0

    def seed_call(self) -> None:
        """Seeds the global random generators for the next call, by episode and step."""
        seed_globally(self._seed, self.calls)

    def fresh(self) -> Self:
        """Returns the memory at the start of this episode."""
        memory = copy.copy(self)
        memory._renew()
        return memory

    def take(self, other: Self) -> None:
        """Becomes another memory."""
        vars(self).update(vars(other))

    def is_idle(self, episode: int, row: Any) -> bool:
        """Whether the episode has started with this row and done nothing else: a lane without an episode waits so."""
        if self.calls != 1 or self._episode != episode:
            return False
        pairs = zip(entries(self._first).values(), entries(row).values(), strict=True)
        return all(np.array_equal(mine, other) for mine, other in pairs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memory = copy.copy(self)
        memory.state = copy.deepcopy(self.state, memo)
        if self.calls:
            memory._thing = self._copies.clone(self._thing)
            memory.function = entry_point(memory._thing)[1]
        return memory
