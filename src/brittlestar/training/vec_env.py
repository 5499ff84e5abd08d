"""The engine's lanes as a vector environment of Stable-Baselines3."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from brittlestar.engine.evaluation import make_lanes
from brittlestar.engine.lanes import Batch, copy_batch
from brittlestar.envs import EnvSpec
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Perturbation, Step, check_parameter
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.randomness import Jumper, LaneDraws
from brittlestar.schedules import Constant, StressSchedule

_RECENT = 100
_STREAMS = ("observation", "action", "reward", "world", "mitigation/observation", "mitigation/action")


class LaneVecEnv(VecEnv):
    """Steps lanes together, perturbed and mitigated as in an evaluation; whoever learns sees the disturbed side.

    The simulators run in threads of their own from `step_async` on; `meanwhile`, if set, is called before they are
    waited for, so that a learner can use the other core. Episodes are numbered as they start; start states and noise
    depend on the seed and the number alone.

    Example:
        >>> env = LaneVecEnv(EnvSpec(id="CartPole-v1"), count=2, seed=0)
        >>> env.reset().shape
        (2, 4)
        >>> observation, reward, done, infos = env.step(np.array([0, 1]))
        >>> reward.tolist()
        [1.0, 1.0]
        >>> env.close()
    """

    def __init__(
        self,
        spec: EnvSpec,
        count: int,
        seed: int = 0,
        perturbation: Perturbation | None = None,
        mitigation: Mitigation | None = None,
        schedule: StressSchedule | None = None,
        threads: int = 1,
        calibrate: Callable[[], Calibration] | None = None,
    ) -> None:
        self.perturbation, self.mitigation = perturbation or Perturbation(), mitigation or Mitigation()
        self.schedule = schedule or Constant()
        self.lanes = make_lanes(spec, count, threads, needs_model=self.perturbation.needs_world)
        self._success = spec.success
        context = Context(compute_reward=self.lanes.compute_reward, default_action=spec.default_action)
        context.sensor_groups = spec.sensor_groups
        if calibrate is not None:
            context.calibrate = calibrate
        self._bind(count, context)
        self._worlds = self.lanes.worlds() if self.perturbation.needs_world else []
        self._seed, self.next_episode = seed, 0
        self.meanwhile: Callable[[], None] | None = None
        self.witness: Callable[[Any, Any], None] | None = None
        self.ended: deque[tuple[float, float]] = deque(maxlen=_RECENT)
        """Return and final success (nan where unknown) of the last episodes."""
        self._other = ThreadPoolExecutor(1)
        self._running: Future[Batch] | None = None
        shown = self.perturbation.observation_space(self.lanes.observation_space)
        super().__init__(count, shown, self.lanes.action_space)

    def _bind(self, count: int, context: Context) -> None:
        spaces_ = self.lanes.observation_space, self.lanes.action_space
        check_parameter(self.perturbation, self.schedule.parameter)
        for part in (self.perturbation, self.mitigation):
            part.bind(*spaces_, count)
            part.prepare(context)
        self._steps, self._episodes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._returns, self._lanes = np.zeros(count), np.arange(count)
        self._draws = {name: LaneDraws(0, name, count) for name in _STREAMS}

    def reset(self) -> Any:
        """Starts an episode in every lane, from the next number on."""
        self._draws = {name: LaneDraws(self._seed, f"training/{name}", self.num_envs) for name in _STREAMS}
        self._resets = Jumper(self._seed, "training/reset")
        for lane in range(self.num_envs):
            self._start(lane)
        self._returned = self._observe()
        return self._returned

    def _start(self, lane: int) -> None:
        if self._worlds:
            self._worlds[lane].restore()
        self._episodes[lane], self._steps[lane], self._returns[lane] = self.next_episode, 0, 0.0
        self.next_episode += 1
        self.lanes.reset(lane, int(self._resets.to(int(self._episodes[lane])).integers(2**53)))

    def step_async(self, actions: np.ndarray) -> None:
        """Sends the actions; the simulators run on."""
        if self.witness is not None:
            self.witness(self.lanes.observation, self._returned)
        mitigated = self.mitigation.mitigate_action(np.asarray(actions), self._step("mitigation/action"))
        sent = self.perturbation.perturb_action(mitigated, self._step("action"))
        if self._worlds and not self.perturbation.is_identity:
            self.perturbation.perturb_world(self._worlds, self._step("world"))
        self._running = self._other.submit(self.lanes.step, sent, self._lanes)

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Lets the learner work, then waits for the simulators; lanes that end start anew."""
        assert self._running is not None
        try:
            if self.meanwhile is not None:
                work, self.meanwhile = self.meanwhile, None
                work()
        finally:
            batch = self._running.result()
        after = self._step("reward")
        after.observation = batch.observation
        reward = self.perturbation.perturb_reward(batch.reward, after)
        self._steps += 1
        self._returns += batch.reward
        done = batch.terminated | batch.truncated
        infos = [dict(batch.infos[lane]) for lane in range(self.num_envs)]
        if done.any():
            self._end(np.flatnonzero(done).tolist(), batch, infos)
        self._returned = self._observe()
        return self._returned, reward.astype(np.float32), done, infos

    def recent(self) -> dict[str, float]:
        """Returns mean return and success of the last episodes, where they are known."""
        if not self.ended:
            return {}
        returns, successes = (np.array(values) for values in zip(*self.ended, strict=True))
        rate = {"success": float(np.nanmean(successes))} if not np.isnan(successes).all() else {}
        return {"return": float(returns.mean())} | rate

    def _end(self, ended: list[int], batch: Batch, infos: list[dict[str, Any]]) -> None:
        # The last observation is disturbed like any other, but what a perturbation remembers belongs to the next.
        kept = copy.deepcopy((self.perturbation, self.mitigation))
        last = self._observe()
        self.perturbation, self.mitigation = kept
        at_step = self._success.at_step(batch.observation, infos, batch.terminated) if self._success else None
        for lane in ended:
            if self._success is not None:
                won = self._success.at_end(float(self._returns[lane])) if at_step is None else at_step[lane]
                infos[lane]["is_success"] = bool(won)
            infos[lane]["terminal_observation"] = _row(last, lane)
            infos[lane]["TimeLimit.truncated"] = bool(batch.truncated[lane] and not batch.terminated[lane])
            infos[lane]["episode"] = {"r": float(self._returns[lane]), "l": int(self._steps[lane]), "t": 0.0}
            self.ended.append((float(self._returns[lane]), float(infos[lane].get("is_success", np.nan))))
            self._start(lane)

    def _observe(self) -> Any:
        seen = copy_batch(self.lanes.observation)
        if not self.perturbation.is_identity:
            seen = self.perturbation.perturb_observation(self.lanes.observation, self._step("observation"))
        return self.mitigation.mitigate_observation(seen, self._step("mitigation/observation"))

    def _step(self, channel: str) -> Step:
        self._draws[channel].at(self._episodes, self._steps)
        level = self.schedule.levels(self._episodes, self._steps)
        return Step(level, self._steps == 0, self._draws[channel], self.schedule.parameter)

    def close(self) -> None:
        """Undoes every edit and closes the environments."""
        self._other.shutdown()
        for world in self._worlds:
            world.restore()
        self.lanes.close()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the environments; hindsight replay asks for rewards of other goals."""
        if method_name == "compute_reward" and self.lanes.compute_reward is not None:
            return [self.lanes.compute_reward(*args, **kwargs)]
        return [getattr(env.unwrapped, method_name)(*args, **kwargs) for env in self._chosen(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the environments; they have no picture to show."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        return [getattr(env.unwrapped, attr_name) for env in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses: environments are edited by perturbations."""
        raise NotImplementedError(f"{attr_name} of the environments is set by perturbations only")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Says that no wrapper is around the lanes; they count episodes themselves."""
        return [False] * self.num_envs

    def _chosen(self, indices: Any) -> Sequence[Any]:
        envs = getattr(self.lanes, "envs", ())
        return [envs[i] for i in self._get_indices(indices)] if envs else []


def _row(observation: Any, lane: int) -> Any:
    if isinstance(observation, dict):
        return {key: array[lane].copy() for key, array in observation.items()}
    return observation[lane].copy()
