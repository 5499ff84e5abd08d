"""The engine: N episodes in L lanes, one batched policy call per step."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.engine.calibration import EPISODES, REFERENCE_EPISODES, NoiseRecorder, ObservationRecorder
from brittlestar.engine.effects import BOOKKEEPING, EffectLog
from brittlestar.engine.envpool_lanes import PoolLanes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.metrics import COLUMNS, EpisodeMetrics
from brittlestar.errors import HarnessError, UserError
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Perturbation, Step, check_parameter
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.policies.base import Policy
from brittlestar.randomness import LaneDraws, SequentialDraws, reset_seeds
from brittlestar.schedules import Constant, StressSchedule

if TYPE_CHECKING:
    from brittlestar.engine.behaviour import Behaviour
    from brittlestar.engine.behaviour_recorder import BehaviourRecorder

STREAMS = (
    "perturbation/observation",
    "perturbation/action",
    "perturbation/reward",
    "perturbation/world",
    "mitigation/observation",
    "mitigation/action",
    "mitigation/policy",
    "policy",
)


_CLEAN_SEED = 2**62
"""Of the calibration pass: its start states are nobody else's."""

RECORDS = (None, "behaviour", "trajectories")
"""What can be kept beside the rows: nothing, a few numbers about the actions of each episode, or all of them."""


@dataclass
class Parts:
    """What stands between a policy and its environment."""

    policy: Policy
    perturbation: Perturbation = field(default_factory=Perturbation)
    mitigation: Mitigation = field(default_factory=Mitigation)
    schedule: StressSchedule = field(default_factory=Constant)


@dataclass(frozen=True)
class Plan:
    """Which episodes to run."""

    episodes: int
    seed: int = 0
    consecutive: bool = False
    """Reset seed = seed + episode and noise in one sequence, as in published tables."""
    deterministic: bool = True
    divergence: bool = False
    """Ask the policy once more at every step, on the true observation."""
    record: str | None = None
    """One of `RECORDS`."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise UserError(f"`episodes` must be at least 1, got {self.episodes}")
        if self.seed < 0:
            raise UserError(f"`seed` must be at least 0, got {self.seed}")
        if self.record not in RECORDS:
            raise UserError(f"`record` must be null, behaviour or trajectories, got {self.record}")


@dataclass
class Rows:
    """Episode rows in order: `values` is `(episodes, len(COLUMNS))`; `phases` are the names behind `phase`."""

    values: np.ndarray
    phases: list[str]
    effects: dict[str, np.ndarray] = field(default_factory=dict)
    """What the perturbation reported about its effect: the mean over each episode."""
    behaviour: Behaviour | None = None
    """What the policy did, where the plan asked for it."""
    trajectories: dict[str, np.ndarray] = field(default_factory=dict)
    """Actions and rewards of all episodes, one behind the other, where the plan asked for them."""

    def column(self, name: str) -> np.ndarray:
        """Returns one column."""
        return self.values[:, COLUMNS.index(name)]


def rollout(
    lanes: Lanes | PoolLanes,
    parts: Parts,
    plan: Plan,
    on_episode: Callable[[int], None] = lambda done: None,
    calibration: Calibration | None = None,
) -> Rows:
    """Runs the planned episodes; the rows depend on the parts and the plan, not on the lanes.

    Args:
        lanes: the environments, already made.
        parts: policy, perturbation, mitigation and schedule.
        plan: episodes and seed.
        on_episode: called with the number of finished episodes after each one.
        calibration: replaces the clean pass of the policy.

    Returns:
        One row per episode, in order.
    """
    return _Run(lanes, parts, plan, calibration).rows(on_episode)


class _Run:
    """State of one rollout: where each lane is."""

    def __init__(self, lanes: Lanes | PoolLanes, parts: Parts, plan: Plan, calibration: Calibration | None) -> None:
        self.lanes, self.parts, self.plan, self.calibration = lanes, parts, plan, calibration
        count, seed = lanes.count, plan.seed
        self.draws = {name: LaneDraws(seed, name, count) for name in STREAMS}
        if plan.consecutive and lanes.max_steps:
            # A loop disturbs the observation after reset and after every step, and every action.
            for name, extra in (("perturbation/observation", 1), ("perturbation/action", 0)):
                self.draws[name] = SequentialDraws(seed, name, count, lanes.max_steps + extra)
        self.metrics = EpisodeMetrics(lanes.spec, count, lanes.action_space, lanes.step_seconds)
        self.episode = np.zeros(count, dtype=np.int64)
        self.idle = np.zeros(count, dtype=bool)
        self.active = np.arange(count)
        self.todo: deque[int] = deque()
        self.reset_seeds = reset_seeds(seed, plan.episodes, plan.consecutive)
        self.policy_state: Any = None
        self.level, self.first = np.ones(count), np.ones(count, dtype=bool)
        self.values = np.full((plan.episodes, len(COLUMNS)), np.nan)
        self.worlds = lanes.worlds() if parts.perturbation.needs_world else []
        self.effects = EffectLog(plan.episodes, count)
        self.recorder = self._recorder() if plan.record else None
        self.phase_names = [parts.schedule.phase(episode) for episode in range(plan.episodes)]
        self.phases = list(dict.fromkeys(self.phase_names))

    def rows(self, on_episode: Callable[[int], None]) -> Rows:
        """Rolls until every episode has ended."""
        self._bind()
        try:
            self._roll(list(range(self.plan.episodes)), on_episode)
            self._settle()
        finally:
            for world in self.worlds:
                world.restore()
        rows = Rows(self.values, self.phases, self.effects.means)
        if self.recorder:
            rows.behaviour, rows.trajectories = self.recorder.behaviour, self.recorder.trajectories()
        return rows

    def _roll(self, episodes: list[int], on_episode: Callable[[int], None]) -> None:
        self.todo = deque(episodes)
        self.lanes.plan([self.reset_seeds[episode] for episode in episodes])
        self.idle[:] = False
        for lane in range(self.lanes.count):
            self._start(lane)
        self._drop_idle()
        done = 0
        while len(self.active):
            for _ in range(self._advance()):
                done += 1
                on_episode(done)

    def _settle(self) -> None:
        """Runs episodes again that started in a state other than the one before them left."""
        wrong, window = self.parts.perturbation.episodes_to_rerun(self.plan.episodes), self.plan.episodes
        while wrong:
            tried = wrong[:window]
            self._roll(tried, lambda done: None)
            wrong = self.parts.perturbation.episodes_to_rerun(self.plan.episodes)
            # An episode that was tried too early is tried twice: look no farther ahead than twice what was settled.
            window = 2 * max(1, sum(episode < wrong[0] for episode in tried)) if wrong else 0

    def _recorder(self) -> BehaviourRecorder:
        from brittlestar.engine.behaviour import Layout
        from brittlestar.engine.behaviour_recorder import BehaviourRecorder

        layout, whole = Layout.of(self.lanes.action_space), self.plan.record == "trajectories"
        return BehaviourRecorder(layout, self.plan.episodes, self.lanes.count, whole)

    def _bind(self) -> None:
        spaces_, parts = (self.lanes.observation_space, self.lanes.action_space), self.parts
        check_parameter(parts.perturbation, parts.schedule.parameter)
        context = Context(parts.policy, self._calibrate, self.lanes.compute_reward)
        context.calibrate_longer = functools.partial(self._calibrate, REFERENCE_EPISODES)
        context.measure_noise = functools.partial(self._measure_noise, context)
        planned = np.arange(self.plan.episodes)
        context.levels = np.asarray(parts.schedule.levels(planned, np.zeros_like(planned)))
        context.max_steps, spec = self.lanes.max_steps, self.lanes.spec
        context.default_action, context.sensor_groups = spec.default_action, spec.sensor_groups
        for part in (parts.perturbation, parts.mitigation):
            part.bind(*spaces_, self.lanes.count)
            part.prepare(context)
        self.policy = parts.mitigation.around(parts.policy, self.draws["mitigation/policy"])
        self.policy.bind(*spaces_, self.draws["policy"])
        self.wants_masks = self.policy.wants_masks

    def _calibrate(self, episodes: int = EPISODES) -> Calibration:
        if self.calibration is not None:
            return self.calibration
        known = self.lanes.calibrations
        key = (id(self.parts.policy), self.plan.deterministic, episodes)
        if key not in known:
            recorder = ObservationRecorder(episodes)
            plan = Plan(episodes, _CLEAN_SEED, deterministic=self.plan.deterministic)
            rollout(self.lanes, Parts(self.parts.policy, recorder), plan)
            # The policy is kept with it, so that no other one can come to have its id.
            known[key] = recorder.result(), self.parts.policy
        return known[key][0]

    def _measure_noise(self, context: Context) -> dict[str, np.ndarray]:
        perturbation, recorder = self.parts.perturbation, NoiseRecorder(self.parts.perturbation)
        plan = Plan(EPISODES, _CLEAN_SEED, deterministic=self.plan.deterministic)
        rollout(self.lanes, Parts(self.parts.policy, recorder), plan, calibration=self.calibration)
        perturbation.bind(self.lanes.observation_space, self.lanes.action_space, self.lanes.count)
        perturbation.prepare(context)
        return recorder.result()

    def _start(self, lane: int) -> None:
        if self.worlds:
            self.worlds[lane].restore()
        if not self.todo:
            # One behind the last: nothing that is kept by episode mixes it up with a real one.
            self.idle[lane], self.episode[lane] = True, self.plan.episodes
            return
        self.episode[lane] = self.todo.popleft()
        self.lanes.reset(lane, self.reset_seeds[self.episode[lane]])
        self.metrics.begin(lane, self.lanes.observation)
        self.effects.begin(lane)
        if self.recorder:
            self.recorder.begin(lane)

    def _drop_idle(self) -> None:
        self.active = np.flatnonzero(~self.idle)

    def _advance(self) -> int:
        parts, true = self.parts, self.lanes.observation
        self.first = self.metrics.length == 0
        self.level = parts.schedule.levels(self.episode, self.metrics.length)
        seen = parts.perturbation.perturb_observation(true, self._step("perturbation/observation"))
        self.metrics.observe(true, seen)
        shown = parts.mitigation.mitigate_observation(seen, self._step("mitigation/observation"))
        if shown is not true:
            # Only here: a mitigation may fill what a perturbation took away.
            self._check_numbers(shown, "the perturbed observation")
        commanded = self._command(shown, true)
        mitigated = parts.mitigation.mitigate_action(commanded, self._step("mitigation/action"))
        executed = parts.perturbation.perturb_action(mitigated, self._step("perturbation/action"))
        self.metrics.act(commanded, mitigated, executed)
        if self.worlds and not parts.perturbation.is_identity:
            self._edit_worlds()
        batch = self.lanes.step(executed, self.active)
        self._check_numbers(batch.observation, "the environment's observation")
        after = self._step("perturbation/reward")
        after.observation = batch.observation
        seen_reward = parts.perturbation.perturb_reward(batch.reward, after)
        self.metrics.update(batch, seen_reward)
        if self.recorder:
            self.recorder.update(commanded, batch.reward, seen_reward)
            self.recorder.account(*(self.effects.now.get(name, 0.0) for name in BOOKKEEPING))
        self.effects.add_step()
        ended = self.active[(batch.terminated | batch.truncated)[self.active]]
        for lane in ended.tolist():
            self._keep(lane, self.metrics.row(lane, batch))
        for lane in ended.tolist():
            self._start(lane)
        if len(ended):
            self._drop_idle()
        # A lane without an episode stands at the start of one for ever: policies never see it run on.
        self.metrics.length[self.idle] = 0
        return len(ended)

    def _edit_worlds(self) -> None:
        step = self._step("perturbation/world")
        self.parts.perturbation.perturb_world(self.worlds, step)
        self.metrics.disturb(step.effects.get("world_change", self.level) > 0)

    def _keep(self, lane: int, row: dict[str, float]) -> None:
        episode = int(self.episode[lane])
        self.effects.end(lane, episode, int(row["length"]))
        if self.recorder:
            self.recorder.keep(lane, episode)
        row["episode"], row["phase"] = episode, self.phases.index(self.phase_names[episode])
        row["reset_seed"] = self.reset_seeds[episode]
        if self.worlds and self.worlds[lane].retimed:
            # Steps did not last as long as the environment says.
            row.pop("cycle_time", None)
        self.values[episode] = [row.get(name, np.nan) for name in COLUMNS]

    def _step(self, channel: str) -> Step:
        self.draws[channel].at(self.episode, self.metrics.length)
        return Step(self.level, self.first, self.draws[channel], self.parts.schedule.parameter, self.effects.now)

    def _command(self, seen: Any, true: Any) -> np.ndarray:
        clean = self._ask(true)[0].copy() if self.plan.divergence and seen is not true else None
        commanded, self.policy_state = self._ask(seen)
        if self.plan.divergence:
            self.metrics.compare(commanded, commanded if clean is None else clean)
        return commanded

    def _ask(self, observation: Any) -> tuple[np.ndarray, Any]:
        for name in ("policy", "mitigation/policy"):
            self.draws[name].at(self.episode, self.metrics.length)
        masks = {"action_masks": self.lanes.masks(self.active)} if self.wants_masks else {}
        action, state = self.policy.predict(
            observation, self.policy_state, self.first, self.plan.deterministic, **masks
        )
        return self._checked_action(action), state

    def _checked_action(self, action: Any) -> np.ndarray:
        space = self.lanes.action_space
        action, expected = np.asarray(action), (self.lanes.count, *(space.shape or ()))
        if action.shape != expected:
            raise HarnessError(
                f"the policy returned actions of shape {action.shape}, expected {expected}: "
                f"{expected[0]} lanes of {space}"
            )
        self._check_numbers(action, "the policy's action")
        return action.astype(space.dtype, copy=False)

    def _check_numbers(self, data: Any, what: str) -> None:
        arrays = data if isinstance(data, dict) else {"": data}
        for key, array in arrays.items():
            # A sum is faster than a look at every number, and nan whenever one of them is.
            if array.dtype.kind != "f" or not math.isnan(np.add.reduce(array, axis=None)):
                continue
            bad = [lane for lane in self.active.tolist() if np.isnan(array[lane]).any()]
            if bad:
                where = f"episode {self.episode[bad[0]]}, step {self.metrics.length[bad[0]]}"
                raise HarnessError(f"{what}{f' `{key}`' if key else ''} is not a number (nan) at {where}")
