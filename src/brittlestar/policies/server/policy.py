"""A policy behind a server: observations go out, chunks of actions come back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from brittlestar.checkpoints.messages import printable
from brittlestar.checkpoints.spaces_text import Space
from brittlestar.config import options
from brittlestar.config.build import build
from brittlestar.envs.batches import entries, take_row
from brittlestar.errors import UserError
from brittlestar.policies.base import Observation, Policy, Prediction, Starts, count_lanes
from brittlestar.policies.server.address import Address
from brittlestar.policies.server.chunks import ChunkPlayer, ChunkRule
from brittlestar.policies.server.connection import PolicyConnection, announced_metadata
from brittlestar.policies.server.key_map import KeyMap
from brittlestar.policies.server.latency import LatencyLog
from brittlestar.policies.server.metadata import BATCH, ServerMetadata
from brittlestar.policies.server.opening import ConnectionSettings, ServerError
from brittlestar.randomness import LaneDraws

REQUEST = "request"
"""Key of the number of a batch, which the answer repeats."""


@dataclass
class ServerPolicy(Policy):
    """Asks a server for actions: all lanes at once if it announces that, else lane by lane.

    A chunk of actions belongs to one lane and one episode, so the result does not depend on the number of lanes, as
    long as the server answers the same request in the same way.
    """

    neutral_fields: ClassVar[tuple[str, ...]] = ("connection",)
    """Fields that change no result."""

    url: str
    revision: str | None = None
    """What the server runs, in the words of the user; part of the hash of a cell."""
    keys: KeyMap = field(default_factory=KeyMap)
    chunks: ChunkRule = field(default_factory=ChunkRule)
    connection: ConnectionSettings = field(default_factory=ConnectionSettings)

    def __post_init__(self) -> None:
        self.address = Address.read(self.url)
        self._connection = PolicyConnection(self.address, self.connection)
        self._latency, self._lost_before, self._requests = LatencyLog(), 0, 0
        self._samples_unheard = False

    @staticmethod
    def trained_env(node: dict[str, Any]) -> str:
        """Returns the environment that the server names; empty if it names none."""
        return _announced(node).env_id

    @staticmethod
    def trained_option(node: dict[str, Any]) -> str | None:
        """Returns the option of the group `env` that the server names, which may have cameras; None without one."""
        option = _announced(node).env_option
        return option if option in options("env") else None

    @staticmethod
    def outside_identity(node: dict[str, Any]) -> dict[str, str]:
        """Returns what a cell depends on beside its config: a digest of the server's metadata."""
        return {"server": _announced(node).fingerprint}

    def outside(self) -> dict[str, str]:
        return {"server": self._connection.open().fingerprint}

    @property
    def remote(self) -> dict[str, Any] | None:
        metadata = self._connection.metadata
        if metadata is None:
            return None
        facts = {"url": self.url, "repeatable": metadata.is_repeatable, "metadata": metadata.entries}
        lost = self._connection.reconnects - self._lost_before
        return facts | {"batched": metadata.takes_batches, "reconnects": lost, "latency": self._latency.summary()}

    @property
    def notes(self) -> list[str]:
        metadata, notes = self._connection.metadata, []
        if metadata is not None and not metadata.is_repeatable:
            notes.append(
                f"{self.url} does not announce that it is repeatable: a new run may give other numbers; cells are "
                "taken from the store while its address, its metadata and `policy.revision` are the same"
            )
        if self._samples_unheard:
            notes.append(f"{self.url} decides itself whether actions are sampled: it is not sent `deterministic=false`")
        return notes

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self.keys.bind(observation_space)
        self._space, self._draws = action_space, draws
        self._metadata = self._connection.open()
        # The last pass of a cell is the one that counts.
        self._latency, self._lost_before = LatencyLog(), self._connection.reconnects

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, deterministic: bool = True
    ) -> Prediction:
        lanes = count_lanes(observation)
        player = state if isinstance(state, ChunkPlayer) else ChunkPlayer(lanes)
        starts = np.zeros(lanes, dtype=bool) if episode_start is None else np.asarray(episode_start)
        needs = player.needs_chunk(starts)
        for lane in np.flatnonzero(starts).tolist():
            if player.waits(lane, int(self._draws.episodes[lane]), _bytes(take_row(observation, lane))):
                needs[lane] = False
        if needs.any():
            wanted = np.flatnonzero(needs)
            ask = self._ask_batch if self._metadata.takes_batches else self._ask_each
            for lanes_of_chunk, chunks in ask(observation, wanted, player, starts, deterministic):
                player.put(lanes_of_chunk, chunks, self._checked(self.chunks.steps_of, chunks.shape[1]))
        return player.next_actions(), player

    def _ask_each(
        self, observation: Observation, wanted: np.ndarray, player: ChunkPlayer, starts: np.ndarray, deterministic: bool
    ) -> Any:
        """Yields lanes with their chunks, each lane from a request of its own."""
        self._samples_unheard |= not deterministic
        rows, constants = self.keys.rows(observation, wanted), self.keys.constants()
        for place, lane in enumerate(wanted.tolist()):
            answer = self._ask({name: array[place] for name, array in rows.items()} | constants, resend=True)
            yield [lane], self._checked(self.keys.read_actions, answer, (), self._space)[None]

    def _ask_batch(
        self, observation: Observation, wanted: np.ndarray, player: ChunkPlayer, starts: np.ndarray, deterministic: bool
    ) -> Any:
        """Yields the wanted lanes with their chunks from one request. It holds all lanes: a server may keep states."""
        lanes, holds_state = len(starts), self._metadata.keeps_state and not starts.all()
        if holds_state and player.requests != self._requests:
            raise ServerError(
                f"{self.url} keeps the state of every episode, so it cannot be asked twice in one step: "
                "`divergence=true`, ensembles and attacks need a policy without memory, or one in this process"
            )
        self._requests += 1
        player.requests = self._requests
        facts = {
            REQUEST: self._requests, "seed": self._draws.seed, "deterministic": deterministic, "starts": starts,
            "episodes": self._draws.episodes, "steps": self._draws.steps,
        }  # fmt: skip
        rows = self.keys.rows(observation, np.arange(lanes)) | self.keys.constants()
        answer = self._ask(rows | {BATCH: facts}, resend=not holds_state)
        number: Any = answer.get(REQUEST)
        if not np.array_equal(number, self._requests):
            self._connection.close()
            raise ServerError(f"{self.url} answered request {printable(number, 20)} in place of {self._requests}")
        yield wanted, self._checked(self.keys.read_actions, answer, (lanes,), self._space)[wanted]

    def _ask(self, request: dict[str, Any], resend: bool) -> dict[str, Any]:
        started = time.perf_counter()
        answer = self._connection.ask(request, resend)
        self._latency.add(time.perf_counter() - started, answer.get("server_timing"))
        return answer

    def _checked(self, check: Any, *arguments: Any) -> Any:
        """Calls a check of the answer; its error names the server."""
        try:
            return check(*arguments)
        except UserError as error:
            raise ServerError(f"{self.url}: {error}") from None


def _announced(node: dict[str, Any]) -> ServerMetadata:
    """Returns the metadata of the server that a config node names; a mistake in the node is an error before that."""
    policy = build(node, "policy")
    return announced_metadata(policy.address, policy.connection)


def _bytes(row: Any) -> bytes:
    return b"".join(np.asarray(part).tobytes() for part in entries(row).values())
