"""Gymnasium's runners in a plane: HalfCheetah, Hopper, Walker2d."""

from typing import Any

import mujoco
import numpy as np

from brittlestar.envs.fast.base import FastEnv, StepResults
from brittlestar.envs.fast.lane_group import LaneGroup

_CLIPS = {"HalfCheetahEnv": False, "HopperEnv": True, "Walker2dEnv": True}
"""Class name to whether the observed velocities are clipped; those that clip can fall, too."""


def fast_runner(env: Any) -> FastEnv | None:
    """Returns the faster runner, None for any other environment."""
    is_runner = type(env).__name__ in _CLIPS and type(env).__module__.endswith("_v5") and env.render_mode != "human"
    return FastRunner(env) if is_runner else None


class FastRunner(FastEnv):
    """One runner, with array views that are looked up once."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.qpos, self.qvel, self.ctrl = self.data.qpos, self.data.qvel, self.data.ctrl
        self.observed = self.qpos[1:] if env._exclude_current_positions_from_observation else self.qpos
        self.clips = _CLIPS[type(env).__name__]
        self.before, self.substeps = self.qpos[:1], [env.frame_skip]

    def agrees(self) -> bool:
        """Compares a step with the environment's own, and undoes both."""
        env, kind = self.env, mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, state, kind)
        action = np.linspace(-0.9, 0.7, self.model.nu, dtype=np.float32)
        results, flags = [], self.model.opt.disableflags
        for step, flag in ((type(env).step.__get__(env), 0), (self.step, self.no_islands)):
            self.model.opt.disableflags = flags | flag
            try:
                observation, *scalars, info = step(action)
            finally:
                mujoco.mj_setState(self.model, self.data, state, kind)
                self.model.opt.disableflags = flags
            results.append([observation.tobytes(), *map(_exactly, scalars), {k: _exactly(v) for k, v in info.items()}])
        return bool(results[0] == results[1])

    def install(self) -> None:
        super().install()
        # The search takes a tenth of a step.
        self.model.opt.disableflags |= self.no_islands

    def begin(self, group: LaneGroup, actions: np.ndarray) -> None:
        self.actions = actions
        self.before = group.rows("qpos")[:, 0]
        for ctrl, action in zip(group.every("ctrl"), actions, strict=True):
            ctrl[:] = action

    def simulate(self, group: LaneGroup) -> None:
        step, targets, self.substeps = mujoco.mj_step, group.targets, group.substeps("frame_skip")
        for (model, data, numbers), substeps in zip(group.turns, self.substeps, strict=True):
            for target, values in zip(targets, numbers, strict=False):
                target[:] = values
            step(model, data, substeps)

    def finish(self, group: LaneGroup) -> StepResults:
        env, positions = self.env, group.rows("qpos")
        after = positions[:, 0].copy()
        hidden = positions.shape[1] - len(self.observed)
        observation = np.concatenate([positions[:, hidden:], group.rows("qvel")], axis=1)
        velocity = (after - self.before) / (group.timesteps() * self.substeps)
        forward = env._forward_reward_weight * velocity
        cost = env._ctrl_cost_weight * np.add.reduce(np.square(self.actions), axis=1)
        infos = {"x_position": after, "x_velocity": velocity, "reward_forward": forward, "reward_ctrl": -cost}
        if not self.clips:
            return StepResults(observation, forward - cost, np.zeros(len(after), dtype=bool), infos)
        velocities = observation[:, len(self.observed) :]
        np.clip(velocities, -10, 10, out=velocities)
        healthy = [fast.env.is_healthy for fast in group.members]
        survive = [is_healthy * env._healthy_reward for is_healthy in healthy]
        infos |= {"z_distance_from_origin": positions[:, 1] - env.init_qpos[1], "reward_survive": survive}
        fell = ~np.array(healthy, dtype=bool) & env._terminate_when_unhealthy
        return StepResults(observation, forward + np.array(survive) - cost, fell, infos)


def _exactly(value: Any) -> tuple[type, bytes]:
    return type(value), np.asarray(value).tobytes()
