"""The model of DAgger: it acts, asks an expert what to do in the states it visits, and learns the answers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from brittlestar.policies.base import Policy
from brittlestar.randomness import Jumper, LaneDraws
from brittlestar.training.imitating_model import ImitatingModel
from brittlestar.training.lessons import Lessons

_MEMORY = 0.99
"""How much of the mean squared error of the last step remains in the running mean."""


class DaggerModel(ImitatingModel):
    """Learns the actions of an expert on what the learner itself sees; `num_timesteps` counts steps.

    The expert sees the true state, the learner what a policy would see, with the perturbation of the training. After
    the updates, the standard deviation is set to that of the learner's errors in the last steps.
    """

    def learn_from(self, expert: Policy, lessons: Lessons, settings: Any, seed: int) -> None:
        """Takes the expert and the memory; must be called before `learn`.

        Args:
            expert: sees the states of all environments.
            lessons: rows to learn from.
            settings: the `Dagger`.
            seed: of batches, augmentations and noise.
        """
        assert self.env is not None
        innermost: Any = self.env.unwrapped
        self._lanes, lanes = innermost, innermost.lanes
        self._expert, self.replay_buffer, self._settings = expert, lessons, settings
        self._expert_draws = LaneDraws(seed, "dagger/expert", lanes.count)
        expert.bind(lanes.state_space, lanes.action_space, self._expert_draws)
        self._batches, self._noise = Jumper(seed, "dagger/batch"), Jumper(seed, "dagger/noise")
        self._squares: np.ndarray | None = None

    def learn(self, total_timesteps: int, callback: Any = None, *_: Any, **options: Any) -> DaggerModel:
        """Steps the environments until the callback returns False, or the number of steps is reached."""
        options.pop("progress_bar", None)
        last, calls = self._setup_learn(total_timesteps, callback, **options)
        calls.on_training_start(locals(), globals())
        assert self.env is not None
        state: Any = None
        first: Any = np.ones(self.n_envs, dtype=bool)
        while self.num_timesteps < last:
            # The expert may draw numbers, another one in each step.
            self._expert_draws.at(np.arange(self.n_envs), np.full(self.n_envs, self.num_timesteps))
            advice, state = self._expert.predict(self._lanes.lanes.observation, state, first, True)
            advice = np.asarray(advice)
            self.replay_buffer.add(self._last_obs, advice)
            actions = self._act(advice)
            self._expert.note_actions(actions, state)
            self._lanes.meanwhile = self._study
            self._last_obs, _, first, _ = self.env.step(actions)  # type: ignore[assignment]
            self.num_timesteps += self.n_envs
            if not calls.on_step():
                break
        calls.on_training_end()
        return self

    def _act(self, advice: np.ndarray) -> np.ndarray:
        """Returns the actions to take: the expert's at first, then the learner's."""
        own, _ = self.policy.predict(self._last_obs, deterministic=True)  # type: ignore[arg-type]
        if isinstance(self.action_space, spaces.Box):
            squares = ((own - advice) ** 2).mean(axis=0)
            self._squares = squares if self._squares is None else _MEMORY * self._squares + (1 - _MEMORY) * squares
        if self._settings.start is None and self.num_timesteps < self._settings.guided:
            return advice
        if self._settings.noise and isinstance(self.action_space, spaces.Box):
            noise = self._noise.to(self.num_timesteps).standard_normal(own.shape)
            low, high = self.action_space.low, self.action_space.high
            own = np.clip(own + self._settings.noise * noise, low, high).astype(own.dtype)
        return own

    def _study(self) -> None:
        """Makes the updates of one step, while the simulators run."""
        settings, lessons = self._settings, self.replay_buffer
        for number in range(settings.lessons):
            generator = self._batches.to(self.num_timesteps * settings.lessons + number)
            seen, advice = lessons.pick(generator.integers(len(lessons), size=settings.batch))
            parts = seen if isinstance(seen, dict) else {"": seen}
            rows: Any = {key: torch.as_tensor(part) for key, part in parts.items()}
            rows = settings.augment(rows if isinstance(seen, dict) else rows[""], generator)
            loss = self._improve(rows, self._as_targets(advice), self.num_timesteps / settings.steps)
            self.logger.record("train/loss", loss)

    @property
    def expert_gap(self) -> float:
        """Root mean square of the differences between learner and expert in the last steps; nan for choices."""
        return math.nan if self._squares is None else float(np.sqrt(self._squares.mean()))

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Sets the standard deviation of the actions, and writes the file."""
        if self._squares is not None:
            self._set_spread(torch.as_tensor(self._squares, dtype=torch.float32))
        super().save(*args, **kwargs)

    def save_replay_buffer(self, path: Any) -> None:
        """Writes the lessons into the folder of the training, and their number into a checkpoint."""
        self.replay_buffer.save()
        Path(path).write_text(str(self.replay_buffer.total))

    def load_replay_buffer(self, path: Any, *_: Any) -> None:
        """Reads the lessons that a checkpoint counts."""
        self.replay_buffer.load(int(Path(path).read_text()))

    def _excluded_save_params(self) -> list[str]:
        own = ["_lanes", "_expert", "_expert_draws", "replay_buffer", "_settings", "_batches", "_noise", "_squares"]
        return [*super()._excluded_save_params(), *own]
