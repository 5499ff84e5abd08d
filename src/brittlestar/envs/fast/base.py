"""What a faster form of an environment is: steps of several environments in three parts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from brittlestar.envs.fast.stage import Stage

if TYPE_CHECKING:
    from brittlestar.envs.edits import Standing
    from brittlestar.envs.worlds import World

_FEW = 8
"""So many models fit into the caches."""


class Answers(NamedTuple):
    """What some environments answer to an action each; nothing here is ever truncated."""

    observation: Any
    reward: np.ndarray
    terminated: np.ndarray
    infos: dict[str, np.ndarray]
    """One array per key of `info`."""


class Together:
    """Some environments of one kind that step together, and lists over them that are made once."""

    def __init__(self, forms: Sequence[Any]) -> None:
        self.forms = forms
        self.models = [form.model for form in forms]
        """What each of them is simulated with."""
        self.turns: list[tuple[Any, Any, Sequence[bytes]]] = [(form.model, form.data, ()) for form in forms]
        """Model and data of each step, and what to write into `targets` before."""
        self.targets: tuple[memoryview, ...] = ()
        """Memory of the one model that stands in for many, if it does."""
        self._one_timestep = all(form.model is forms[0].model for form in forms)
        self._lists: dict[str, list[Any]] = {}
        self._standings: list[Standing] = []
        self._restless = False
        self._numbers: dict[int, Sequence[bytes]] = {}
        self.forget_times()

    def __len__(self) -> int:
        return len(self.forms)

    def share_models(self, worlds: list[World]) -> None:
        """Steps environments whose models are edited alike with one of them: many do not fit into the caches.

        Args:
            worlds: of every environment.
        """
        standings = [world.standing for world in worlds]
        changed = sum(map(operator.is_not, standings, self._standings)) if self._standings else len(standings)
        if not changed and not self._restless and (not self.targets or self.targets is self.forms[0].stage.targets):
            return
        leaders: dict[tuple, World] = {}
        found: dict[int, World] = {}
        for standing, world in zip(standings, worlds, strict=True):
            if id(standing) not in found:
                found[id(standing)] = leaders.setdefault(standing.state, world)
        for world in leaders.values():
            world.settle()
        self.models = [found[id(standing)].model for standing in standings]
        self._one_timestep = len(leaders) == 1 or not any("opt.timestep" in standing.edits for standing in standings)
        self.forget_times()
        # Where most models are others at every step, writing each down once more costs more than it saves.
        self._restless = 2 * changed > len(standings)
        self._take_stage(standings, found, many=len(leaders) > _FEW and not self._restless)
        self._standings = standings

    def _take_stage(self, standings: list[Standing], worlds: dict[int, World], many: bool) -> None:
        """Steps with a model of each standing or, if those are many, with one that becomes each of them in turn."""
        stage = self.forms[0].stage if many else None
        if stage is None or not all(stage.takes(world.edited_in_model) for world in worlds.values()):
            self.targets, self._numbers = (), {}
            self.turns = [(model, form.data, ()) for model, form in zip(self.models, self.forms, strict=True)]
            return
        # Those of standings that stood before are still right, if they are of the same fields.
        known = self._numbers if self.targets is stage.targets else {}
        self._numbers = {key: known.get(key) or stage.numbers(world.model) for key, world in worlds.items()}
        self.targets, numbers = stage.targets, [self._numbers[id(standing)] for standing in standings]
        self.turns = [(stage.model, form.data, each) for form, each in zip(self.forms, numbers, strict=True)]

    def every(self, name: str) -> list[Any]:
        """Returns one attribute of every form; arrays are views, so they stay those of the simulator."""
        if name not in self._lists:
            self._lists[name] = [getattr(form, name) for form in self.forms]
        return self._lists[name]

    def rows(self, name: str) -> np.ndarray:
        """Returns a copy of one array attribute of every form, one row each."""
        return np.concatenate(self.every(name)).reshape(len(self.forms), -1)

    def forget_times(self) -> None:
        """Looks up anew how long steps last: somebody may have edited that."""
        self._substeps: list[int] | None = None
        self._timesteps: np.ndarray | None = None

    def substeps(self, name: str) -> list[int]:
        """Returns how many substeps a step of each environment lasts, by the name of its attribute."""
        if self._substeps is None:
            self._substeps = [getattr(form.env, name) for form in self.forms]
        return self._substeps

    def timesteps(self) -> np.ndarray:
        """Returns the seconds of a substep: one for all, or one of each environment where models differ."""
        if self._timesteps is None:
            models = self.models[:1] if self._one_timestep else self.models
            self._timesteps = np.array([model.opt.timestep for model in models])
        return self._timesteps


class FastEnv:
    """One environment, whose step comes in parts that several can do together.

    A simulation of some hundred microseconds pushes the code around it out of the caches of the processor; done
    for all lanes at once, that code costs a fraction. What the environment shows is the same bit for bit; what
    it never shows (contacts and forces after the last substep) may be that of the substep before.
    """

    def __init__(self, env: Any) -> None:
        self.env, self.model, self.data = env, env.model, env.data
        self.alone = Together([self])

    @cached_property
    def stage(self) -> Stage:
        """A copy of the model, for those that step together with this environment as the first."""
        return Stage(self.model)

    def begin(self, together: Together, actions: np.ndarray) -> None:
        """Gives each of some environments like this one its row of `actions`."""
        raise NotImplementedError

    def simulate(self, together: Together) -> None:
        """Moves their simulations on."""
        raise NotImplementedError

    def finish(self, together: Together) -> Answers:
        """Returns what each of some environments like this one shows now."""
        raise NotImplementedError

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Does all three for this environment alone: its `env.step`."""
        action = np.asarray(action)
        if action.shape != self.env.action_space.shape:
            raise ValueError(f"Action dimension mismatch. Expected {self.env.action_space.shape}, found {action.shape}")
        self.alone.forget_times()
        self.begin(self.alone, action[None])
        self.simulate(self.alone)
        batch, reward, terminated, infos = self.finish(self.alone)
        observation = {key: rows[0] for key, rows in batch.items()} if isinstance(batch, dict) else batch[0]
        return observation, reward[0], bool(terminated[0]), False, {key: values[0] for key, values in infos.items()}

    def agrees(self) -> bool:
        """Whether the environment's own methods give the same numbers in its present state."""
        raise NotImplementedError

    def install(self) -> None:
        """Lets the environment step this way."""
        self.env.step = self.step
