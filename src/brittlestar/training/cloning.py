"""Behaviour cloning: a network learns the actions of recorded episodes, without a reward."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.config_files import config_files
from brittlestar.checkpoints.algorithms import ALGORITHMS, AlgorithmFacts
from brittlestar.config.build import build
from brittlestar.engine.plan import Plan
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, require
from brittlestar.sweeps.policy_words import policy_node
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.minari_data import check_spaces_fit, read_recording
from brittlestar.training.recorder import record_episodes
from brittlestar.training.recordings import RecordingWriter, read_npz

DEMONSTRATIONS = "demonstrations.npz"
"""The episodes of the expert, in the folder of the training."""
_OTHER_EPISODES = 2 * 10**6
"""Added to the seed, for start states that neither a sweep nor the scores of a training have."""


@dataclass
class Cloning(Algorithm):
    """Behaviour cloning into the network of PPO.

    The expert runs under the perturbation of the training, and the network learns its actions from what it saw. A
    tenth of the episodes, at least one, is not learned from.

    Example:
        >>> Cloning(expert="push_controller", demonstrations=10).name
        'bc'
    """

    name: str = "bc"
    steps: int = 20_000
    """Updates of the network."""
    expert: str | None = None
    """The policy to clone: an option of the group `policy`, a file, a folder or `module:attribute`."""
    demonstrations: int | None = 100
    """Episodes to learn from; the first ones of `data`, and None for all of them."""
    data: str | None = None
    """Recorded episodes in place of an expert: a file of `brittlestar offline record`, or a Minari data set."""
    batch: int = 256
    """Steps of episodes in an update."""

    def __post_init__(self) -> None:
        require(self.steps >= 1, "steps", "at least 1", self.steps)
        require(self.batch >= 1, "batch", "at least 1", self.batch)
        count = self.demonstrations
        require(count is None or count >= 2, "demonstrations", "null or at least 2", count)
        if (self.expert is None) == (self.data is None):
            got = "both" if self.data else "neither"
            raise UserError(f"behaviour cloning needs `algo.expert=POLICY` or `algo.data=FILE`, got {got}")
        require(self.frames == 1 and not self.past_actions, "frames", "1 in behaviour cloning", self.frames)
        if self.coach is not None or self.goals:
            raise UserError("`algo.coach` and `algo.goals` do not go with behaviour cloning")
        if self.expert is not None and count is None:
            raise UserError("`algo.demonstrations` must be a number with `algo.expert`, got null")

    @property
    def facts(self) -> AlgorithmFacts:
        """The row of PPO, whose network it trains."""
        return ALGORITHMS["ppo"]

    def settings(self, spec: EnvSpec) -> Cloning:
        """Returns the algorithm with its settings for one environment."""
        chosen = super().settings(spec)
        assert isinstance(chosen, Cloning)
        own = {key: chosen.options.pop(key) for key in ("batch",) if key in chosen.options}
        return dataclasses.replace(chosen, **own)

    @staticmethod
    def config_files(node: dict[str, Any]) -> list[Path]:
        """Returns the files behind a config node of this class, which are part of a training's name."""
        expert, data = node.get("expert"), node.get("data")
        files = [Path(path) for path in config_files(policy_node(expert))] if expert else []
        place = Path(data).expanduser() if data else None
        if place is not None:
            # The id of a data set of Minari contains its version.
            files += [place] if place.is_file() else [*place.glob("metadata.json"), *place.glob("*/metadata.json")]
        return files

    @staticmethod
    def all_files(node: dict[str, Any]) -> list[Path]:
        """Returns all files that a config node of this class reads, also the episodes of a folder."""
        place = Path(node["data"]).expanduser() if node.get("data") else None
        inside = [path for path in place.rglob("*") if path.is_file()] if place is not None else []
        return [*Cloning.config_files(node), *inside]

    def losses(self, model: Any) -> dict[str, float]:
        """Returns the loss over the episodes that were held out."""
        return {"held_out_loss": model.held_out_loss()}

    def prepare(self, spec: Any, folder: Path, calibration: Any) -> None:
        """Reads the episodes, or lets the expert make them; a training that continues has them in its folder."""
        if self.data is not None:
            self._recording = read_recording(self.data, self.demonstrations)
            return
        path = folder / DEMONSTRATIONS
        if not path.is_file():
            self._record(spec, path, calibration)
        self._recording = read_npz(path)

    def _record(self, spec: Any, path: Path, calibration: Any) -> None:
        assert self.expert is not None and self.demonstrations is not None
        parts = dataclasses.replace(copy.deepcopy(spec.parts), policy=build(policy_node(self.expert), "algo.expert"))
        plan = Plan(self.demonstrations, spec.seed + _OTHER_EPISODES)
        facts = {"env": spec.env.id, "policy": self.expert}
        with RecordingWriter(path, facts) as writer:
            record_episodes(spec.env, parts, plan, writer.add, spec.threads, calibration)

    def make(self, env: Any, seed: int, log_folder: str | None = None, defer: Callable[..., None] | None = None) -> Any:
        """Returns a new model; the arguments are those of `Algorithm.make`."""
        model = super().make(env, seed, log_folder, None)
        return self._with_data(model, env, seed, fit_scaling=True)

    def load(self, path: Path, env: Any, log_folder: str | None, defer: Callable[..., None]) -> Any:
        """Returns a saved model; the arguments are those of `Algorithm.load`."""
        model = super().load(path, env, log_folder, defer)
        return self._with_data(model, env, model.seed, fit_scaling=False)

    def _model_class(self, defer: Callable[..., None] | None) -> Any:
        from brittlestar.training.cloned_model import ClonedModel

        return ClonedModel

    def _with_data(self, model: Any, env: Any, seed: int, fit_scaling: bool) -> Any:
        check_spaces_fit(self._recording, env.observation_space, env.action_space)
        if np.any(getattr(env.action_space, "start", 0)):
            raise UserError(f"Stable-Baselines3 cannot learn choices that do not start at 0, got {env.action_space}")
        if fit_scaling and self.normalise is True:
            from brittlestar.training.cloned_model import scale_by

            scale_by(env, self._recording)
        model.learn_from(self._recording, self.batch, self.steps, seed)
        return model
