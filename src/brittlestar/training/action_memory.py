"""A vector environment whose observations contain the action before them."""

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from brittlestar.checkpoints.spaces_text import describe_space
from brittlestar.errors import UserError
from brittlestar.policies.past_actions import LAST_ACTION, with_last_action


class ActionMemory(VecEnvWrapper):
    """Adds the entry `LAST_ACTION`, as `RememberingPolicy` does in an evaluation."""

    def __init__(self, venv: VecEnv) -> None:
        if not isinstance(venv.action_space, spaces.Box):
            raise UserError(f"`algo.past_actions` needs continuous actions, got {describe_space(venv.action_space)}")
        space = with_last_action(venv.observation_space, venv.action_space)
        super().__init__(venv, observation_space=space)
        self._actions = np.zeros((venv.num_envs, *venv.action_space.shape), venv.action_space.dtype)

    def reset(self) -> Any:
        """Starts all episodes."""
        self._actions = np.zeros_like(self._actions)
        return self._with_actions(self.venv.reset())

    def step_async(self, actions: np.ndarray) -> None:
        """Takes the actions."""
        self._actions = np.array(actions, self._actions.dtype)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Returns what followed; an episode that starts has no last action."""
        observation, reward, done, infos = self.venv.step_wait()
        for lane in np.flatnonzero(done):
            last = infos[lane].get("terminal_observation")
            if last is not None:
                infos[lane]["terminal_observation"] = last | {LAST_ACTION: self._actions[lane].copy()}
        self._actions[done] = 0
        return self._with_actions(observation), reward, done, infos

    def _with_actions(self, observation: Any) -> Any:
        parts = observation | {LAST_ACTION: self._actions.copy()}
        return {key: parts[key] for key in self.observation_space.spaces}  # type: ignore[attr-defined]
