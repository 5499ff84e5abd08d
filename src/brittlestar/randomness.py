"""Random numbers as functions of (seed, stream, episode, step) alone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import numpy as np

Shape = tuple[int, ...]
_BLOCK_STEPS = 64
_BLOCK_NUMBERS = 4096


class Jumper:
    """One generator that jumps to any counter of its (seed, stream), ten times faster than a new generator.

    Example:
        >>> jumper = Jumper(seed=0, stream="noise")
        >>> numbers = [jumper.to(episode).random() for episode in (3, 4, 3)]
        >>> numbers[0] == numbers[2] != numbers[1]
        True
    """

    def __init__(self, seed: int, stream: str) -> None:
        key = np.array([seed % 2**64, zlib.crc32(stream.encode())], dtype=np.uint64)
        self._bits = np.random.Philox(key=key)
        self._state = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def to(self, first: int, second: int = 0) -> np.random.Generator:
        """Returns the generator at the start of a sequence, until the next jump."""
        # The lowest word counts the numbers of a sequence; the others choose the sequence.
        self._state["state"]["counter"] = np.array([0, first, second, 0], dtype=np.uint64)
        self._bits.state = self._state
        return self._generator


def generator(seed: int, stream: str) -> np.random.Generator:
    """Returns the generator of one (seed, stream), the same on every machine.

    Example:
        >>> bool(generator(0, "noise").random() == generator(0, "noise").random())
        True
    """
    return Jumper(seed, stream).to(0)


def reset_seeds(seed: int, episodes: int, consecutive: bool = False) -> list[int]:
    """Returns the seeds of `env.reset`, one per episode.

    `consecutive` ones are `seed + episode`, as in published tables; neighbouring seeds then share start states.
    """
    if consecutive:
        return [seed + episode for episode in range(episodes)]
    jumper = Jumper(seed, "reset")
    # A float holds integers below 2**53 exactly.
    return [int(jumper.to(episode).integers(2**53)) for episode in range(episodes)]


class LaneDraws:
    """Draws for all lanes at once, each lane from the stream of its own episode.

    A number is a function of (seed, stream, episode, step, number of earlier draws in this step). So it depends neither
    on the lane of the episode, nor on the other lanes, nor on draws that other steps skip.

    Attributes:
        seed: the seed of the stream.
        episodes: the episode of every lane.
        steps: the step of every lane in its episode.

    Example:
        >>> draws = LaneDraws(seed=0, stream="noise", lanes=2)
        >>> draws.at(episodes=np.array([5, 6]), steps=np.array([0, 9]))
        >>> noise = draws.normal((3,))
        >>> noise.shape
        (2, 3)
        >>> alone = LaneDraws(seed=0, stream="noise", lanes=1)
        >>> alone.at(episodes=np.array([6]), steps=np.array([9]))
        >>> bool(np.array_equal(alone.normal((3,))[0], noise[1]))
        True
    """

    def __init__(self, seed: int, stream: str, lanes: int) -> None:
        self.seed, self._stream = seed, stream
        self._lanes = np.arange(lanes)
        self.episodes, self.steps = np.zeros((2, lanes), dtype=np.int64)
        self._sites: list[_Site] = []
        self._children: dict[str, LaneDraws] = {}
        self._jumpers: dict[int, Jumper] = {}
        self._used = 0

    def at(self, episodes: np.ndarray, steps: np.ndarray) -> None:
        """Moves every lane to its episode and step."""
        self.episodes, self.steps, self._used = episodes, steps, 0

    def child(self, name: str) -> LaneDraws:
        """Returns an independent stream at the same episodes and steps, for one part of a composition."""
        if name not in self._children:
            self._children[name] = LaneDraws(self.seed, f"{self._stream}/{name}", len(self._lanes))
        self._children[name].at(self.episodes, self.steps)
        return self._children[name]

    def normal(self, shape: Shape = (), per_episode: bool = False) -> np.ndarray:
        """Returns standard normal numbers, `(lanes, *shape)`; with `per_episode`, the same ones at every step."""
        return self._draw(shape, per_episode, np.random.Generator.standard_normal)

    def uniform(self, shape: Shape = (), per_episode: bool = False) -> np.ndarray:
        """Returns uniform numbers in [0, 1), `(lanes, *shape)`."""
        return self._draw(shape, per_episode, np.random.Generator.random)

    def ahead(self, episode: int, steps: int, kind: str = "normal", nth: int = 0) -> np.ndarray:
        """Returns the n-th scalar draw of every step of an episode, `(steps,)`.

        Example:
            >>> draws = LaneDraws(seed=0, stream="noise", lanes=1)
            >>> numbers = draws.ahead(episode=7, steps=100)
            >>> draws.at(episodes=np.array([7]), steps=np.array([99]))
            >>> bool(draws.normal()[0] == numbers[99])
            True
        """
        jumper = self._jumpers.setdefault(nth, Jumper(self.seed, f"{self._stream}/{nth}"))
        numbers = np.empty((-(-steps // _BLOCK_STEPS), _BLOCK_STEPS))
        for block, row in enumerate(numbers):
            generator = jumper.to(block, episode)
            row[:] = generator.standard_normal(_BLOCK_STEPS) if kind == "normal" else generator.random(_BLOCK_STEPS)
        return numbers.ravel()[:steps]

    def _draw(self, shape: Shape, per_episode: bool, kind: Callable) -> np.ndarray:
        while self._used >= len(self._sites):
            self._sites.append(_Site(Jumper(self.seed, f"{self._stream}/{len(self._sites)}"), self._lanes))
        self._used += 1
        steps = None if per_episode else self.steps
        return self._sites[self._used - 1].take(self.episodes, steps, shape, kind)


class SequentialDraws(LaneDraws):
    """Normal numbers as a plain loop draws them: one `default_rng(seed)` over all episodes in order.

    Published tables come from such loops, so this repeats their noise. It needs the number of draws of an episode, and
    the numbers of an episode depend on the lengths of earlier ones: use it to compare with a table, not to measure.

    Example:
        >>> draws = SequentialDraws(seed=0, stream="noise", lanes=1, draws_per_episode=2)
        >>> draws.at(episodes=np.array([1]), steps=np.array([0]))
        >>> bool(np.array_equal(draws.normal((3,))[0], np.random.default_rng(0).standard_normal((3, 3))[2]))
        True
    """

    def __init__(self, seed: int, stream: str, lanes: int, draws_per_episode: int) -> None:
        super().__init__(seed, stream, lanes)
        self._per_episode = draws_per_episode
        self._sequence = np.random.default_rng(seed)
        self._numbers = np.empty((0,))

    def normal(self, shape: Shape = (), per_episode: bool = False) -> np.ndarray:
        """Returns the first draw of a step from the sequence, any other draw from the stream of the lane."""
        if self._used or per_episode:
            return super().normal(shape, per_episode)
        self._used += 1
        if self._numbers.shape[1:] != shape:
            self._numbers = np.empty((0, *shape))
        places = self.episodes * self._per_episode + self.steps
        missing = int(places.max()) + 1 - len(self._numbers)
        if missing > 0:
            next_numbers = self._sequence.standard_normal((missing + 64 * self._per_episode, *shape))
            self._numbers = np.concatenate([self._numbers, next_numbers])
        return self._numbers[places]


class _Site:
    """The n-th draw of a step: a block of numbers per lane, filled when the lane reaches it."""

    def __init__(self, jumper: Jumper, lanes: np.ndarray) -> None:
        self.jumper, self.lanes = jumper, lanes
        self.episodes, self.starts = (np.full(len(lanes), -1, dtype=np.int64) for _ in range(2))
        self.layout: tuple = ()

    def take(self, episodes: np.ndarray, steps: np.ndarray | None, shape: Shape, kind: Callable) -> np.ndarray:
        """Returns one draw of each lane; without `steps`, the draw of the first step."""
        if self.layout != (shape, kind, steps is None):
            self._lay_out(shape, kind, steps is None)
        stale = self.episodes != episodes
        if steps is not None:
            # As unsigned numbers, steps before the block are beyond its length too.
            stale |= (steps - self.starts).view(np.uint64) >= self.length
        if stale.any():
            for lane in np.flatnonzero(stale).tolist():
                self._fill(lane, int(episodes[lane]), 0 if steps is None else int(steps[lane]))
        return self.numbers[:, 0].copy() if steps is None else self.numbers[self.lanes, steps - self.starts]

    def _lay_out(self, shape: Shape, kind: Callable, only_first: bool) -> None:
        self.layout, self.kind = (shape, kind, only_first), kind
        # The length of a block does not change its first numbers.
        self.length = 1 if only_first else max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // max(math.prod(shape), 1)))
        self.numbers = np.empty((len(self.lanes), self.length, *shape))
        self.episodes[:] = -1

    def _fill(self, lane: int, episode: int, step: int) -> None:
        block = step // self.length
        self.numbers[lane] = self.kind(self.jumper.to(block, episode), self.numbers.shape[1:])
        self.episodes[lane], self.starts[lane] = episode, block * self.length
