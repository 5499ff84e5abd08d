"""SAC with updates that cost less."""

import io
import zipfile
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from brittlestar.training.export import export_policy
from brittlestar.training.lean_sac import LeanSac

_OPTIONS: dict[str, Any] = {"seed": 3, "learning_starts": 40, "batch_size": 32, "device": "cpu"}


def _train(kind: type[SAC], steps: int = 60, **options: Any) -> Any:
    model = kind("MlpPolicy", gym.make("Pendulum-v1"), **_OPTIONS | options)
    model.learn(steps)
    return model


class _Features(BaseFeaturesExtractor):
    """Four learned features."""

    def __init__(self, space: gym.Space) -> None:
        super().__init__(space, 4)
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layer(observations)


@pytest.mark.parametrize(
    "options",
    [
        {"ent_coef": "auto"},
        {"ent_coef": 0.05},
        {"policy_kwargs": {"features_extractor_class": _Features, "n_critics": 3}},
        {"policy_kwargs": {"features_extractor_class": _Features, "share_features_extractor": True}},
    ],
)
def test_the_default_updates_are_those_of_the_library(options: dict[str, Any]) -> None:
    ours, theirs = _train(LeanSac, **options), _train(SAC, **options)
    for name, weights in theirs.policy.state_dict().items():
        torch.testing.assert_close(ours.policy.state_dict()[name], weights, atol=2e-5, rtol=1e-4)


def test_bounded_targets_without_entropy_keep_values_in_the_range() -> None:
    model = _train(LeanSac, 300, soft_values=False, value_range=(-1.0, 0.0), learning_rate=0.01)
    rows = model.replay_buffer.sample(64)
    values = torch.cat(model.critic(rows.observations, rows.actions), dim=1).detach().numpy()
    # Rewards of Pendulum are far below -1, so without bounds all values would be, too.
    assert np.abs(values + 1.0).mean() < 0.3


def test_the_actor_waits_for_its_turn() -> None:
    model = LeanSac("MlpPolicy", gym.make("Pendulum-v1"), **_OPTIONS, actor_every=10**6)
    before = {name: weights.clone() for name, weights in model.actor.state_dict().items()}
    model._n_updates = 1
    model.learn(60)
    assert all(torch.equal(before[name], weights) for name, weights in model.actor.state_dict().items())


def test_normalised_critics_are_saved_and_loaded(tmp_path: Any) -> None:
    model = _train(LeanSac, layer_norm=True)
    assert any("LayerNorm" in str(type(layer)) for layer in model.critic.q_networks[0])
    model.save(tmp_path / "model.zip")
    loaded = LeanSac.load(tmp_path / "model.zip", env=model.get_env())
    for name, weights in model.policy.state_dict().items():
        assert torch.equal(loaded.policy.state_dict()[name], weights)
    loaded.learn(5)


def test_the_exported_actor_is_the_mean_of_its_last_updates(tmp_path: Any) -> None:
    model = LeanSac("MlpPolicy", gym.make("Pendulum-v1"), **_OPTIONS, actor_average=4)
    mean = {name: weights.clone() for name, weights in model.actor.state_dict().items()}
    improve = model._improve

    def follow(*args: Any) -> None:
        improve(*args)
        for name, weights in model.actor.state_dict().items():
            mean[name] += (weights - mean[name]) / 4

    model._improve = follow
    model.learn(60)
    del model._improve
    export_policy(model, tmp_path / "policy.zip")
    weights = read_weights(tmp_path / "policy.zip")
    assert sorted(weights) == sorted(f"actor.{name}" for name in mean)
    for name, values in mean.items():
        torch.testing.assert_close(weights[f"actor.{name}"], values)
    assert not torch.equal(weights["actor.mu.weight"], model.actor.mu.weight)


def test_a_saved_model_keeps_its_averaged_actor(tmp_path: Any) -> None:
    model = _train(LeanSac, actor_average=4)
    model.save(tmp_path / "model.zip")
    loaded = LeanSac.load(tmp_path / "model.zip", env=model.get_env())
    for name, weights in model.acting_weights().items():
        assert torch.equal(loaded.acting_weights()[name], weights)
    loaded.learn(5)


def read_weights(path: Any) -> dict[str, torch.Tensor]:
    with zipfile.ZipFile(path) as archive:
        return dict(torch.load(io.BytesIO(archive.read("policy.pth")), weights_only=True))
