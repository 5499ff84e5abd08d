"""Random numbers that depend on (seed, stream, episode, step) and on nothing else."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import numpy as np

_BLOCK_STEPS = 64
_BLOCK_NUMBERS = 4096


class Jumper:
    """One generator that jumps to any (seed, stream, counter): ten times faster than making a new one.

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
        """Returns the generator at the start of a sequence; the next jump moves it away."""
        # The lowest word counts the numbers drawn; the others choose the sequence.
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
    """Returns the seeds that `env.reset` gets, one per episode.

    Args:
        seed: the cell's seed.
        episodes: how many.
        consecutive: `seed + episode`, as in published tables; neighbouring seeds then share start states.
    """
    if consecutive:
        return [seed + episode for episode in range(episodes)]
    jumper = Jumper(seed, "reset")
    # Below 2**53, so that a table of floats holds them exactly.
    return [int(jumper.to(episode).integers(2**53)) for episode in range(episodes)]


class LaneDraws:
    """Draws for all lanes at once, each lane from its own episode's stream.

    A number is a function of (seed, stream, episode, step, how many draws this step made before it).
    So it does not matter which lane an episode runs in, what the other lanes do, or whether a draw is
    skipped at some steps.

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
        self._seed, self._stream = seed, stream
        self._lanes = np.arange(lanes)
        self._episodes = np.zeros(lanes, dtype=np.int64)
        self._steps = np.zeros(lanes, dtype=np.int64)
        self._sites: list[_Site] = []
        self._children: dict[str, LaneDraws] = {}
        self._jumpers: dict[int, Jumper] = {}
        self._used = 0

    def at(self, episodes: np.ndarray, steps: np.ndarray) -> None:
        """Moves every lane to its episode and step."""
        self._episodes, self._steps, self._used = episodes, steps, 0

    @property
    def episodes(self) -> np.ndarray:
        """The episode of every lane."""
        return self._episodes

    @property
    def steps(self) -> np.ndarray:
        """The step of every lane in its episode."""
        return self._steps

    def child(self, name: str) -> LaneDraws:
        """Returns an independent stream at the same place, for one part of a composition."""
        if name not in self._children:
            self._children[name] = LaneDraws(self._seed, f"{self._stream}/{name}", len(self._lanes))
        self._children[name].at(self._episodes, self._steps)
        return self._children[name]

    def normal(self, shape: tuple[int, ...] = (), per_episode: bool = False) -> np.ndarray:
        """Standard normal numbers, `(lanes, *shape)`; `per_episode` gives the same ones at every step."""
        return self._draw(shape, per_episode, np.random.Generator.standard_normal)

    def uniform(self, shape: tuple[int, ...] = (), per_episode: bool = False) -> np.ndarray:
        """Uniform numbers in [0, 1), `(lanes, *shape)`."""
        return self._draw(shape, per_episode, np.random.Generator.random)

    def ahead(self, episode: int, steps: int, kind: str = "normal", nth: int = 0) -> np.ndarray:
        """Returns what the n-th draw of every step of an episode gives, `(steps,)`: numbers without a shape.

        Example:
            >>> draws = LaneDraws(seed=0, stream="noise", lanes=1)
            >>> coming = draws.ahead(episode=7, steps=100)
            >>> draws.at(episodes=np.array([7]), steps=np.array([99]))
            >>> bool(draws.normal()[0] == coming[99])
            True
        """
        jumper = self._jumpers.setdefault(nth, Jumper(self._seed, f"{self._stream}/{nth}"))
        numbers = np.empty((-(-steps // _BLOCK_STEPS), _BLOCK_STEPS))
        for block, row in enumerate(numbers):
            generator = jumper.to(block, episode)
            row[:] = generator.standard_normal(_BLOCK_STEPS) if kind == "normal" else generator.random(_BLOCK_STEPS)
        return numbers.ravel()[:steps]

    def _draw(self, shape: tuple[int, ...], per_episode: bool, kind: Callable) -> np.ndarray:
        while self._used >= len(self._sites):
            self._sites.append(_Site(Jumper(self._seed, f"{self._stream}/{len(self._sites)}"), len(self._lanes)))
        site = self._sites[self._used]
        self._used += 1
        steps = None if per_episode else self._steps
        return site.take(self._lanes, self._episodes, steps, shape, kind)


class SequentialDraws(LaneDraws):
    """Normal numbers as a plain loop draws them: one `default_rng(seed)` over all episodes in order.

    Published tables come from such loops, so this repeats their very noise. It needs to know how many
    draws an episode makes, and leaves no two episodes independent of each other's length: use it to
    compare with a table, not to measure.

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

    def normal(self, shape: tuple[int, ...] = (), per_episode: bool = False) -> np.ndarray:
        """Returns the first draw of a step from the sequence, any other from the lane's own stream."""
        if self._used or per_episode:
            return super().normal(shape, per_episode)
        self._used += 1
        if self._numbers.shape[1:] != shape:
            self._numbers = np.empty((0, *shape))
        places = self._episodes * self._per_episode + self._steps
        missing = int(places.max()) + 1 - len(self._numbers)
        if missing > 0:
            more = self._sequence.standard_normal((missing + 64 * self._per_episode, *shape))
            self._numbers = np.concatenate([self._numbers, more])
        return self._numbers[places]


class _Site:
    """The n-th draw of a step: a block of coming numbers per lane, filled as lanes reach it."""

    def __init__(self, jumper: Jumper, lanes: int) -> None:
        self.jumper = jumper
        self.episodes, self.starts = (np.full(lanes, -1, dtype=np.int64) for _ in range(2))
        self.layout: tuple = ()

    def take(
        self,
        lanes: np.ndarray,
        episodes: np.ndarray,
        steps: np.ndarray | None,
        shape: tuple[int, ...],
        kind: Callable,
    ) -> np.ndarray:
        """Returns a draw of each lane; without `steps`, that of the first step."""
        if self.layout != (shape, kind, steps is None):
            self._lay_out(len(lanes), shape, kind, steps is None)
        stale = self.episodes != episodes
        if steps is not None:
            # Unsigned, so that a step before the block is as far off as one behind it.
            stale |= (steps - self.starts).view(np.uint64) >= self.length
        if stale.any():
            for lane in np.flatnonzero(stale).tolist():
                self._fill(lane, int(episodes[lane]), 0 if steps is None else int(steps[lane]))
        return self.numbers[:, 0].copy() if steps is None else self.numbers[lanes, steps - self.starts]

    def _lay_out(self, lanes: int, shape: tuple[int, ...], kind: Callable, only_first: bool) -> None:
        self.layout, self.kind = (shape, kind, only_first), kind
        # A block begins with the same numbers, however long it is.
        self.length = 1 if only_first else max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // max(math.prod(shape), 1)))
        self.numbers = np.empty((lanes, self.length, *shape))
        self.episodes[:] = -1

    def _fill(self, lane: int, episode: int, step: int) -> None:
        block = step // self.length
        self.numbers[lane] = self.kind(self.jumper.to(block, episode), self.numbers.shape[1:])
        self.episodes[lane], self.starts[lane] = episode, block * self.length
