"""The policies, noises and sweeps behind the page."""

import itertools
import sys
from dataclasses import dataclass, field
from pathlib import Path

from brittlestar.config import options
from brittlestar.errors import UserError, nearest
from brittlestar.policies.zoo import cards as zoo
from brittlestar.studies.pages import run_command
from brittlestar.studies.results_page.published import TASKS, Published

SAC, ROBUST, P, PUSH = "sac", "robust", "p_controller", "push_controller"
POLICIES = {
    "fetch_reach.sac": [f"zoo/fetch_reach_sac_{i}" for i in range(3)],
    "fetch_reach.robust": [f"zoo/fetch_reach_sac_robust_{i}" for i in range(3)],
    "fetch_reach.p_controller": ["p_controller"],
    "fetch_push.sac": [f"zoo/fetch_push_sac_{i}" for i in range(4)],
    "fetch_push.robust": ["zoo/fetch_push_sac_robust_0"],
    "fetch_push.p_controller": ["p_controller"],
    "fetch_push.push_controller": ["push_controller"],
}
"""The policies of each role in a task; several names are several trainings of one recipe."""
NOISES = {"observation": (SAC, ROBUST, P, PUSH), "action": (SAC, P, PUSH), "low_pass": (SAC,)}
"""The roles that are measured in the experiment `<task>_<noise>`."""
TITLES = {SAC: "SAC", ROBUST: "SAC, trained under noise", P: "P controller", PUSH: "push controller"}
_EPISODES = 100


@dataclass
class ResultsPlan:
    """What is measured, how often, and where it goes."""

    folder: Path
    store: Path
    episodes: int = _EPISODES
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    policies: dict[str, list[str]] = field(default_factory=lambda: dict(POLICIES))
    published: Published = field(default_factory=Published)

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise UserError(f"`--episodes` must be at least 1, got {self.episodes}")

    @property
    def command(self) -> str:
        """The command that writes the page."""
        episodes = f" --episodes {self.episodes}" if self.episodes != _EPISODES else ""
        return f"brittlestar results{episodes}{' --published FILE' if self.published else ''}"

    def names(self, task: str, role: str) -> list[str]:
        """Returns the policies of a role that are trained."""
        return [name for name in self.policies.get(f"{task}.{role}", []) if not is_untrained(name)]

    def pairs(self, task: str) -> list[tuple[str, str]]:
        """Returns the trainings without and with noise that belong together, where both are trained."""
        both = zip(*(self.policies.get(f"{task}.{role}", []) for role in (SAC, ROBUST)), strict=False)
        return [pair for pair in both if not any(map(is_untrained, pair))]

    def untrained(self) -> list[str]:
        """Returns the policies of the zoo that are not trained yet."""
        return list(dict.fromkeys(name for names in self.policies.values() for name in names if is_untrained(name)))

    def sweep(self, task: str, noise: str) -> Path:
        """Returns the folder of a sweep."""
        return self.folder / f"{task}_{noise}"

    def words(self, task: str, noise: str) -> list[str]:
        """Returns the words of `brittlestar` that run a sweep; none without policies."""
        names = dict.fromkeys(name for role in NOISES[noise] for name in self.names(task, role))
        if not names:
            return []
        values = [f"policy={','.join(names)}", f"episodes={self.episodes}", f"seed={','.join(map(str, self.seeds))}"]
        places = [f"store={self.store}", f"hydra.sweep.dir={self.sweep(task, noise)}"]
        return ["-m", f"experiment={task}_{noise}", *values, *places]

    def run(self) -> None:
        """Runs every sweep, one after the other; stored cells are not computed again."""
        for task, noise in itertools.product(TASKS, NOISES):
            words = self.words(task, noise)
            if words:
                sys.stderr.write(f"{task}_{noise}\n")
                if not run_command(words):
                    raise UserError(f"the sweep failed: brittlestar {' '.join(words)}")


def is_untrained(name: str) -> bool:
    """Returns whether a policy of the zoo has not been trained; an unknown name is an error.

    Example:
        >>> is_untrained("zoo/cartpole_ppo"), is_untrained("p_controller")
        (False, False)
    """
    valid = options("policy")
    if name not in valid:
        raise UserError(f"there is no policy `{name}`; {nearest(name, valid)}")
    return name.startswith("zoo/") and not zoo.is_shipped(name.removeprefix("zoo/"))


def choose_policies(words: list[str]) -> dict[str, list[str]]:
    """Returns the policies of each role, changed by words `TASK.ROLE=NAME,...`.

    Example:
        >>> choose_policies(["fetch_push.sac=push_controller"])["fetch_push.sac"]
        ['push_controller']
    """
    policies = dict(POLICIES)
    for word in words:
        part, _, names = word.partition("=")
        if part not in POLICIES:
            raise UserError(f"`--policy` has no part `{part}`; {nearest(part, POLICIES)}")
        policies[part] = [name for name in names.split(",") if name]
        for name in policies[part]:
            is_untrained(name)
    return policies
