"""The engine's lanes as a vector environment of Stable-Baselines3."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from brittlestar.engine.evaluation import make_lanes
from brittlestar.engine.lanes import Batch
from brittlestar.engine.stack import Stack
from brittlestar.envs.batches import copy_batch, take_row
from brittlestar.perturbations.context import Calibration
from brittlestar.randomness import Jumper
from brittlestar.training.spec import TrainingSpec

_RECENT = 100


def training_stream(stream: str) -> str:
    """Returns the name of a random stream in training: its noise is independent of an evaluation's with the same seed.

    Example:
        >>> training_stream("perturbation/action"), training_stream("mitigation/action")
        ('training/action', 'training/mitigation/action')
    """
    return f"training/{stream.removeprefix('perturbation/')}"


class LaneVecEnv(VecEnv):
    """Steps lanes together and returns the disturbed observations and rewards.

    The simulators run in another thread after `step_async`. `step_wait` runs the update in `meanwhile`, if there is
    one, before it waits for them. Episodes are numbered in the order of their starts; start states and noise depend on
    the seed and the number alone.

    Example:
        >>> from brittlestar.envs import EnvSpec
        >>> from brittlestar.training.algorithms import Algorithm
        >>> env = LaneVecEnv(TrainingSpec(EnvSpec(id="CartPole-v1"), Algorithm("ppo", envs=2)))
        >>> env.reset().shape
        (2, 4)
        >>> observation, reward, done, infos = env.step(np.array([0, 1]))
        >>> reward.tolist()
        [1.0, 1.0]
        >>> env.close()
    """

    def __init__(self, spec: TrainingSpec, calibrate: Callable[[], Calibration] | None = None) -> None:
        count, needs_model = spec.algo.envs, spec.parts.perturbation.needs_world
        self.lanes = make_lanes(spec.env, count, spec.threads, needs_model=needs_model)
        self._success = spec.env.success
        self._stack = Stack(self.lanes, spec.parts, spec.seed, training_stream)
        self._stack.bind(calibrate=calibrate)
        self._resets = Jumper(spec.seed, "training/reset")
        self._steps, self._episodes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._returns, self._active = np.zeros(count), np.arange(count)
        self.next_episode = 0
        self.meanwhile: Callable[[], None] | None = None
        self.on_actions: Callable[[Any, Any], None] | None = None
        """Called before every step with the true and the returned observation of the actions."""
        self.ended: deque[tuple[float, float]] = deque(maxlen=_RECENT)
        """Return and final success (nan where unknown) of the last episodes."""
        self._thread = ThreadPoolExecutor(1)
        self._running: Future[Batch] | None = None
        super().__init__(count, self._stack.observation_space, self.lanes.action_space)

    def reset(self) -> Any:
        """Starts the next episode in every lane."""
        for lane in range(self.num_envs):
            self._start(lane)
        return self._observe()

    def _start(self, lane: int) -> None:
        if self._stack.worlds:
            self._stack.worlds[lane].restore()
        self._episodes[lane], self._steps[lane], self._returns[lane] = self.next_episode, 0, 0.0
        self.next_episode += 1
        self.lanes.reset(lane, int(self._resets.to(int(self._episodes[lane])).integers(2**53)))

    def step_async(self, actions: np.ndarray) -> None:
        """Starts a step of the simulators."""
        if self.on_actions is not None:
            self.on_actions(self.lanes.observation, self._returned)
        acted = self._stack.act(np.asarray(actions))
        self._running = self._thread.submit(self.lanes.step, acted.executed, self._active)

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Runs the update of the learner, then waits for the simulators; an ended lane starts its next episode."""
        assert self._running is not None
        try:
            if self.meanwhile is not None:
                update, self.meanwhile = self.meanwhile, None
                update()
        finally:
            batch = self._running.result()
        reward = self._stack.reward(batch.reward, batch.observation)
        self._steps += 1
        self._returns += batch.reward
        done = batch.terminated | batch.truncated
        infos = [dict(batch.infos[lane]) for lane in range(self.num_envs)]
        if done.any():
            self._end(np.flatnonzero(done).tolist(), batch, infos)
        return self._observe(), reward.astype(np.float32), done, infos

    def _end(self, ended: list[int], batch: Batch, infos: list[dict[str, Any]]) -> None:
        # The last observation is perturbed like any other, but the state of the perturbation belongs to the next one.
        self._stack.at(self._episodes, self._steps)
        last = self._stack.peek(self.lanes.observation).mitigated
        at_step = self._success.at_step(batch.observation, infos, batch.terminated) if self._success else None
        for lane in ended:
            if self._success is not None:
                success = self._success.at_end(float(self._returns[lane])) if at_step is None else at_step[lane]
                infos[lane]["is_success"] = bool(success)
            infos[lane]["terminal_observation"] = copy_batch(take_row(last, lane))
            infos[lane]["TimeLimit.truncated"] = bool(batch.truncated[lane] and not batch.terminated[lane])
            infos[lane]["episode"] = {"r": float(self._returns[lane]), "l": int(self._steps[lane]), "t": 0.0}
            self.ended.append((float(self._returns[lane]), float(infos[lane].get("is_success", np.nan))))
            self._start(lane)

    def _observe(self) -> Any:
        self._stack.at(self._episodes, self._steps)
        seen = self._stack.observe(self.lanes.observation).mitigated
        self._returned = copy_batch(seen) if seen is self.lanes.observation else seen
        return self._returned

    def recent(self) -> dict[str, float]:
        """Returns mean return and success of the last episodes, without those that are undefined."""
        if not self.ended:
            return {}
        returns, successes = (np.array(values) for values in zip(*self.ended, strict=True))
        rate = {"success": float(np.nanmean(successes))} if not np.isnan(successes).all() else {}
        return {"return": float(returns.mean())} | rate

    def close(self) -> None:
        """Undoes every edit and closes the environments."""
        self._thread.shutdown()
        self._stack.restore()
        self.lanes.close()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the environments; hindsight replay computes rewards of other goals."""
        if method_name == "compute_reward" and self.lanes.compute_reward is not None:
            return [self.lanes.compute_reward(*args, **kwargs)]
        return [getattr(env.unwrapped, method_name)(*args, **kwargs) for env in self._at(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the environments; they are not rendered."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        return [getattr(env.unwrapped, attr_name) for env in self._at(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises an error, because only perturbations edit environments."""
        raise NotImplementedError(f"{attr_name} of the environments is set by perturbations only")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Returns False for every lane; lanes count their episodes without a wrapper."""
        return [False] * self.num_envs

    def _at(self, indices: Any) -> Sequence[Any]:
        envs = getattr(self.lanes, "envs", ())
        return [envs[i] for i in self._get_indices(indices)] if envs else []
