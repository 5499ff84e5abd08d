"""The model of behaviour cloning: the network of PPO with supervised updates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecNormalize

from brittlestar.randomness import Jumper
from brittlestar.training.imitating_model import ImitatingModel, pick
from brittlestar.training.recordings import RecordedEpisode, Recording

_HELD_OUT = 0.1
_ROWS = 4096


class ClonedModel(ImitatingModel):
    """Learns the actions of recorded episodes; `num_timesteps` counts updates.

    After the updates, the standard deviation is set to that of the errors in the episodes that were held out. The batch
    of an update depends on the seed and the number of the update alone, so a training that was stopped ends with the
    same network as one that was not.
    """

    def learn_from(self, recording: Recording, batch: int, steps: int, seed: int) -> None:
        """Takes the episodes; must be called before `learn`.

        Args:
            recording: the episodes.
            batch: steps of episodes in an update.
            steps: updates of the whole training, over which the learning rate falls.
            seed: of the batches and of the episodes that are held out.
        """
        episodes = recording.episodes
        order = Jumper(seed, "cloning/held_out").to(0).permutation(len(episodes))
        held_out = set(order[: max(1, round(_HELD_OUT * len(episodes)))].tolist()) if len(episodes) > 1 else set()
        self._train_rows = self._rows([each for i, each in enumerate(episodes) if i not in held_out])
        self._held_out_rows = self._rows([episodes[i] for i in sorted(held_out)] or episodes)
        self._batch, self._updates = batch, steps
        self._batches = Jumper(seed, "cloning/batch")

    def _rows(self, episodes: list[RecordedEpisode]) -> tuple[Any, torch.Tensor]:
        normaliser = self.get_vec_normalize_env()
        seen = [each.observations for each in episodes]
        keys = list(self.observation_space.spaces) if isinstance(self.observation_space, spaces.Dict) else []
        rows: Any = {key: np.concatenate([part[key] for part in seen]) for key in keys} or np.concatenate(seen)
        rows = rows if normaliser is None else normaliser.normalize_obs(rows)
        tensor = self.policy.obs_to_tensor(rows)[0]
        actions = np.concatenate([each.actions for each in episodes])
        return tensor, self._as_targets(actions)

    def learn(self, total_timesteps: int, callback: Any = None, *_: Any, **options: Any) -> ClonedModel:
        """Runs updates until the callback returns False, or their number is reached."""
        options.pop("progress_bar", None)
        last, calls = self._setup_learn(total_timesteps, callback, **options)
        calls.on_training_start(locals(), globals())
        while self.num_timesteps < last:
            loss = self._update()
            self.num_timesteps += 1
            self.logger.record("train/loss", loss)
            if not calls.on_step():
                break
        calls.on_training_end()
        return self

    def _update(self) -> float:
        rows, actions = self._train_rows
        places = torch.as_tensor(self._batches.to(self.num_timesteps).integers(len(actions), size=self._batch))
        return self._improve(pick(rows, places), actions[places], self.num_timesteps / self._updates)

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """Returns the loss over the episodes that were held out."""
        self.policy.set_training_mode(False)
        rows, actions = self._held_out_rows
        pieces = [slice(i, i + _ROWS) for i in range(0, len(actions), _ROWS)]
        losses = [float(self._loss(pick(rows, piece), actions[piece])) * len(actions[piece]) for piece in pieces]
        return math.fsum(losses) / len(actions)

    @property
    def status(self) -> str:
        """What the line of progress shows."""
        return f"loss {self.logger.name_to_value.get('train/loss', math.nan):.3g}"

    @torch.no_grad()
    def save(self, *args: Any, **kwargs: Any) -> None:
        """Sets the standard deviation of the actions, and writes the file."""
        if isinstance(self.action_space, spaces.Box) and not self.use_sde:
            rows, actions = self._held_out_rows
            pieces = [slice(i, i + _ROWS) for i in range(0, len(actions), _ROWS)]
            errors = [((self._means(pick(rows, piece)) - actions[piece]) ** 2).sum(dim=0) for piece in pieces]
            self._set_spread(torch.stack(errors).sum(dim=0) / len(actions))
        super().save(*args, **kwargs)

    def _excluded_save_params(self) -> list[str]:
        own = ["_train_rows", "_held_out_rows", "_batches", "_batch", "_updates"]
        return [*super()._excluded_save_params(), *own]


def scale_by(env: VecNormalize, recording: Recording) -> None:
    """Gives a vector environment the mean and variance of every recorded number, in place of running ones."""
    env.training, env.norm_reward = False, False
    seen = [each.observations for each in recording.episodes]
    for key, running in env.obs_rms.items() if isinstance(env.obs_rms, dict) else [("", env.obs_rms)]:
        rows = np.concatenate([part[key] if key else part for part in seen]).astype(np.float64)
        running.mean, running.var = rows.mean(axis=0), rows.var(axis=0)
