"""Which commands train in an environment, and evaluate there: for messages."""

from __future__ import annotations

import functools
import re
from typing import Any

from brittlestar.config import config_folder

_FIRST, _ANY = ("sac_her", "sac", "ppo", "dqn"), "ppo"


def train_hint(config: dict[str, Any]) -> str:
    """Returns how to train a policy for the environment of a config; empty where that is not known.

    Example:
        >>> train_hint({"env": {"id": "CartPole-v1"}})
        'train one: `python train.py env=cartpole algo=ppo`'
    """
    env_id = config["env"].get("id") if isinstance(config.get("env"), dict) else None
    option = env_option(str(env_id))
    return f"train one: `python train.py {option} algo={_algorithm(str(env_id))}`" if option else ""


@functools.cache
def env_option(env_id: str) -> str:
    """Returns the override that chooses an environment; empty for one that no option names.

    Example:
        >>> env_option("FetchReach-v4"), env_option("LunarLander-v3")
        ('env=fetch_reach', 'env=gym env.id=LunarLander-v3')
    """
    for file in sorted((config_folder() / "env").glob("*.yaml")):
        if re.search(rf"^id: {re.escape(env_id)}$", file.read_text(), re.MULTILINE):
            return "" if env_id in ("auto", "???") else f"env={file.stem}"
    return f"env=gym env.id={env_id}" if re.fullmatch(r"[\w./-]+-v\d+", env_id) else ""


def _algorithm(env_id: str) -> str:
    """Returns an algorithm that is tuned for an environment, else one that learns in any."""
    for name in _FIRST:
        # A look at the text: Hydra would take longer than the message is worth.
        text = (config_folder() / "algo" / f"{name}.yaml").read_text()
        if re.search(rf"^  {re.escape(env_id)}:", text, re.MULTILINE):
            return name
    return _ANY
