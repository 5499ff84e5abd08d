"""Atari games (ale-py), preprocessed as rl-zoo does: skipped frames, small grey pictures, FIRE at the start."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from brittlestar.envs.backends import package_version
from brittlestar.envs.base import EnvSpec
from brittlestar.envs.pictures import grey, shrink
from brittlestar.errors import UserError, require

_INSTALL = "`pip install brittlestar[atari]`"
_ATARI = re.compile(r"ALE/.+|.+NoFrameskip-v\d")
_NOOP, _FIRE, _MOVE = 0, 1, 2


def is_atari(env_id: str) -> bool:
    """Returns whether an id, such as `ALE/Pong-v5` or `PongNoFrameskip-v4`, is that of an Atari game."""
    return _ATARI.fullmatch(env_id) is not None


@dataclass
class AtariSpec(EnvSpec):
    """An Atari game, preprocessed for agents of rl-zoo; the policy stacks the frames.

    Steps, also those of `max_steps`, are decisions of the agent: `frame_skip` frames each.
    """

    noop_max: int = 30
    """Most frames without a command at the start of an episode; the number is drawn from its seed."""
    frame_skip: int = 4
    """Frames per step; the agent sees the maximum of the last two."""
    screen_size: int = 84
    """Height and width of the observation, in pixels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.noop_max >= 0, "env.noop_max", "at least 0", self.noop_max)
        require(self.frame_skip >= 1, "env.frame_skip", "at least 1", self.frame_skip)
        require(self.screen_size >= 1, "env.screen_size", "at least 1", self.screen_size)
        if self.backend == "envpool":
            raise UserError("Atari runs on ale-py: `env.backend` must be auto or gymnasium, got envpool")

    def simulator(self, consecutive: bool = False, needs_model: bool = False) -> dict[str, str]:
        return super().simulator(consecutive, needs_model) | {"ale-py": package_version("ale-py")}

    def register(self) -> None:
        try:
            import ale_py
        except ImportError:
            raise UserError(f"`env.id` {self.id!r} needs ale-py: {_INSTALL}") from None
        # It would print its name and version.
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gym.register_envs(ale_py)

    def make(self, like: gym.Env | None = None) -> gym.Env:
        every_frame = dataclasses.replace(self, max_steps=None, kwargs={"frameskip": 1} | self.kwargs)
        env: gym.Env = AtariFrames(EnvSpec.make(every_frame), self.noop_max, self.frame_skip, self.screen_size)
        return env if self.max_steps is None else gym.wrappers.TimeLimit(env, self.max_steps)


class AtariFrames(gym.Wrapper):
    """Skips frames, returns small grey pictures, and presses FIRE at the start of every life, if the game has it.

    Rewards are those of the game, and a lost life does not end the episode: an evaluation is about whole games.
    """

    def __init__(self, env: gym.Env, noop_max: int, frame_skip: int, screen_size: int) -> None:
        super().__init__(env)
        if not isinstance(env.observation_space, spaces.Box) or len(env.observation_space.shape) != 3:
            raise UserError(f"Atari needs pictures in colour (`obs_type: rgb`), got {env.observation_space}")
        self._noop_max, self.frame_skip, self._size = noop_max, frame_skip, screen_size
        self.observation_space = spaces.Box(0, 255, (screen_size, screen_size, 1), np.uint8)
        self._ale: Any = env.unwrapped.ale  # type: ignore[attr-defined]
        self._fires = "FIRE" in env.unwrapped.get_action_meanings()  # type: ignore[attr-defined]
        self._start: Any = None
        self._lives = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Starts a game: frames without a command, then FIRE."""
        frame, info = self._restart(seed)
        for _ in range(int(self.unwrapped.np_random.integers(1, self._noop_max + 1)) if self._noop_max else 0):
            frame, _, terminated, truncated, info = self.env.step(_NOOP)
            if terminated or truncated:
                frame, info = self._restart(seed)
        for action in (_FIRE, _MOVE) if self._fires else ():
            frame, _, over, cut, info = self._skip(action)
            if over or cut:
                frame, info = self._restart(seed)
        self._lives = self._ale.lives()
        return self._look(frame), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Repeats an action; a new life starts with FIRE, too."""
        frame, reward, terminated, truncated, info = self._skip(int(action))
        lives = self._ale.lives()
        if self._fires and 0 < lives < self._lives:
            for start in (_NOOP, _FIRE, _MOVE):
                if not (terminated or truncated):
                    frame, start_reward, terminated, truncated, info = self._skip(start)
                    reward += start_reward
        self._lives = self._ale.lives()
        return self._look(frame), reward, terminated, truncated, info

    def _restart(self, seed: int | None) -> tuple[np.ndarray, dict]:
        if seed is None or self._start is None:
            result = self.env.reset(seed=seed)
            # A game without chance has one start, and reading the cartridge again takes most of the time of a reset.
            if self._ale.getFloat("repeat_action_probability") == 0:
                self._start = self._ale.cloneSystemState()
            return result
        self.unwrapped.seed_game(seed)  # type: ignore[attr-defined]
        self._ale.restoreSystemState(self._start)
        return self._ale.getScreenRGB(), {"lives": self._ale.lives()}

    def _skip(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        frames, total = [], 0.0
        for _ in range(self.frame_skip):
            frame, reward, terminated, truncated, info = self.env.step(action)
            frames.append(frame)
            total += float(reward)
            if terminated or truncated:
                break
        return np.max(frames[-2:], axis=0), total, terminated, truncated, info

    def _look(self, frame: np.ndarray) -> np.ndarray:
        return shrink(grey(frame), self._size)[:, :, None]
