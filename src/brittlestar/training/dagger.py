"""DAgger: a network learns what an expert does, in the states that the network itself visits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.config_files import config_files
from brittlestar.checkpoints.algorithms import ALGORITHMS, AlgorithmFacts
from brittlestar.config.build import build
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, require
from brittlestar.sweeps.policy_words import policy_node
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.augmentation import Augmentation
from brittlestar.training.start_weights import agent_file, copy_weights

LESSONS = "lessons"
"""The folder, in that of the training, with what the learner saw and what the expert answered."""
_OWN = ("expert", "start", "guided", "noise", "lessons", "batch", "memory", "augment")


@dataclass
class Dagger(Algorithm):
    """Dataset aggregation (Ross et al. 2011) into the network of PPO.

    The expert is asked in every state, and the network learns from all answers so far. The expert sees the true state;
    the network sees what a policy would see: pictures, if the environment has them, under the perturbation of the
    training.

    Example:
        >>> Dagger(expert="p_controller", steps=10_000).name
        'dagger'
    """

    name: str = "dagger"
    steps: int = 60_000
    expert: str | None = None
    """The policy to learn from: an option of the group `policy`, a file, a folder or `module:attribute`."""
    start: str | None = None
    """The policy whose weights the network has at the start, named as the expert is; None for random ones."""
    guided: int = 4_000
    """Steps at the start in which the expert acts, if the weights are random; then the network does."""
    noise: float = 0.0
    """Standard deviation of what is added to the network's continuous actions, so that it sees more states."""
    lessons: int = 1
    """Updates after each step of all environments."""
    batch: int = 128
    """Rows in an update."""
    memory: int = 100_000
    """Most rows; then new ones replace the oldest."""
    augment: Augmentation = field(default_factory=Augmentation)
    """Changes of the pictures in updates."""

    def __post_init__(self) -> None:
        require(self.steps >= 1, "steps", "at least 1", self.steps)
        require(self.envs >= 1, "envs", "at least 1", self.envs)
        self._check_frames()
        for name in ("lessons", "batch", "memory"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        for name in ("guided", "noise"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
        if self.coach is not None or self.goals:
            raise UserError("`algo.coach` and `algo.goals` do not go with DAgger")

    @property
    def facts(self) -> AlgorithmFacts:
        """The row of PPO, whose network it trains."""
        return ALGORITHMS["ppo"]

    def settings(self, spec: EnvSpec) -> Dagger:
        """Returns the algorithm with its settings for one environment."""
        chosen = super().settings(spec)
        assert isinstance(chosen, Dagger)
        own = {key: chosen.options.pop(key) for key in _OWN if key in chosen.options}
        chosen = dataclasses.replace(chosen, **{key: v for key, v in own.items() if key != "expert" or not self.expert})
        if chosen.expert is None:
            raise UserError("DAgger needs a policy to learn from: `algo.expert=POLICY`")
        return chosen

    @staticmethod
    def config_files(node: dict[str, Any]) -> list[Path]:
        """Returns the files behind a config node of this class, which are part of a training's name."""
        words = [node[key] for key in ("expert", "start") if node.get(key)]
        return [Path(path) for word in words for path in config_files(policy_node(word))]

    def losses(self, model: Any) -> dict[str, float]:
        """Returns how far the network's actions are from the expert's, before it has learned from them."""
        gap = model.expert_gap
        return {} if np.isnan(gap) else {"expert_gap": gap}

    def prepare(self, spec: Any, folder: Path, calibration: Any) -> None:
        """Takes the folder of the training."""
        self._folder = folder / LESSONS

    def make(self, env: Any, seed: int, log_folder: str | None = None, defer: Callable[..., None] | None = None) -> Any:
        """Returns a new model; the arguments are those of `Algorithm.make`."""
        model = super().make(env, seed, log_folder, None)
        if self.start is not None:
            file = agent_file(build(policy_node(self.start), "algo.start"))
            if file is None:
                raise UserError(f"`algo.start={self.start}` is no agent with weights")
            copy_weights(file, model.policy)
        return self._with_expert(model, seed)

    def load(self, path: Path, env: Any, log_folder: str | None, defer: Callable[..., None]) -> Any:
        """Returns a saved model; the arguments are those of `Algorithm.load`."""
        model = super().load(path, env, log_folder, defer)
        return self._with_expert(model, model.seed)

    def _model_class(self, defer: Callable[..., None] | None) -> Any:
        from brittlestar.training.dagger_model import DaggerModel

        return DaggerModel

    def _with_expert(self, model: Any, seed: int) -> Any:
        from brittlestar.training.lessons import Lessons

        assert self.expert is not None
        expert = build(policy_node(self.expert), "algo.expert")
        model.learn_from(expert, Lessons(self._folder, self.memory), self, seed)
        return model
