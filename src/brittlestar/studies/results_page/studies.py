"""Which policies are measured under which noise, and the sweeps that do it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from brittlestar.config import options
from brittlestar.errors import UserError, nearest
from brittlestar.policies.zoo import cards as zoo

from .commands import run_sweep

TASKS = {"fetch_reach": "FetchReach-v4", "fetch_push": "FetchPush-v4"}
SAC, ROBUST, P, PUSH = "sac", "robust", "p_controller", "push_controller"
POLICIES = {
    "fetch_reach.sac": [f"zoo/fetch_reach_sac_{i}" for i in range(3)],
    "fetch_reach.robust": [f"zoo/fetch_reach_sac_robust_{i}" for i in range(3)],
    "fetch_reach.p_controller": ["p_controller"],
    "fetch_push.sac": ["zoo/fetch_push_sac_0"],
    "fetch_push.robust": ["zoo/fetch_push_sac_robust_0"],
    "fetch_push.p_controller": ["p_controller"],
    "fetch_push.push_controller": ["push_controller"],
}
"""Who plays which part in a task; several names are several trainings of one recipe."""
EPISODES_EACH = 100
"""Episodes of a cell, unless asked for otherwise."""
NOISES = {"observation": (SAC, ROBUST, P, PUSH), "action": (SAC, P, PUSH), "low_pass": (SAC,)}
"""Who is measured in the experiment `<task>_<noise>`."""
TITLES = {SAC: "SAC", ROBUST: "SAC, trained under noise", P: "P controller", PUSH: "push controller"}


@dataclass
class Plan:
    """What is measured, how often, and where it goes."""

    folder: Path
    store: Path
    episodes: int = EPISODES_EACH
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    policies: dict[str, list[str]] = field(default_factory=lambda: dict(POLICIES))

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise UserError(f"`--episodes` must be at least 1, got {self.episodes}")

    def names(self, task: str, role: str) -> list[str]:
        """Returns the policies of a part that are there."""
        return [name for name in self.policies.get(f"{task}.{role}", []) if not is_untrained(name)]

    def pairs(self, task: str) -> list[tuple[str, str]]:
        """Returns the trainings without and with noise that belong together, where both are there."""
        both = zip(*(self.policies.get(f"{task}.{role}", []) for role in (SAC, ROBUST)), strict=False)
        return [(clean, robust) for clean, robust in both if not is_untrained(clean) and not is_untrained(robust)]

    def missing(self) -> list[str]:
        """Returns the policies of the zoo that are not trained yet."""
        return list(dict.fromkeys(name for names in self.policies.values() for name in names if is_untrained(name)))

    def sweep(self, task: str, noise: str) -> Path:
        """Returns the folder of a sweep."""
        return self.folder / f"{task}_{noise}"

    def command(self, task: str, noise: str) -> list[str]:
        """Returns the overrides of `brittlestar -m` that make a sweep; none without policies."""
        found = dict.fromkeys(name for role in NOISES[noise] for name in self.names(task, role))
        if not found:
            return []
        listed = [f"policy={','.join(found)}", f"episodes={self.episodes}", f"seed={','.join(map(str, self.seeds))}"]
        places = [f"store={self.store}", f"hydra.sweep.dir={self.sweep(task, noise)}"]
        return ["-m", f"experiment={task}_{noise}", *listed, *places]


def is_untrained(name: str) -> bool:
    """Returns whether a policy of the zoo has not been trained; an unknown name is an error.

    Example:
        >>> is_untrained("zoo/cartpole_ppo"), is_untrained("p_controller")
        (False, False)
    """
    known = options("policy")
    if name not in known:
        raise UserError(f"there is no policy `{name}`; {nearest(name, known)}")
    return name.startswith("zoo/") and not zoo.is_shipped(name.removeprefix("zoo/"))


def choose(given: list[str]) -> dict[str, list[str]]:
    """Returns who plays which part, with the changes that were asked for.

    Example:
        >>> choose(["fetch_push.sac=push_controller"])["fetch_push.sac"]
        ['push_controller']
    """
    chosen = dict(POLICIES)
    for text in given:
        part, _, names = text.partition("=")
        if part not in POLICIES:
            raise UserError(f"`--policy` has no part `{part}`; {nearest(part, POLICIES)}")
        chosen[part] = [name for name in names.split(",") if name]
        for name in chosen[part]:
            is_untrained(name)
    return chosen


def run_sweeps(plan: Plan) -> None:
    """Runs every sweep, one after the other; cells that are in the store are not computed again."""
    for task in TASKS:
        for noise in NOISES:
            command = plan.command(task, noise)
            if command:
                sys.stderr.write(f"{task}_{noise}\n")
                if not run_sweep(command):
                    raise UserError(f"the sweep failed: brittlestar {' '.join(command)}")
