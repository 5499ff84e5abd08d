"""The algorithms of Stable-Baselines3 and sb3-contrib, and how to recognise their checkpoints."""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces


@dataclass(frozen=True)
class AlgorithmFacts:
    """Facts about one algorithm."""

    name: str
    class_path: str
    on_policy: bool | None = True
    """Whether it learns from its latest episodes only; False for a replay buffer, None for random search."""
    actions: type[spaces.Space] = spaces.Space
    """Kind of action space that it supports."""
    policy: str = "MlpPolicy"
    """Default policy class for observations in one array."""
    dict_policy: str = "MultiInputPolicy"
    """Default policy class for observations by name."""
    squashes: bool = False
    """Whether its actor always ends in a tanh."""
    trainable: bool = True
    """Whether the group `algo` has it."""
    coachable: bool = False
    """Whether `algo.coach` works with it."""
    aliases: tuple[str, ...] = ()
    """Other names, as rl-zoo uses them."""
    module: str = ""
    """Start of the module of its policy classes, where no other algorithm shares it."""
    tensor: str = ""
    """Start of a tensor's name that no other algorithm has."""
    setting: str = ""
    """A key of its settings that no later row of the table has."""

    def load_class(self) -> Any:
        """Imports and returns the class of its models."""
        module, _, name = self.class_path.rpartition(".")
        return getattr(importlib.import_module(module), name)


_REPLAY: dict[str, Any] = {"on_policy": False, "actions": spaces.Box, "squashes": True}
_Q_LEARNING: dict[str, Any] = {"on_policy": False, "actions": spaces.Discrete}
_SB3, _CONTRIB = "stable_baselines3", "sb3_contrib"
_ROWS = (
    AlgorithmFacts("trpo", f"{_CONTRIB}.TRPO", setting="cg_damping"),
    AlgorithmFacts("ppo", f"{_SB3}.PPO", setting="clip_range"),
    AlgorithmFacts("a2c", f"{_SB3}.A2C", setting="gae_lambda"),
    AlgorithmFacts("recurrent_ppo", f"{_CONTRIB}.RecurrentPPO", policy="MlpLstmPolicy", aliases=("ppo_lstm",),
        dict_policy="MultiInputLstmPolicy", module=f"{_CONTRIB}.common.recurrent.", tensor="lstm_actor."),
    AlgorithmFacts("maskable_ppo", f"{_CONTRIB}.MaskablePPO", trainable=False, module=f"{_CONTRIB}.common.maskable."),
    AlgorithmFacts("ars", f"{_CONTRIB}.ARS", on_policy=None, policy="LinearPolicy", module=f"{_CONTRIB}.ars.",
        setting="delta_std_schedule"),
    AlgorithmFacts("qrdqn", f"{_CONTRIB}.QRDQN", **_Q_LEARNING, module=f"{_CONTRIB}.qrdqn.", tensor="quantile_net."),
    AlgorithmFacts("dqn", f"{_SB3}.DQN", **_Q_LEARNING, module=f"{_SB3}.dqn.", tensor="q_net."),
    AlgorithmFacts("tqc", f"{_CONTRIB}.TQC", **_REPLAY, coachable=True, module=f"{_CONTRIB}.tqc.",
        setting="top_quantiles_to_drop_per_net"),
    AlgorithmFacts("td3", f"{_SB3}.TD3", **_REPLAY, module=f"{_SB3}.td3.", setting="target_policy_noise"),
    AlgorithmFacts("ddpg", f"{_SB3}.DDPG", **_REPLAY),
    AlgorithmFacts("crossq", f"{_CONTRIB}.CrossQ", **_REPLAY, module=f"{_CONTRIB}.crossq.",
        tensor="actor.latent_pi.0.ra_mean"),
    AlgorithmFacts("sac", f"{_SB3}.SAC", **_REPLAY, coachable=True, aliases=("her",), module=f"{_SB3}.sac."),
)  # fmt: skip

ALGORITHMS = {facts.name: facts for facts in _ROWS}
ALIASES = {alias: facts for facts in _ROWS for alias in facts.aliases}


def find_algorithm(policy_class: str, data: Mapping[str, Any], weights: Iterable[str]) -> str | None:
    """Returns the algorithm, by the module of its policy, by its tensors, or by its settings.

    Example:
        >>> find_algorithm("stable_baselines3.common.policies.ActorCriticPolicy", {"clip_range": 0.2}, [])
        'ppo'
    """
    tensors = tuple(weights)
    by_module = (row.name for row in _ROWS if row.module and policy_class.startswith(row.module))
    by_tensor = (row.name for row in _ROWS if row.tensor and any(name.startswith(row.tensor) for name in tensors))
    by_setting = (row.name for row in _ROWS if row.setting and row.setting in data)
    name = next((name for names in (by_module, by_tensor, by_setting) for name in names), None)
    if name is None and {"ent_coef", "target_entropy"} <= data.keys():
        return "sac"
    # DDPG is TD3 without its delay and its noise, and has no policy of its own.
    is_ddpg = data.get("policy_delay") == 1 and data.get("target_noise_clip") == 0
    return "ddpg" if name == "td3" and is_ddpg else name


def squashes(algorithm: str | None, policy_class: str, kwargs: Mapping[str, Any]) -> bool:
    """Returns whether the actor ends in a tanh: by the algorithm, by the user's setting, or by its default."""
    if algorithm in ALGORITHMS and ALGORITHMS[algorithm].squashes:
        return True
    default = algorithm == "ars" and not policy_class.endswith("ARSLinearPolicy")
    setting = kwargs.get("squash_output")
    return setting if isinstance(setting, bool) else default
