"""The Fetch environments of gymnasium-robotics."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from brittlestar.fast.base import FastEnv

_PACKAGE = "gymnasium_robotics.envs.fetch."
_ROTATION = np.array([1.0, 0.0, 1.0, 0.0])
_EPS4 = np.finfo(np.float64).eps * 4.0
_FINGERS = {"robot0:r_gripper_finger_joint", "robot0:l_gripper_finger_joint"}
_PROBE = np.array([0.3, -0.7, 0.5, 0.9], dtype=np.float32)


def form(env: Any) -> FastEnv | None:
    """Returns the fast form of a Fetch environment, None for anything else."""
    return FastFetch(env) if _is_fetch(env) else None


def _is_fetch(env: Any) -> bool:
    if not hasattr(env, "_mujoco"):
        return False
    one_weld = (env.model.nmocap, *env.model.eq_type) == (1, env._mujoco.mjtEq.mjEQ_WELD)
    return one_weld and env.model.nu in (0, 2) and set(_robot_joints(env)[-2:]) == _FINGERS


def _robot_joints(env: Any) -> list[str]:
    return [name for name in env._model_names.joint_names if name.startswith("robot")]


class FastFetch(FastEnv):
    """One Fetch environment, on ids and array views that are looked up once instead of by name."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._find_addresses()
        data, welded = self.data, self.welded
        self.qpos, self.qvel, self.ctrl = data.qpos, data.qvel, data.ctrl
        self.xpos, self.xquat = data.xpos[welded], data.xquat[welded]
        self.mocap_pos, self.mocap_quat = data.mocap_pos[0], data.mocap_quat[0]
        self.grip_pos = data.site_xpos[self.grip]
        self.jacobian = np.zeros((3, self.model.nv))
        if env.has_object:
            self.object_pos = data.site_xpos[self.block]
            self.object_mat = data.site_xmat[self.block].reshape(3, 3)

    def _find_addresses(self) -> None:
        model, names = self.model, self.env._model_names
        first, second = model.eq_obj1id[0], model.eq_obj2id[0]
        self.welded = second if model.body_mocapid[first] != -1 else first
        self.grip, self.block = names.site_name2id["robot0:grip"], names.site_name2id.get("object0")
        fingers = [names.joint_name2id[name] for name in _robot_joints(self.env)[-2:]]
        self.finger_qpos, self.finger_qvel = model.jnt_qposadr[fingers], model.jnt_dofadr[fingers]
        self.driven_qpos = model.jnt_qposadr[model.actuator_trnid[:, 0]]

    def agrees(self) -> bool:
        env, plain = self.env, type(self.env)
        want = [*plain._get_obs(env).values(), *self._effect_of(lambda: plain._set_action(env, _PROBE))]
        have = [*self._get_obs().values(), *self._effect_of(lambda: self._set_action(_PROBE))]
        return all(np.array_equal(a, b) for a, b in zip(want, have, strict=True))

    def _effect_of(self, act: Callable[[], None]) -> list[np.ndarray]:
        written = (self.ctrl, self.mocap_pos, self.mocap_quat)
        before = [array.copy() for array in written]
        act()
        after = [array.copy() for array in written]
        for array, kept in zip(written, before, strict=True):
            array[:] = kept
        return after

    def install(self) -> None:
        super().install()
        self.env._get_obs = self._get_obs

    def begin(self, action: np.ndarray) -> None:
        space = self.env.action_space
        if np.shape(action) != space.shape:
            raise ValueError("Action dimension mismatch")
        self._set_action(np.minimum(np.maximum(action, space.low), space.high))

    def simulate(self) -> None:
        env = self.env
        env._mujoco.mj_step(self.model, self.data, nstep=env.n_substeps)
        if env.block_gripper:
            self.qpos[self.finger_qpos] = 0.0
            # All that the observation needs of `mj_forward`, which would look for collisions, too.
            env._mujoco.mj_kinematics(self.model, self.data)
            env._mujoco.mj_comPos(self.model, self.data)

    def finish(self) -> tuple[dict[str, np.ndarray], Any, bool, bool, dict[str, Any]]:
        if self.env.render_mode == "human":
            self.env.render()
        observation = self._get_obs()
        reward, success = self._judge(observation["achieved_goal"])
        return observation, reward, False, False, {"is_success": success}

    def _set_action(self, action: np.ndarray) -> None:
        if self.model.nu:
            grip = 0.0 if self.env.block_gripper else np.float64(action[3])
            relative = self.model.actuator_biastype != 0
            self.ctrl[:] = np.where(relative, self.qpos[self.driven_qpos] + grip, grip)
        self.mocap_pos[:] = self.xpos + action[:3] * 0.05
        self.mocap_quat[:] = self.xquat + _ROTATION

    def _get_obs(self) -> dict[str, np.ndarray]:
        dt = self.env.n_substeps * self.model.opt.timestep
        grip_velp = self._velocity(self.grip) * dt
        parts = [self.grip_pos, self.qpos[self.finger_qpos], grip_velp, self.qvel[self.finger_qvel] * dt]
        achieved = self.grip_pos
        if self.env.has_object:
            achieved = self.object_pos
            parts[1:1] = [achieved, achieved - self.grip_pos]
            velp = self._velocity(self.block) * dt - grip_velp
            velr = self._velocity(self.block, rotational=True) * dt
            parts[4:4] = [_euler(self.object_mat), velp, velr]
        goals = {"achieved_goal": achieved.copy(), "desired_goal": self.env.goal.copy()}
        return {"observation": np.concatenate(parts), **goals}

    def _velocity(self, site: int, rotational: bool = False) -> np.ndarray:
        linear, angular = (None, self.jacobian) if rotational else (self.jacobian, None)
        self.env._mujoco.mj_jacSite(self.model, self.data, linear, angular, site)
        return np.asarray(self.jacobian @ self.qvel)

    def _judge(self, achieved: np.ndarray) -> tuple[Any, Any]:
        gap = achieved - self.env.goal
        # Adds in the order of `np.linalg.norm` with an axis, which is not the order of a dot product.
        distance = np.sqrt(np.add.reduce(gap * gap))
        success = (distance < self.env.distance_threshold).astype(np.float32)
        if self.env.reward_type == "sparse":
            return -(distance > self.env.distance_threshold).astype(np.float32), success
        return -distance, success


def _euler(mat: np.ndarray) -> np.ndarray:
    (xx, xy, xz), (_, _, yz), (_, _, zz) = mat
    cy = np.sqrt(zz * zz + yz * yz)
    if not cy > _EPS4:
        return np.asarray(sys.modules[f"{_PACKAGE}fetch_env"].rotations.mat2euler(mat))
    return np.array([-np.arctan2(yz, zz), -np.arctan2(-xz, cy), -np.arctan2(xy, xx)])
