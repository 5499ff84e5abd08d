"""The network of PPO with supervised updates, for algorithms that learn the actions of an expert."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3 import PPO

_LAST_RATE = 0.1
"""Share of the learning rate that remains at the end."""
_LEAST_LOG_STD = -5.0
"""An expert that never moves a joint would have a standard deviation of 0."""


class ImitatingModel(PPO):
    """Learns actions by supervised updates. Its file is an ordinary one of PPO.

    The loss of continuous actions is the mean squared error of the mean action; that of choices is their negative log
    likelihood.
    """

    def _improve(self, rows: Any, actions: torch.Tensor, done: float) -> float:
        """Makes one update on tensors of observations and actions, with `done` of the training behind it."""
        self.policy.set_training_mode(True)
        for group in self.policy.optimizer.param_groups:
            group["lr"] = float(self.learning_rate) * (1 - (1 - _LAST_RATE) * min(1.0, done))  # type: ignore[arg-type]
        loss = self._loss(rows, actions)
        self.policy.optimizer.zero_grad()
        loss.backward()
        self.policy.optimizer.step()
        return float(loss.detach())

    def _loss(self, rows: Any, actions: torch.Tensor) -> torch.Tensor:
        if isinstance(self.action_space, spaces.Box):
            return ((self._means(rows) - actions) ** 2).mean()
        return -self.policy.evaluate_actions(rows, actions)[1].mean()

    def _means(self, rows: Any) -> torch.Tensor:
        return self.policy.get_distribution(rows).distribution.mean  # type: ignore[union-attr]

    def _as_targets(self, actions: Any) -> torch.Tensor:
        """Returns actions as the loss takes them: `(rows, numbers)`, or `(rows,)` for choices."""
        shape = () if isinstance(self.action_space, spaces.Discrete) else (-1,)
        return torch.as_tensor(actions, dtype=torch.float32).reshape(len(actions), *shape)

    @torch.no_grad()
    def _set_spread(self, squares: torch.Tensor) -> None:
        """Sets the standard deviation of continuous actions from the mean squares of their errors."""
        if isinstance(self.action_space, spaces.Box) and not self.use_sde:
            self.policy.log_std.copy_(torch.clamp(0.5 * torch.log(squares + 1e-12), min=_LEAST_LOG_STD))


def pick(rows: Any, places: Any) -> Any:
    """Returns some rows of observations, by entry if they have entries."""
    return {key: part[places] for key, part in rows.items()} if isinstance(rows, dict) else rows[places]
