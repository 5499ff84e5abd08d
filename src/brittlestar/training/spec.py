"""What to train, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brittlestar.config.build import build
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, require
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Perturbation
from brittlestar.schedules import StressSchedule
from brittlestar.training.algorithms import Algorithm


@dataclass
class TrainingSpec:
    """One training: the parts, the algorithm, and how often it saves and scores."""

    env: EnvSpec
    algo: Algorithm
    """The algorithm with the settings of the environment."""
    perturbation: Perturbation
    mitigation: Mitigation
    schedule: StressSchedule
    seed: int = 0
    threads: int = 1
    save_every: int = 20_000
    """Steps between two checkpoints."""
    episodes: int = 100
    """Episodes of the evaluation at the end; every checkpoint is scored on a fifth of them."""

    def __post_init__(self) -> None:
        require(self.seed >= 0, "seed", "at least 0", self.seed)
        require(self.threads >= 1, "threads", "null or at least 1", self.threads)
        require(self.save_every >= 1, "save_every", "at least 1", self.save_every)
        require(self.episodes >= 5, "episodes", "at least 5", self.episodes)

    @classmethod
    def build(cls, config: dict[str, Any], threads: int) -> TrainingSpec:
        """Builds the parts of a resolved config.

        Args:
            config: the config, as `train.yaml` lists its keys.
            threads: threads for the simulators where the config leaves them null.
        """
        env = build(config["env"], "env")
        algo = build(config["algo"], "algo").settings(env)
        parts = (build(config[group], group) for group in ("perturbation", "mitigation", "stress_schedule"))
        try:
            if config["steps"] is not None:
                require(config["steps"] >= 1, "steps", "null or at least 1", config["steps"])
                algo.steps = config["steps"]
            threads = threads if config["threads"] is None else config["threads"]
            return cls(env, algo, *parts, config["seed"], threads, config["save_every"], config["episodes"])
        except ValueError as error:
            raise UserError(str(error)) from None
