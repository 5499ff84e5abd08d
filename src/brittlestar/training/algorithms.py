"""Which algorithm learns, with which settings in which environment."""

from __future__ import annotations

import copy
import dataclasses
import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnasium import spaces

from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, nearest, require
from brittlestar.policies.sb3_loader import CLASSES

TRAINABLE = [name for name in CLASSES if name not in ("her", "ppo_lstm", "maskable_ppo")]
OFF_POLICY = ("dqn", "ddpg", "td3", "sac", "qrdqn", "tqc", "crossq")
_DISCRETE, _BOX = ("dqn", "qrdqn"), ("ddpg", "td3", "sac", "tqc", "crossq")
"""Those that learn one kind of actions only."""
POOLED = "pooled"
COACHABLE = ("sac", "tqc")
"""Those whose actor is a squashed Gaussian."""


@dataclass
class Algorithm:
    """An algorithm of Stable-Baselines3 or sb3-contrib.

    Example:
        >>> ppo = Algorithm(name="ppo", by_env={"CartPole-v1": {"steps": 50_000, "gamma": 0.98}})
        >>> settings = ppo.settings(EnvSpec(id="CartPole-v1"))
        >>> settings.steps, settings.options
        (50000, {'gamma': 0.98})
    """

    name: str
    steps: int = 100_000
    """Steps of all environments together."""
    envs: int = 8
    """Environments side by side."""
    goals: bool = False
    """Hindsight replay: for environments with goals."""
    normalise: bool | str = False
    """True: running statistics of observations and rewards (VecNormalize), as on-policy algorithms like it; `pooled`:
    observations alone, centred, with one fixed unit for all numbers of a key."""
    coach: Any = None
    """A `Coach` for the actor; off-policy algorithms with a squashed Gaussian head."""
    options: dict[str, Any] = field(default_factory=dict)
    """Arguments of the algorithm's class."""
    by_env: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id of an environment to what is different there: `steps`, `envs`, `normalise`, or arguments of the class."""

    def __post_init__(self) -> None:
        if self.name not in TRAINABLE:
            raise UserError(f"`algo.name` cannot be {self.name!r}; {nearest(str(self.name), TRAINABLE)}")
        require(self.steps >= 1, "steps", "at least 1", self.steps)
        require(self.normalise in (False, True, POOLED), "normalise", f"false, true or {POOLED}", self.normalise)
        require(self.envs >= 1, "envs", "at least 1", self.envs)
        if self.coach is not None and self.name not in COACHABLE:
            raise UserError(f"`algo.coach` goes with {' and '.join(COACHABLE)}, not with {self.name}")

    @property
    def off_policy(self) -> bool:
        """Whether it learns from a replay buffer."""
        return self.name in OFF_POLICY

    def settings(self, spec: EnvSpec) -> Algorithm:
        """Returns the algorithm as it trains in one environment."""
        special = dict(self.by_env.get(spec.id, {}))
        own = {key: special.pop(key) for key in ("steps", "envs", "normalise", "coach") if key in special}
        return dataclasses.replace(self, options=self.options | special, by_env={}, **own)

    @property
    def kind(self) -> Any:
        """The class of its models."""
        module, _, name = CLASSES[self.name].rpartition(".")
        return getattr(importlib.import_module(module), name)

    def check_actions(self, space: spaces.Space) -> None:
        """Refuses actions that it cannot learn."""
        kinds = {**dict.fromkeys(_DISCRETE, spaces.Discrete), **dict.fromkeys(_BOX, spaces.Box)}
        if not isinstance(space, kinds.get(self.name, spaces.Space)):
            raise UserError(f"`algo.name: {self.name}` cannot learn actions of {space}")

    def make(self, env: Any, seed: int, log_folder: str | None = None) -> Any:
        """Returns a fresh model."""
        self.check_actions(env.action_space)
        options = copy.deepcopy(self.options)
        is_dict = isinstance(env.observation_space, spaces.Dict)
        default = "MlpLstmPolicy" if self.name == "recurrent_ppo" else "MultiInputPolicy" if is_dict else "MlpPolicy"
        policy = options.pop("policy", "LinearPolicy" if self.name == "ars" and not is_dict else default)
        if self.goals:
            options |= self._hindsight(options)
        try:
            return self.kind(policy, env, seed=seed, device="cpu", tensorboard_log=log_folder, verbose=0, **options)
        except TypeError as error:
            raise UserError(f"`algo.options` do not fit {self.kind.__name__}: {' '.join(str(error).split())}") from None
        except AssertionError:
            raise UserError(f"`algo.name: {self.name}` cannot learn actions of {env.action_space}") from None

    def load(self, path: Path, env: Any, log_folder: str | None = None) -> Any:
        """Returns a saved model, to go on with."""
        model = self.kind.load(path, env=env, device="cpu", tensorboard_log=log_folder)
        if self.name == "ars":
            from torch.nn.utils import parameters_to_vector

            # Random search keeps its weights beside the policy, and forgets them when it is loaded.
            model.weights = parameters_to_vector(model.policy.parameters()).detach()
        return model

    def _hindsight(self, options: dict[str, Any]) -> dict[str, Any]:
        if not self.off_policy:
            raise UserError(f"`algo.goals` needs an algorithm with a replay buffer, {self.name} has none")
        from stable_baselines3 import HerReplayBuffer

        goals = {"n_sampled_goal": 4, "goal_selection_strategy": "future"} | options.get("replay_buffer_kwargs", {})
        return {"replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": goals}
