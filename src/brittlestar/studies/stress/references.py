"""The reference pass of an agent: no stress, and episodes that no other cell uses."""

import json
from typing import Any

from brittlestar.cells.job import Job
from brittlestar.studies.base import with_keys

REFERENCE = "reference"
"""Role of a reference pass."""
_SEEDS = 2**61
"""Added to the seed of an agent for its reference pass."""
_AGENT = ("env", "policy", "mitigation", "deterministic", "episode_seeds")


def reference_pass(cell: Job, episodes: int) -> Job:
    """Returns the reference pass of the agent of a cell."""
    seed = _SEEDS + cell.config["seed"]
    return with_keys(
        cell, episodes=episodes, seed=seed, record="behaviour", divergence=False, clean=True, role=REFERENCE
    )


def agent_key(config: dict[str, Any]) -> str:
    """Returns what a cell and its reference pass have in common: agent, environment, mode and seed.

    Example:
        >>> stressed = Job({"env": {}, "policy": {}, "mitigation": {}, "seed": 3}, "")
        >>> agent_key(stressed.config) == agent_key(reference_pass(stressed, 300).config)
        True
    """
    agent = {key: config.get(key) for key in _AGENT} | {"seed": config["seed"] % _SEEDS}
    agent["env"] = {key: value for key, value in config["env"].items() if key != "lanes"}
    return json.dumps(agent, sort_keys=True)
