"""Gymnasium's runners in a plane: HalfCheetah, Hopper, Walker2d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from brittlestar.fast.base import Answers, FastEnv

_CLIPS = {"HalfCheetahEnv": False, "HopperEnv": True, "Walker2dEnv": True}
"""The class names, and whether the observed velocities are clipped; those that clip can fall, too."""


def form(env: Any) -> FastEnv | None:
    """Returns the fast form of a runner, None for anything else."""
    known = type(env).__name__ in _CLIPS and type(env).__module__.endswith("_v5") and env.render_mode != "human"
    return FastRunner(env) if known else None


class FastRunner(FastEnv):
    """One runner, on array views that are looked up once."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.qpos, self.qvel, self.ctrl = self.data.qpos, self.data.qvel, self.data.ctrl
        self.shown = self.qpos[1:] if env._exclude_current_positions_from_observation else self.qpos
        self.clips = _CLIPS[type(env).__name__]
        self.before = self.qpos[0]

    def agrees(self) -> bool:
        """Compares a step with the environment's own, and takes both back."""
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

    def begin(self, forms: Sequence[FastRunner], actions: np.ndarray) -> None:
        """Sets the motors."""
        self.actions = actions
        for form, action in zip(forms, actions, strict=True):
            form.before = form.qpos[0]
            form.ctrl[:] = action

    def simulate(self) -> None:
        """Steps."""
        mujoco.mj_step(self.model, self.data, nstep=self.env.frame_skip)

    def finish(self, forms: Sequence[FastRunner]) -> Answers:
        """Observes, and rewards the distance run."""
        env, positions = self.env, len(self.shown)
        observation = np.empty((len(forms), positions + len(self.qvel)))
        for row, form in zip(observation, forms, strict=True):
            row[:positions], row[positions:] = form.shown, form.qvel
        after = np.array([form.qpos[0] for form in forms])
        elapsed = np.array([form.model.opt.timestep * env.frame_skip for form in forms])
        velocity = (after - np.array([form.before for form in forms])) / elapsed
        forward = env._forward_reward_weight * velocity
        cost = env._ctrl_cost_weight * np.add.reduce(np.square(self.actions), axis=1)
        columns = {"x_position": after, "x_velocity": velocity, "reward_forward": forward, "reward_ctrl": -cost}
        infos = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if not self.clips:
            return Answers(observation, forward - cost, np.zeros(len(forms), dtype=bool), infos)
        np.clip(observation[:, positions:], -10, 10, out=observation[:, positions:])
        healthy = [form.env.is_healthy for form in forms]
        survive = [is_healthy * env._healthy_reward for is_healthy in healthy]
        for form, info, lasting in zip(forms, infos, survive, strict=True):
            info |= {"z_distance_from_origin": form.qpos[1] - env.init_qpos[1], "reward_survive": lasting}
        fell = ~np.array(healthy, dtype=bool) & env._terminate_when_unhealthy
        return Answers(observation, forward + np.array(survive) - cost, fell, infos)


def _exactly(value: Any) -> tuple[type, bytes]:
    return type(value), np.asarray(value).tobytes()
