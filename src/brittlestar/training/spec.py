"""What to train, and how."""

from dataclasses import dataclass, field
from typing import Any, Self

from brittlestar.config import check_values
from brittlestar.config.build import build
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, require
from brittlestar.policies.base import Policy
from brittlestar.training.algorithms import Algorithm

AROUND = ("perturbation", "mitigation", "stress_schedule")
"""Config groups of the parts around a policy."""
_LARGEST_SEED = 2**31 - 1
"""Stable-Baselines3 seeds generators of 32 bits, after a resume by the seed plus the number of steps."""


@dataclass
class TrainingSpec:
    """One training: the parts, the algorithm, and how often it saves and scores."""

    env: EnvSpec
    algo: Algorithm
    """The algorithm with the settings of the environment."""
    parts: Parts = field(default_factory=lambda: Parts(None))
    """Perturbation, mitigation and schedule around the learner."""
    seed: int = 0
    threads: int = 1
    save_every: int = 20_000
    """Steps between two checkpoints."""
    episodes: int = 100
    """Episodes of the evaluation at the end; every checkpoint is scored on a fifth of them."""

    def __post_init__(self) -> None:
        require(self.seed >= 0, "seed", "at least 0", self.seed)
        require(self.seed <= _LARGEST_SEED, "seed", f"at most {_LARGEST_SEED}", self.seed)
        require(self.threads >= 1, "threads", "null or at least 1", self.threads)
        require(self.save_every >= 1, "save_every", "at least 1", self.save_every)
        require(self.episodes >= 5, "episodes", "at least 5", self.episodes)

    @classmethod
    def build(cls, config: dict[str, Any], threads: int) -> Self:
        """Builds the parts of a resolved config; `threads` is the share of the cores, where the config has null."""
        check_values({key: config.get(key) for key in ("threads", "store")})
        env = build(config["env"], "env")
        algo = build(config["algo"], "algo").settings(env)
        parts = build_parts(config)
        try:
            if config["steps"] is not None:
                require(config["steps"] >= 1, "steps", "null or at least 1", config["steps"])
                algo.steps = config["steps"]
            threads = lane_threads(algo, threads) if config["threads"] is None else config["threads"]
            return cls(env, algo, parts, config["seed"], threads, config["save_every"], config["episodes"])
        except ValueError as error:
            raise UserError(str(error)) from None


def lane_threads(algo: Algorithm, cores: int) -> int:
    """Returns the threads of the simulators: the other cores update the networks meanwhile, if they learn from replay.

    Example:
        >>> lane_threads(Algorithm("sac"), 2), lane_threads(Algorithm("ppo"), 2)
        (1, 2)
    """
    return max(1, cores - cores // 2) if algo.off_policy else cores


def build_parts(config: dict[str, Any], policy: Policy | None = None) -> Parts:
    """Builds the parts around a policy, or around a learner."""
    return Parts(policy, *(build(config[group], group) for group in AROUND))
