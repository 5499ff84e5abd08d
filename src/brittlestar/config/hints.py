"""Overrides that messages suggest: which command trains a policy for an environment."""

import functools
import re
from typing import Any

from brittlestar.config.yaml_files import config_folder

_FIRST, _ANY = ("sac_her", "sac", "ppo", "dqn"), "ppo"
_TRAINED = "sb3"
"""The option of the group `policy` that reads what a training writes."""


def train_hint(config: dict[str, Any]) -> str:
    """Returns the command that trains the policy of a config; empty for a policy that no training writes.

    Example:
        >>> train_hint({"env": {"id": "CartPole-v1"}, "policy": {"_target_": "brittlestar.policies.sb3.Sb3Policy"}})
        'train one: `brittlestar train env=cartpole algo=ppo`'
    """
    target = config["policy"].get("_target_")
    if f"_target_: {target}\n" not in (config_folder() / "policy" / f"{_TRAINED}.yaml").read_text():
        return ""
    env = config["env"] if isinstance(config.get("env"), dict) else {}
    env_id = str(env.get("id"))
    option = env_option(env_id, env.get("module"))
    return f"train one: `brittlestar train {option} algo={_algorithm(env_id)}`" if option else ""


@functools.cache
def env_option(env_id: str, module: str | None = None) -> str:
    """Returns the overrides that choose an environment of a module; empty for an id that cannot be chosen.

    Example:
        >>> env_option("FetchReach-v4"), env_option("LunarLander-v3")
        ('env=fetch_reach', 'env=gym env.id=LunarLander-v3')
    """
    for file in sorted((config_folder() / "env").glob("*.yaml")):
        if re.search(rf"^id: {re.escape(env_id)}$", file.read_text(), re.MULTILINE):
            return "" if env_id in ("auto", "???") else f"env={file.stem}"
    name = f"{module}:{env_id}" if module else env_id
    return f"env=gym env.id={name}" if re.fullmatch(r"[\w./-]+-v\d+", env_id) else ""


def _algorithm(env_id: str) -> str:
    """Returns an algorithm that is tuned for an environment, else one for any environment."""
    # A search in the text is quicker than a composition by Hydra.
    texts = {name: (config_folder() / "algo" / f"{name}.yaml").read_text() for name in _FIRST}
    return next((name for name, text in texts.items() if f"\n  {env_id}:" in text), _ANY)
