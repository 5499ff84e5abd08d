"""Runs N episodes in L lanes, with one batched policy call per step."""

import copy
import functools
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from brittlestar.engine.behaviour import Layout
from brittlestar.engine.behaviour_recorder import BehaviourRecorder
from brittlestar.engine.calibration import CALIBRATION_EPISODES, REFERENCE_EPISODES, NoiseRecorder, ObservationRecorder
from brittlestar.engine.delivery import BOOKKEEPING, EffectLog
from brittlestar.engine.envpool_lanes import PoolLanes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.metrics import COLUMNS, EpisodeMetrics
from brittlestar.engine.plan import Plan, Rows
from brittlestar.engine.reward_recorder import RewardRecorder
from brittlestar.engine.stack import Observed, Parts, Stack
from brittlestar.engine.watcher import Watcher
from brittlestar.envs.batches import entries
from brittlestar.errors import HarnessError
from brittlestar.perturbations.context import Calibration
from brittlestar.policies.global_generators import global_states, used_generators
from brittlestar.randomness import SequentialDraws, reset_seeds

_CALIBRATION_SEED = 2**62
"""Seed of the calibration pass: no other pass has its start states."""


def rollout(
    lanes: Lanes | PoolLanes,
    parts: Parts,
    plan: Plan,
    on_episode: Callable[[int], None] = lambda done: None,
    calibration: Calibration | None = None,
    watcher: Watcher | None = None,
) -> Rows:
    """Runs the planned episodes in open lanes, and returns one row per episode, in order; see `run_episodes`.

    Whether code of the user draws from a global random generator is known only afterwards. A policy that does so, or
    that imported torch for it, runs again with seeds. For anything else there is a note.
    """
    before = global_states()
    rows = _Run(lanes, parts, plan, calibration, watcher).rows(on_episode)
    used = used_generators(before)
    assert parts.policy is not None
    if used and (parts.policy.seed_global_draws() or any(name not in before for name in used)):
        before = global_states()
        rows = _Run(lanes, parts, plan, calibration, watcher).rows(on_episode)
        used = used_generators(before)
    if used:
        where = " and ".join(f"`{name}`" for name in used)
        depends = "so the results depend on `lanes`: give it one of its own"
        rows.notes.append(f"a part of the cell draws from the global generator of {where}, {depends}")
    return rows


class _Run:
    """State of one rollout: the episode and step of each lane."""

    def __init__(
        self, lanes: Lanes | PoolLanes, parts: Parts, plan: Plan, calibration: Calibration | None, watcher: Any = None
    ) -> None:
        self.lanes, self.parts, self.plan, self.calibration = lanes, parts, plan, calibration
        self.watcher = watcher
        count, seed = lanes.count, plan.seed
        self.stack = Stack(lanes, parts, seed)
        if plan.consecutive and lanes.max_steps:
            # A plain loop perturbs the observation after reset and after every step, and every action.
            for stream, extra in (("perturbation/observation", 1), ("perturbation/action", 0)):
                self.stack.draws[stream] = SequentialDraws(seed, stream, count, lanes.max_steps + extra)
        if plan.divergence:
            self.stack.draw_nominal()
        self.metrics = EpisodeMetrics(lanes.spec, count, lanes.action_space, lanes.step_seconds)
        self.episode = np.zeros(count, dtype=np.int64)
        self.idle = np.zeros(count, dtype=bool)
        self.active = np.arange(count)
        self.queue: deque[int] = deque()
        self.reset_seeds = reset_seeds(seed, plan.episodes, plan.consecutive)
        self.policy_state: Any = None
        self.values = np.full((plan.episodes, len(COLUMNS)), np.nan)
        self.effects = EffectLog(plan.episodes, count)
        self.rewards = RewardRecorder(plan.episodes, count, lanes.max_steps)
        self.recorder = self._recorder() if plan.record else None
        self.phase_names = [parts.schedule.phase(episode) for episode in range(plan.episodes)]
        self.phases = list(dict.fromkeys(self.phase_names))

    def rows(self, on_episode: Callable[[int], None]) -> Rows:
        """Runs until every episode has ended."""
        self.stack.bind(
            self.plan.episodes,
            calibrate=self._calibrate,
            calibrate_longer=functools.partial(self._calibrate, REFERENCE_EPISODES),
            measure_noise=self._measure_noise,
        )
        try:
            self._roll(list(range(self.plan.episodes) if self.plan.only is None else self.plan.only), on_episode)
            if self.plan.only is None:
                self._rerun()
        finally:
            self.stack.restore()
        self.metrics.finish(self.values)
        rows = Rows(self.values, self.phases, self.effects.means)
        if self.plan.only is not None:
            return rows
        lengths, phases = (rows.column(name).astype(np.int64) for name in ("length", "phase"))
        rows.rewards = self.rewards.summary(lengths, rows.column("return"), phases)
        if self.recorder:
            rows.behaviour, rows.trajectories = self.recorder.behaviour, self.recorder.trajectories()
        return rows

    def _roll(self, episodes: list[int], on_episode: Callable[[int], None]) -> None:
        self.queue = deque(episodes)
        self.lanes.plan([self.reset_seeds[episode] for episode in episodes])
        self.idle[:] = False
        for lane in range(self.lanes.count):
            self._start(lane)
        self.active = np.flatnonzero(~self.idle)
        done = 0
        while len(self.active):
            for _ in range(self._advance()):
                done += 1
                on_episode(done)

    def _rerun(self) -> None:
        """Runs episodes again that started in a state other than the one that the episode before them left."""
        wrong, window = self.parts.perturbation.episodes_to_rerun(self.plan.episodes), self.plan.episodes
        while wrong:
            batch = wrong[:window]
            self._roll(batch, lambda done: None)
            wrong = self.parts.perturbation.episodes_to_rerun(self.plan.episodes)
            # An episode that runs too early runs again: try at most twice as many as are right now.
            window = 2 * max(1, sum(episode < wrong[0] for episode in batch)) if wrong else 0

    def _recorder(self) -> BehaviourRecorder:
        layout, whole = Layout.of(self.lanes.action_space), self.plan.record == "trajectories"
        return BehaviourRecorder(layout, self.plan.episodes, self.lanes.count, whole)

    def _calibrate(self, episodes: int = CALIBRATION_EPISODES) -> Calibration:
        if self.calibration is not None:
            return self.calibration
        cache = self.lanes.calibrations
        key = (id(self.parts.policy), self.plan.deterministic, episodes)
        if key not in cache:
            recorder = ObservationRecorder(episodes)
            plan = Plan(episodes, _CALIBRATION_SEED, deterministic=self.plan.deterministic)
            rollout(self.lanes, Parts(self.parts.policy, recorder), plan)
            # The policy is stored too, so that no other policy can get its id.
            cache[key] = recorder.result(), self.parts.policy
        return cache[key][0]

    def _measure_noise(self) -> dict[str, np.ndarray]:
        recorder = NoiseRecorder(self.parts.perturbation)
        plan = Plan(CALIBRATION_EPISODES, _CALIBRATION_SEED, deterministic=self.plan.deterministic)
        rollout(self.lanes, Parts(self.parts.policy, recorder), plan, calibration=self.calibration)
        # The pass has left its own episodes in it.
        self.stack.bind_part(self.parts.perturbation)
        return recorder.result()

    def _start(self, lane: int) -> None:
        if self.stack.worlds:
            self.stack.worlds[lane].restore()
        if not self.queue:
            # One behind the last: nothing that is stored by episode confuses it with a real one.
            self.idle[lane], self.episode[lane] = True, self.plan.episodes
            self.rewards.begin(lane, self.plan.episodes)
            return
        self.episode[lane] = self.queue.popleft()
        self.lanes.reset(lane, self.reset_seeds[self.episode[lane]])
        self.metrics.begin(lane, self.lanes.observation)
        self.effects.begin(lane)
        self.rewards.begin(lane, self.episode[lane])
        if self.recorder:
            self.recorder.begin(lane)

    def _advance(self) -> int:
        stack, metrics = self.stack, self.metrics
        stack.at(self.episode, metrics.length)
        observed = stack.observe(self.lanes.observation, self.active)
        metrics.observe(self.lanes.observation, observed)
        if observed.mitigated is not observed.true:
            # Only after the mitigation, which may fill what the perturbation took away.
            self._check_numbers(observed.mitigated, "the perturbed observation")
        acted = stack.act(self._command(observed), self.active)
        metrics.act(acted)
        if self.watcher is not None:
            self.watcher.before(stack, observed, acted, self.episode)
        batch = self.lanes.step(acted.executed, self.active)
        self._check_numbers(batch.observation, "the environment's observation")
        seen_reward = stack.reward(batch.reward, batch.observation)
        metrics.update(batch, seen_reward)
        if self.watcher is not None:
            self.watcher.after(batch)
        self.rewards.update(metrics.length, metrics.cumulative_reward)
        if self.recorder:
            self.recorder.update(acted.commanded, batch.reward, seen_reward)
            self.recorder.account(*(stack.effects.get(name, 0.0) for name in BOOKKEEPING))
        self.effects.add_step(stack.effects)
        ended = self.active[(batch.terminated | batch.truncated)[self.active]]
        for lane in ended.tolist():
            self._end(lane, metrics.row(lane, batch))
        for lane in ended.tolist():
            self._start(lane)
        if len(ended):
            self.active = np.flatnonzero(~self.idle)
        # A lane without an episode remains at step 0, so that no policy sees it go on.
        metrics.length[self.idle] = 0
        return len(ended)

    def _end(self, lane: int, row: dict[str, float]) -> None:
        episode = int(self.episode[lane])
        self.effects.end(lane, episode, int(row["length"]))
        if self.recorder:
            self.recorder.keep(lane, episode)
        row["episode"], row["phase"] = episode, self.phases.index(self.phase_names[episode])
        row["reset_seed"] = self.reset_seeds[episode]
        if self.stack.worlds and self.stack.worlds[lane].retimed:
            # Steps did not last as long as the environment's step time.
            row.pop("cycle_time", None)
        self.values[episode] = [row.get(name, np.nan) for name in COLUMNS]

    def _command(self, observed: Observed) -> np.ndarray:
        seen, true, clean = observed.mitigated, observed.true, None
        true = true if self.stack.nominal is None else self.stack.nominal
        if self.plan.divergence and seen is not true:
            # A policy of the user may change the state that it gets.
            clean = self._ask(true, copy.deepcopy(self.policy_state))[0].copy()
        commanded, self.policy_state = self._ask(seen, self.policy_state)
        if self.plan.divergence:
            self.metrics.compare(commanded, commanded if clean is None else clean)
        return commanded

    def _ask(self, observation: Any, state: Any) -> tuple[np.ndarray, Any]:
        masks = {"action_masks": self.lanes.masks(self.active)} if self.stack.policy.wants_masks else {}
        action, state = self.stack.ask(observation, state, self.plan.deterministic, **masks)
        return self.stack.command(action, self.active), state

    def _check_numbers(self, data: Any, what: str) -> None:
        for key, array in entries(data).items():
            # A sum is faster than a test of every number, and nan if one of them is.
            if array.dtype.kind != "f" or not math.isnan(np.add.reduce(array, axis=None)):
                continue
            bad = [lane for lane in self.active.tolist() if np.isnan(array[lane]).any()]
            if bad:
                where = f"episode {self.episode[bad[0]]}, step {self.metrics.length[bad[0]]}"
                raise HarnessError(f"{what}{f' `{key}`' if key else ''} is not a number (nan) at {where}")
