"""Chunks of actions: each lane plays its own, and a new episode starts with a new one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar.errors import UserError, counted


@dataclass(frozen=True)
class ChunkRule:
    """How many steps a server plans, and how many of them are played before it is asked again."""

    length: int | None = None
    """Steps of a chunk, for a check of the answers; None takes any."""
    play: int | None = None
    """Steps of a chunk that are played (a receding horizon); None plays all."""

    def __post_init__(self) -> None:
        for name in ("length", "play"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"`{name}` must be null or at least 1, got {value}")
        if self.length is not None and self.play is not None and self.play > self.length:
            raise UserError(f"`play` must be at most `length` = {self.length}, got {self.play}")

    def steps_of(self, chunk: int) -> int:
        """Returns how many steps of a chunk are played; refuses one of another length."""
        if self.length is not None and chunk != self.length:
            raise UserError(f"the chunk has {counted(chunk, 'step')}, expected `policy.chunks.length` = {self.length}")
        if self.play is not None and self.play > chunk:
            raise UserError(f"the chunk has {counted(chunk, 'step')}, fewer than `policy.chunks.play` = {self.play}")
        return chunk if self.play is None else self.play


@dataclass
class ChunkPlayer:
    """The state of a rollout: the chunk of every lane, and its next step.

    Example:
        >>> player = ChunkPlayer(lanes=2)
        >>> player.put([0, 1], np.array([[1.0, 2.0], [3.0, 4.0]]), steps=2)
        >>> player.next_actions().tolist(), player.next_actions().tolist()
        ([1.0, 3.0], [2.0, 4.0])
        >>> player.needs_chunk(np.array([False, False])).tolist()
        [True, True]
    """

    lanes: int
    requests: int = 0
    """Number of requests that this state comes from."""
    _chunks: list[Any] = field(init=False, repr=False)
    _first: list[tuple[int, bytes] | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._chunks, self._first = [None] * self.lanes, [None] * self.lanes
        self._next, self._steps = np.zeros((2, self.lanes), dtype=np.int64)

    def needs_chunk(self, starts: np.ndarray) -> np.ndarray:
        """Returns which lanes start an episode or have played their chunk, `(lanes,)`."""
        return starts | (self._next >= self._steps)

    def put(self, lanes: Any, chunks: np.ndarray, steps: int) -> None:
        """Gives some lanes a new chunk, of which they play `steps`."""
        for lane, chunk in zip(lanes, chunks, strict=True):
            self._chunks[lane] = chunk
        self._next[lanes], self._steps[lanes] = 0, steps

    def waits(self, lane: int, episode: int, observation: bytes) -> bool:
        """Whether a lane has no episode: it starts the same one again and again. It then repeats its first action."""
        before, self._first[lane] = self._first[lane], (episode, observation)
        if before != self._first[lane] or self._next[lane] != 1:
            return False
        self._next[lane] = 0
        return True

    def next_actions(self) -> np.ndarray:
        """Returns the next action of every lane."""
        actions = np.stack([chunk[step] for chunk, step in zip(self._chunks, self._next.tolist(), strict=True)])
        self._next += 1
        return actions
