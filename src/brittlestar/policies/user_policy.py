"""A policy that the user writes, in any common form."""

import contextlib
import functools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.envs.batches import entries, take_row
from brittlestar.errors import UserError
from brittlestar.policies.base import Masks, Observation, Policy, Prediction, Starts, count_lanes, takes_masks
from brittlestar.policies.box_bounds import OutputRange
from brittlestar.policies.call_forms import (
    MASK_ARGUMENT,
    SB3_ARGUMENTS,
    CallForm,
    argument_choices,
    entry_point,
    possible_forms,
    read_answer,
    shape_text,
)
from brittlestar.policies.episode_copies import EpisodeCopies
from brittlestar.policies.form_trials import GIVEN, Trial, actions_agree, failure_of
from brittlestar.policies.global_generators import global_states, preserve_generators, used_generators
from brittlestar.policies.lane_memory import LaneMemory
from brittlestar.randomness import LaneDraws

_ADVICE = "scale them, if the network was trained with normalised actions"


class BatchUserPolicy(Policy):
    """Calls a function or object of the user once per step, with the observations of all lanes.

    Args:
        thing: the function, or an object with `predict`, `act` or `__call__`.
        name: its name in messages.
    """

    def __init__(self, thing: Any, name: str) -> None:
        self._thing, self._name = thing, name
        self._label, self._function = entry_point(thing)
        self._choices = argument_choices(self._function, name)
        self._space: Space | None = None
        self._form: CallForm | None = None

    @functools.cached_property
    def wants_masks(self) -> bool:
        return takes_masks(self._function)

    @property
    def notes(self) -> list[str]:
        return [f"{self._name}: {self._form.describe(self._label, 'all lanes at once')}"] if self._form else []

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._space, self._form = action_space, None

    def predict(self, observation: Observation, state: Any = None, episode_start: Starts = None,
                deterministic: bool = True, action_masks: Masks = None) -> Prediction:  # fmt: skip
        values = {"state": state, "episode_start": episode_start, "deterministic": deterministic}
        values[MASK_ARGUMENT] = action_masks
        forms = [self._form] if self._form else possible_forms(self._function, self._choices, batch=True)
        for form in forms:
            try:
                answer = form.call_with(self._function, observation, values)
                break
            except TypeError:
                if form is forms[-1]:
                    raise
        actions, state, returns_state = self._read(answer, (count_lanes(observation), *self._shape), form)
        if self._form is None:
            self._form = replace(form, returns_state=returns_state)
        return actions, state

    @property
    def _shape(self) -> tuple[int, ...]:
        return getattr(self._space, "shape", None) or ()

    def _read(self, answer: Any, shape: tuple[int, ...], form: CallForm) -> tuple[np.ndarray, Any, bool]:
        """Returns an action of the right shape and kind, the state, and whether there was one."""
        space = self._space
        if space is None:
            action, state = answer if (has_state := isinstance(answer, tuple) and len(answer) == 2) else (answer, None)
            return np.asarray(action), state, has_state
        read = read_answer(answer, shape, form.batch, form.returns_state)
        if read is None:
            state = ", or (action, state)" if isinstance(answer, tuple) else ""
            raise UserError(f"{self._name} must return actions of shape {shape}{state}, got {shape_text(answer)}")
        action = read[0]
        if action.dtype == space.dtype:
            return read
        if action.dtype.kind not in "biu" and np.issubdtype(space.dtype, np.integer):
            raise UserError(f"{self._name} must return integers for {describe_space(space)}, got {action.dtype}")
        return action.astype(space.dtype), *read[1:]


class UserPolicy(BatchUserPolicy):
    """Calls a function or object of the user lane by lane, so that the actions of a lane depend on no other lane.

    - The first observation decides the form: of one observation and a batch of one, that which gives an action of the
      right shape. Where both could, and the actions differ, it is refused.
    - Every episode gets a copy of an object, as it was at the start, and a state of None.
    - A policy that draws from a global random generator gets it seeded for every call, by episode and step.

    Args:
        thing: the function, or an object with `predict`, `act` or `__call__`.
        name: its name in messages.
        batch: whether it takes a batch; None finds out.

    Example:
        >>> class Controller:
        ...     def predict(self, observation, deterministic=True):
        ...         return -observation[:1], None
        >>> UserPolicy(Controller(), "it").predict(np.ones((2, 3)))[0].tolist()
        [[-1.0], [-1.0]]
    """

    def __init__(self, thing: Any, name: str, batch: bool | None = None) -> None:
        super().__init__(thing, name)
        # Four arguments are those of Stable-Baselines3, whose policies take batches.
        likely = all(set(SB3_ARGUMENTS) <= set(choice) for choice in self._choices)
        self._kinds = (likely, not likely) if batch is None else (batch,)
        self._copies = EpisodeCopies(thing)
        self._draws: LaneDraws | None = None
        self._range: OutputRange | None = None
        self._seeds_calls = False

    @property
    def notes(self) -> list[str]:
        if self._form is None:
            return []
        copied = "; every episode starts with a copy of it" if self._copies.are_copies else ""
        shared = f"; all lanes share {', '.join(self._copies.shared)}" if self._copies.shared else ""
        seeded = "; global random generators are seeded for every call" if self._seeds_calls else ""
        form = f"{self._name}: {self._form.describe(self._label, GIVEN[self._form.batch])}{copied}{shared}{seeded}"
        return [form, *(self._range.notes(self._name, _ADVICE) if self._range and self._form.tensors else [])]

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        super().bind(observation_space, action_space, draws)
        self._draws, self._range = draws, OutputRange(action_space) if isinstance(action_space, spaces.Box) else None

    def seed_global_draws(self) -> bool:
        self._seeds_calls, seeded = True, self._seeds_calls
        return not seeded

    def predict(self, observation: Observation, state: Any = None, episode_start: Starts = None,
                deterministic: bool = True, action_masks: Masks = None) -> Prediction:  # fmt: skip
        """Calls the policy for each lane; `state` holds the copies, which change."""
        with preserve_generators() if self._seeds_calls or self._form is None else contextlib.nullcontext():
            return self._predict(observation, state, episode_start, deterministic, action_masks)

    def _predict(self, observation: Observation, state: Any, episode_start: Starts, deterministic: bool,
                 action_masks: Masks) -> Prediction:  # fmt: skip
        lanes = count_lanes(observation)
        starts = np.zeros(lanes, dtype=bool) if episode_start is None else np.asarray(episode_start)
        seeds = self._seeds(lanes) if state is None or starts.any() else []
        episodes = [-1] * lanes if self._draws is None else self._draws.episodes.tolist()
        values: dict[str, Any]
        memories: list[LaneMemory] = state or [LaneMemory(self._copies) for _ in range(lanes)]
        for lane, (memory, starting) in enumerate(zip(memories, starts.tolist(), strict=True)):
            row = take_row(observation, lane)
            values = {"deterministic": deterministic, "episode_start": starts[lane : lane + 1], MASK_ARGUMENT: None}
            if action_masks is not None:
                values[MASK_ARGUMENT] = action_masks[lane]
            if not memory.calls or (starting and not memory.is_idle(episodes[lane], row)):
                memory.begin(seeds[lane], episodes[lane], row)
                self._start(memory, row, values)
            elif not starting:
                self._advance(memory, row, values, self._form or CallForm())
        actions = np.array([memory.action for memory in memories])
        if self._range and self._form and self._form.tensors:
            self._range.add(actions)
        return actions, memories

    def _seeds(self, lanes: int) -> list[int]:
        """Returns one seed for each lane, constant in an episode, for random numbers that the policy draws."""
        if self._draws is None:
            return [0] * lanes
        uniform = self._draws.child("copies").uniform(per_episode=True)
        return [int(number * 2**53) for number in uniform]

    def _start(self, memory: LaneMemory, row: Any, values: dict[str, Any]) -> None:
        if self._form is None:
            # Seeded, in case that it draws: `memory` takes the action of this call.
            memory.seed_call()
            before, was_seeded, self._seeds_calls = global_states(), self._seeds_calls, True
            trial = self._find_form(row, values, memory)
            used = used_generators(before)
            if any(name not in before for name in used):
                # The first call imported torch, and drew from it without a seed.
                trial = self._find_form(row, values, memory)
            self._form, self._seeds_calls = trial.form, was_seeded or bool(used)
            memory.take(trial.memory)
        else:
            self._advance(memory, row, values, self._form)

    def _advance(self, memory: LaneMemory, row: Any, values: dict[str, Any], form: CallForm) -> bool:
        """Calls the policy for one lane, and returns whether it returns a state."""
        values["state"] = memory.state
        if self._seeds_calls:
            memory.seed_call()
        answer = form.call(memory.function, row, values)
        action, memory.state, returns_state = self._read(answer, (1, *self._shape) if form.batch else self._shape, form)
        # A policy may return the same array again and again.
        memory.action = np.array(action[0] if form.batch else action)
        memory.calls += 1
        return returns_state

    def _find_form(self, row: Any, values: dict[str, Any], memory: LaneMemory) -> Trial:
        """Tries one observation and a batch of one, each with a copy of the object; returns the call that fits."""
        trials: list[Trial] = []
        for batch in self._kinds[:1] if self._space is None else self._kinds:
            trials.append(self._try(batch, row, values, memory.fresh()))
            if trials[-1].error is None and not self._is_ambiguous(row):
                return trials[-1]
        fitting = [trial for trial in trials if trial.error is None]
        if not fitting:
            raise failure_of(trials)
        # Random actions differ from one call to the next.
        differ = len(fitting) == 2 and not actions_agree(*fitting)
        if differ and actions_agree(fitting[0], self._try(self._kinds[0], row, values, memory.fresh())):
            answers = " but ".join(f"{trial.memory.action} for {GIVEN[trial.form.batch]}" for trial in fitting)
            hint = "set `policy.batched` to true or false (in Python: `as_policy(it, batched=...)`)"
            raise UserError(f"{self._name} returns {answers}: {hint}")
        return fitting[0]

    def _is_ambiguous(self, row: Any) -> bool:
        """Whether the axes of an observation could be lanes: a policy for batches would then return as many actions."""
        actions = [size for size in self._shape if size > 1][:1]
        return any(list(np.shape(part)[:1]) == actions for part in entries(row).values())

    def _try(self, batch: bool, row: Any, values: dict[str, Any], memory: LaneMemory) -> Trial:
        trials = []
        for form in possible_forms(self._function, self._choices, batch):
            memory = memory.fresh()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    returns_state = self._advance(memory, row, values, form)
                return Trial(replace(form, returns_state=returns_state), memory)
            except Exception as error:  # It may be the wrong form; if no form fits, it is raised.
                trials.append(Trial(form, memory, error))
        return next((trial for trial in trials if isinstance(trial.error, UserError)), trials[-1])
