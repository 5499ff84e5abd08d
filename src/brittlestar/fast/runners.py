"""Gymnasium's runners in a plane: HalfCheetah, Hopper, Walker2d."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from brittlestar.fast.base import FastEnv

_CLIPS = {"HalfCheetahEnv": False, "HopperEnv": True, "Walker2dEnv": True}
"""The class names, and whether the observed velocities are clipped; those that clip can fall, too."""


def form(env: Any) -> FastEnv | None:
    """Returns the fast form of a runner, None for anything else."""
    known = type(env).__name__ in _CLIPS and type(env).__module__.endswith("_v5")
    return FastRunner(env) if known else None


class FastRunner(FastEnv):
    """One runner, on array views that are looked up once."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.qpos, self.qvel, self.ctrl = self.data.qpos, self.data.qvel, self.data.ctrl
        self.shown = self.qpos[1:] if env._exclude_current_positions_from_observation else self.qpos
        self.clips = _CLIPS[type(env).__name__]
        self.action, self.before = np.zeros(self.ctrl.shape, dtype=np.float32), self.qpos[0]

    def agrees(self) -> bool:
        env, kind = self.env, mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, state, kind)
        action = np.linspace(-0.9, 0.7, self.model.nu, dtype=np.float32)
        answers = []
        for step in (type(env).step.__get__(env), self.step):
            observation, *rest, info = step(action)
            answers.append([observation.tobytes(), *map(_exactly, rest), {k: _exactly(v) for k, v in info.items()}])
            mujoco.mj_setState(self.model, self.data, state, kind)
        return bool(answers[0] == answers[1])

    def begin(self, action: np.ndarray) -> None:
        if np.shape(action) != self.ctrl.shape:
            raise ValueError(f"Action dimension mismatch. Expected {self.ctrl.shape}, found {np.shape(action)}")
        self.action, self.before = action, self.qpos[0]
        self.ctrl[:] = action

    def simulate(self) -> None:
        mujoco.mj_step(self.model, self.data, nstep=self.env.frame_skip)

    def finish(self) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        env, after = self.env, self.qpos[0]
        velocity = (after - self.before) / (self.model.opt.timestep * env.frame_skip)
        forward = env._forward_reward_weight * velocity
        cost = env._ctrl_cost_weight * np.add.reduce(np.square(self.action))
        info = {"x_position": after, "x_velocity": velocity, "reward_forward": forward, "reward_ctrl": -cost}
        terminated, reward, seen = False, forward - cost, self.qvel
        if self.clips:
            healthy = env.is_healthy
            survive = healthy * env._healthy_reward
            reward, seen = forward + survive - cost, np.clip(seen, -10, 10)
            terminated = (not healthy) and env._terminate_when_unhealthy
            info |= {"z_distance_from_origin": self.qpos[1] - env.init_qpos[1], "reward_survive": survive}
        if env.render_mode == "human":
            env.render()
        return np.concatenate((self.shown, seen)), reward, terminated, False, info


def _exactly(value: Any) -> tuple[type, bytes]:
    return type(value), np.asarray(value).tobytes()
