"""Tells which algorithm trained an agent, from the names that its file holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

ALGORITHMS = (
    "ppo", "a2c", "dqn", "ddpg", "td3", "sac", "trpo", "ars", "qrdqn", "tqc", "recurrent_ppo", "maskable_ppo", "crossq",
)  # fmt: skip

_MODULES = {
    "stable_baselines3.sac.": "sac",
    "stable_baselines3.dqn.": "dqn",
    "stable_baselines3.td3.": "td3",
    "sb3_contrib.ars.": "ars",
    "sb3_contrib.qrdqn.": "qrdqn",
    "sb3_contrib.tqc.": "tqc",
    "sb3_contrib.crossq.": "crossq",
    "sb3_contrib.common.recurrent.": "recurrent_ppo",
    "sb3_contrib.common.maskable.": "maskable_ppo",
}
_DATA_KEYS = {
    "cg_damping": "trpo",
    "clip_range": "ppo",
    "gae_lambda": "a2c",
    "delta_std_schedule": "ars",
    "top_quantiles_to_drop_per_net": "tqc",
    "target_policy_noise": "td3",
}
_WEIGHTS = {
    "lstm_actor.": "recurrent_ppo",
    "quantile_net.": "qrdqn",
    "q_net.": "dqn",
    "actor.latent_pi.0.ra_mean": "crossq",
}


def find_algorithm(policy_class: str, data: Mapping[str, Any], weights: Iterable[str]) -> str | None:
    """Names the algorithm by the module of the policy, by settings that only it has, or by its tensors.

    Example:
        >>> find_algorithm("stable_baselines3.common.policies.ActorCriticPolicy", {"clip_range": 0.2}, [])
        'ppo'
    """
    by_module = (name for module, name in _MODULES.items() if policy_class.startswith(module))
    by_weights = (name for start, name in _WEIGHTS.items() if any(key.startswith(start) for key in weights))
    by_data = (name for key, name in _DATA_KEYS.items() if key in data)
    found = next((name for names in (by_module, by_weights, by_data) for name in names), None)
    if found is None and {"ent_coef", "target_entropy"} <= data.keys():
        return "sac"
    # DDPG is TD3 without its delay and its noise, and has no policy of its own.
    is_ddpg = data.get("policy_delay") == 1 and data.get("target_noise_clip") == 0
    return "ddpg" if found == "td3" and is_ddpg else found


def squashes(algorithm: str | None, policy_class: str, kwargs: Mapping[str, Any]) -> bool:
    """Says whether the actor ends in a tanh: as the user set it, or as is usual for the algorithm."""
    if algorithm in ("sac", "td3", "ddpg", "tqc", "crossq"):
        return True
    usual = algorithm == "ars" and not policy_class.endswith("ARSLinearPolicy")
    given = kwargs.get("squash_output")
    return given if isinstance(given, bool) else usual
