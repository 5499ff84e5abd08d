"""A vector environment whose observations contain past actions."""

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from brittlestar.checkpoints.spaces_text import describe_space
from brittlestar.errors import UserError
from brittlestar.policies.past_actions import forget, no_actions, remember, with_past_actions


class ActionMemory(VecEnvWrapper):
    """Adds the last action, and the sum of all actions of the episode, as `RememberingPolicy` does in an evaluation."""

    def __init__(self, venv: VecEnv, summed: bool = False) -> None:
        actions = venv.action_space
        if not isinstance(actions, spaces.Box):
            raise UserError(f"`algo.past_actions` needs continuous actions, got {describe_space(actions)}")
        super().__init__(venv, observation_space=with_past_actions(venv.observation_space, actions, summed))
        self._start = no_actions(venv.num_envs, actions, summed)
        self._memory = self._start

    def reset(self) -> Any:
        """Starts all episodes."""
        self._memory = self._start
        return self._with_actions(self.venv.reset())

    def step_async(self, actions: np.ndarray) -> None:
        """Takes the actions."""
        self._memory = remember(self._memory, actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Returns what followed; an episode that starts has no past actions."""
        observation, reward, done, infos = self.venv.step_wait()
        for lane in np.flatnonzero(done):
            last = infos[lane].get("terminal_observation")
            if last is not None:
                actions = {key: values[lane].copy() for key, values in self._memory.items()}
                infos[lane]["terminal_observation"] = last | actions
        self._memory = forget(self._memory, done)
        return self._with_actions(observation), reward, done, infos

    def _with_actions(self, observation: Any) -> Any:
        parts = observation | {key: values.copy() for key, values in self._memory.items()}
        return {key: parts[key] for key in self.observation_space.spaces}  # type: ignore[attr-defined]
