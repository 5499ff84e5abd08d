"""Environments of one kind that step together."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brittlestar.envs.edits import Edits
    from brittlestar.envs.worlds import World

_CACHED_MODELS = 8
"""As many models fit into the caches of the processor."""


class LaneGroup:
    """The members of a group, and lists over them that are made once.

    Attributes:
        members: the `FastEnv` of each lane.
        models: the model that each member is simulated with.
        turns: model and data of each step, and the bytes to write into `targets` before it.
        targets: memory of the shared model; empty where none is in use.
    """

    def __init__(self, members: Sequence[Any]) -> None:
        self.members = members
        self.models = [fast.model for fast in members]
        self.turns: list[tuple[Any, Any, Sequence[bytes]]] = [(fast.model, fast.data, ()) for fast in members]
        self.targets: tuple[memoryview, ...] = ()
        self._one_timestep = all(fast.model is members[0].model for fast in members)
        self._lists: dict[str, list[Any]] = {}
        self._edits: list[Edits] = []
        self._most_changed = False
        self._numbers: dict[int, Sequence[bytes]] = {}
        self.forget_times()

    def share_models(self, worlds: list[World]) -> None:
        """Steps members with equal edits on one model, because many models do not fit into the caches."""
        edits = [world.edits for world in worlds]
        changed = sum(map(operator.is_not, edits, self._edits)) if self._edits else len(edits)
        if not changed and not self._most_changed and self._targets_are_current():
            return
        leaders: dict[tuple, World] = {}
        by_edits: dict[int, World] = {}
        for value, world in zip(edits, worlds, strict=True):
            if id(value) not in by_edits:
                by_edits[id(value)] = leaders.setdefault(value.state, world)
        for world in leaders.values():
            world.apply_edits()
        self.models = [by_edits[id(value)].model for value in edits]
        self._one_timestep = len(leaders) == 1 or not any("opt.timestep" in value.by_field for value in edits)
        self.forget_times()
        # Where most models change at every step, reading their numbers costs more than it saves.
        self._most_changed = 2 * changed > len(edits)
        self._plan_turns(edits, by_edits, many=len(leaders) > _CACHED_MODELS and not self._most_changed)
        self._edits = edits

    def _targets_are_current(self) -> bool:
        return not self.targets or self.targets is self.members[0].shared_model.targets

    def _plan_turns(self, edits: list[Edits], worlds: dict[int, World], many: bool) -> None:
        """Steps with the model of each world or, if those are many, with the shared model in its place."""
        shared = self.members[0].shared_model if many else None
        if shared is None or not all(shared.covers(world.edited_in_model) for world in worlds.values()):
            self.targets, self._numbers = (), {}
            self.turns = [(model, fast.data, ()) for model, fast in zip(self.models, self.members, strict=True)]
            return
        # The numbers of earlier edits are still right, if they are of the same fields.
        earlier = self._numbers if self.targets is shared.targets else {}
        self._numbers = {key: earlier.get(key) or shared.numbers(world.model) for key, world in worlds.items()}
        self.targets, numbers = shared.targets, [self._numbers[id(value)] for value in edits]
        self.turns = [(shared.model, fast.data, row) for fast, row in zip(self.members, numbers, strict=True)]

    def every(self, name: str) -> list[Any]:
        """Returns one attribute of every member; arrays are views of the simulator's memory."""
        if name not in self._lists:
            self._lists[name] = [getattr(fast, name) for fast in self.members]
        return self._lists[name]

    def rows(self, name: str) -> np.ndarray:
        """Returns a copy of one array attribute of every member, one row each."""
        return np.concatenate(self.every(name)).reshape(len(self.members), -1)

    def forget_times(self) -> None:
        """Clears the durations of steps, because an edit may have changed them."""
        self._substeps: list[int] | None = None
        self._timesteps: np.ndarray | None = None

    def substeps(self, name: str) -> list[int]:
        """Returns how many substeps a step of each member lasts, by the name of its attribute."""
        if self._substeps is None:
            self._substeps = [getattr(fast.env, name) for fast in self.members]
        return self._substeps

    def timesteps(self) -> np.ndarray:
        """Returns the seconds of a substep: one number for all, or one per member where models differ."""
        if self._timesteps is None:
            models = self.models[:1] if self._one_timestep else self.models
            self._timesteps = np.array([model.opt.timestep for model in models])
        return self._timesteps
