"""Soft actor-critic whose updates cost less than those of Stable-Baselines3."""

import copy
from typing import Any

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.utils import polyak_update
from torch import nn

_WITHOUT_MODES = nn.Linear, nn.LayerNorm, nn.Conv2d, nn.Flatten, nn.Identity, nn.ReLU, nn.Tanh, nn.ELU
"""Layers that do the same in training and in evaluation."""


class LeanSac(SAC):
    """SAC with the same updates by default, without gradients and copies that are not used.

    Args:
        policy: as for SAC.
        env: as for SAC.
        actor_every: updates of the critics for each update of the actor.
        soft_values: whether the values of the critics contain the entropy of later actions.
        value_range: bounds of the critics' targets, as the rewards imply them; None for no bounds.
        layer_norm: whether the hidden layers of the critics are normalised (Ball et al. 2023).
        actor_average: updates over which the weights of the exported actor are averaged; 0 for the last weights.
        options: other arguments of SAC.
    """

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        actor_every: int = 1,
        soft_values: bool = True,
        value_range: tuple[float, float] | None = None,
        layer_norm: bool = False,
        actor_average: int = 0,
        **options: Any,
    ) -> None:
        self.actor_every, self.soft_values = actor_every, soft_values
        self.value_range, self.layer_norm, self.actor_average = value_range, layer_norm, actor_average
        super().__init__(policy, env, **options)

    def _setup_model(self) -> None:
        super()._setup_model()
        if self.layer_norm:
            for critic in (self.critic, self.critic_target):
                for network in critic.q_networks:
                    _normalise_layers(network)  # type: ignore[arg-type]
        for part in (self.actor, self.critic):
            part.optimizer = self._optimizer(part)
        if self.actor_average:
            # A part of the policy, so that it is saved and loaded with it.
            self.policy.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        # Listing the weights of a network takes longer than moving them.
        self._actor_weights: list[torch.Tensor] = list(self.actor.parameters())
        self._critic_weights: list[torch.Tensor] = list(self.critic.parameters())
        self._target_weights: list[torch.Tensor] = list(self.critic_target.parameters())
        if all(isinstance(layer, _WITHOUT_MODES) for layer in self.policy.modules() if not list(layer.children())):
            # The library sets the mode of every layer before every action and every update.
            self.policy.set_training_mode = _keep_mode  # type: ignore[method-assign]

    def _optimizer(self, part: nn.Module) -> torch.optim.Optimizer:
        """Returns an optimizer as SAC makes it, with new layers among its weights; Adam changes all in one call."""
        kind, is_shared = self.policy.optimizer_class, self.policy.share_features_extractor and part is self.critic
        weights = [w for name, w in part.named_parameters() if not (is_shared and "features_extractor" in name)]
        fused = {"fused": True} if kind in (torch.optim.Adam, torch.optim.AdamW) else {}
        return kind(weights, lr=self.lr_schedule(1), **fused | self.policy.optimizer_kwargs)  # type: ignore[call-arg]

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Makes updates from the replay buffer."""
        self.policy.set_training_mode(True)
        optimizers = [self.actor.optimizer, self.critic.optimizer]
        self._update_learning_rate(optimizers + ([self.ent_coef_optimizer] if self.ent_coef_optimizer else []))
        assert self.replay_buffer is not None
        for step in range(gradient_steps):
            rows = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            if self.use_sde:
                self.actor.reset_noise()
            self._improve(rows, (self._n_updates + step) % self.actor_every == 0)
            if step % self.target_update_interval == 0:
                self._follow()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _improve(self, rows: Any, with_actor: bool) -> None:
        """Makes one update of the critics, and one of the actor if it is due; draws in the order of SAC."""
        temperature = self.ent_coef_tensor if self.log_ent_coef is None else self.log_ent_coef.detach().exp()
        if not with_actor:
            self._improve_critics(rows, temperature)
            return
        actions, log_probability = self.actor.action_log_prob(rows.observations)
        log_probability = log_probability.reshape(-1, 1)
        if self.ent_coef_optimizer is not None:
            self._improve_temperature(log_probability.detach())
        self._improve_critics(rows, temperature)
        values = torch.cat(self.critic(rows.observations, actions), dim=1).amin(dim=1, keepdim=True)
        # Gradients of the critics' weights would be thrown away.
        _descend(self.actor.optimizer, (temperature * log_probability - values).mean(), self._actor_weights)
        if self.actor_average:
            self._average()

    def _improve_critics(self, rows: Any, temperature: torch.Tensor) -> None:
        with torch.no_grad():
            actions, log_probability = self.actor.action_log_prob(rows.next_observations)
            values = torch.cat(self.critic_target(rows.next_observations, actions), dim=1).amin(dim=1, keepdim=True)
            if self.soft_values:
                values = values - temperature * log_probability.reshape(-1, 1)
            discounts = self.gamma if rows.discounts is None else rows.discounts
            targets = rows.rewards + (1 - rows.dones) * discounts * values
            if self.value_range is not None:
                targets = targets.clamp(*self.value_range)
        estimates = torch.cat(self.critic(rows.observations, rows.actions), dim=1)
        _descend(self.critic.optimizer, 0.5 * ((estimates - targets) ** 2).mean(dim=0).sum())

    def _improve_temperature(self, log_probability: torch.Tensor) -> None:
        assert self.ent_coef_optimizer is not None and self.log_ent_coef is not None
        assert isinstance(self.target_entropy, float)
        _descend(self.ent_coef_optimizer, -(self.log_ent_coef * (log_probability + self.target_entropy)).mean())

    @torch.no_grad()
    def _average(self) -> None:
        """Moves the averaged actor towards the actor."""
        averaged: Any = self.policy.actor_target
        torch._foreach_lerp_(list(averaged.parameters()), self._actor_weights, 1 / self.actor_average)

    def acting_weights(self) -> dict[str, torch.Tensor]:
        """Returns the weights of the policy, with those of the averaged actor in place of the last ones."""
        weights, averaged = self.policy.state_dict(), "actor_target."
        own = {name: values for name, values in weights.items() if not name.startswith(averaged)}
        return own | {f"actor.{name.removeprefix(averaged)}": weights[name] for name in weights if name not in own}

    @torch.no_grad()
    def _follow(self) -> None:
        """Moves the target networks towards the critics."""
        torch._foreach_lerp_(self._target_weights, self._critic_weights, self.tau)
        polyak_update(self.batch_norm_stats, self.batch_norm_stats_target, 1.0)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_actor_weights", "_critic_weights", "_target_weights"]


def _keep_mode(mode: bool) -> None:
    pass


def _descend(optimizer: torch.optim.Optimizer, loss: torch.Tensor, weights: list[torch.Tensor] | None = None) -> None:
    """Makes a step of an optimizer; without `weights`, all that the loss depends on get gradients."""
    optimizer.zero_grad()
    loss.backward(inputs=weights)
    optimizer.step()


def _normalise_layers(network: nn.Sequential) -> None:
    """Puts a layer norm after every hidden linear layer of a network."""
    layers = list(network)
    for layer in layers[:-1]:
        if isinstance(layer, nn.Linear):
            layers.insert(layers.index(layer) + 1, nn.LayerNorm(layer.out_features))
    while len(network):
        network.pop(0)
    network.extend(layers)
